"""From a reference to its value, at the moment that the value is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path

from conduck_service.base.jsonio import JsonError, JsonValue, decode_utf8, parse
from conduck_service.base.safefiles import (
    Fault,
    SafeFileError,
    check_file_there,
    check_private_dir,
    read_private,
)
from conduck_service.domain.reference import Reference, Scheme

FILE_NAME = "secrets.json"
FILE_LIMIT = 1 << 20


class SecretCode(StrEnum):
    """Why a secret cannot be had."""

    MISSING = "secret_missing"
    EMPTY = "secret_empty"
    UNSAFE_FILE = "unsafe_file"


class SecretError(Exception):
    """Raised when a secret cannot be had.

    Attributes:
        code: Why.
        name: Name of the secret in its scope; neither its reference nor its
            value is told (B-SECRET-35).
        remedy: What to do about it.
    """

    def __init__(self, code: SecretCode, name: str, remedy: str) -> None:
        super().__init__(f"secret {name}: {code}; {remedy}")
        self.code = code
        self.name = name
        self.remedy = remedy


ReadSecretsFile = Callable[[], Mapping[str, str]]
"""Returns the values of the secrets file; raises SafeFileError."""


def resolve(
    name: str,
    reference: Reference,
    *,
    environment: Mapping[str, str],
    secrets_file: ReadSecretsFile,
) -> str:
    """Return the value that a reference leads to, with nothing trimmed.

    A value of the environment may hold surrogate escapes, as ``os.environ``
    gives them for bytes that are not UTF-8.

    Args:
        name: Name of the secret in its scope, for errors.
        reference: Where the value is kept.
        environment: Variables of the daemon.
        secrets_file: Gives the values of the secrets file.

    Raises:
        SecretError: The value cannot be had; nothing stands in for it
            (B-SECRET-36).
    """
    if reference.scheme is Scheme.ENV:
        value = environment.get(reference.target)
        remedy = "set the variable that its env: reference names, for the service"
    elif reference.scheme is Scheme.FILE:
        value = _from_file(name, reference, secrets_file)
        remedy = f"add it to {FILE_NAME} beside the config file"
    else:
        value = None
        remedy = "use a file: or env: reference; this version resolves these two"
    if value is None:
        raise SecretError(SecretCode.MISSING, name, remedy)
    if not value:
        raise SecretError(SecretCode.EMPTY, name, "give it a value, or remove it")
    return value


def read_secrets_file(folder: Path) -> dict[str, str]:
    """Return the values of the secrets file of a config directory.

    Raises:
        SafeFileError: The file or its folder is missing, not the caller's
            alone, too large, or no JSON object of texts.

    Keeps: B-NAME-04, B-PERM-13.
    """
    path = folder / FILE_NAME
    check_file_there(path)
    check_private_dir(folder)
    data = read_private(path, FILE_LIMIT)
    where = ""
    try:
        value = parse(decode_utf8(data))
    except JsonError as error:
        value = None
        if error.line:
            where = f" (see line {error.line}, column {error.column})"
    if not isinstance(value, dict) or not all(map(_is_usable, value.values())):
        raise SafeFileError(
            path,
            Fault.KIND,
            f"it is not one JSON object with texts as values{where}",
            'write {"NAME": "value", …}',
        )
    return value


def _from_file(
    name: str, reference: Reference, secrets_file: ReadSecretsFile
) -> str | None:
    try:
        # The target is a key, never a path (B-SECRET-11).
        return secrets_file().get(reference.target)
    except SafeFileError as error:
        if error.fault is Fault.MISSING:
            return None
        raise SecretError(SecretCode.UNSAFE_FILE, name, str(error)) from None


def _is_usable(value: JsonValue) -> bool:
    """Say whether a value is a text that an environment and a header can hold."""
    if not isinstance(value, str) or "\0" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
