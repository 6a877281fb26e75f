"""From references to their values, at the moment that the values are needed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from conduck_service.base.safefiles import Fault, SafeFileError
from conduck_service.domain.reference import Reference, Scheme
from conduck_service.secrets.command import command_value
from conduck_service.secrets.file import FILE_NAME, read_secrets_file
from conduck_service.secrets.keyring_client import keyring_values
from conduck_service.secrets.source import SecretCode, SourceError, is_usable

_STORE = (
    "store it with open-conduit secret set NAME, where NAME stands behind {scheme}: in "
    "its secret_refs"
)
"""The reference itself is told to nobody (B-SECRET-35)."""


class SecretError(Exception):
    """Raised when a secret cannot be had.

    Attributes:
        code: Why.
        name: Name of the secret in its scope, or of a connection's slot; neither
            its reference nor its value is told (B-SECRET-35).
        remedy: What to do about it.
    """

    def __init__(self, code: SecretCode, name: str, remedy: str) -> None:
        super().__init__(f"secret {name}: {code}; {remedy}")
        self.code = code
        self.name = name
        self.remedy = remedy


class Acquisition:
    """Finds the values for one consumer at one moment, and is thrown away then.

    A file is read once, the keyring is asked once, and a command that two names
    refer to is run once (B-SECRET-38).

    Args:
        references: Where the values are kept, by the names of the secrets.
        folder: The config directory.
        environment: Variables of the daemon.
    """

    def __init__(
        self,
        references: Mapping[str, Reference],
        *,
        folder: Path,
        environment: Mapping[str, str],
    ) -> None:
        self._references = references
        self._environment = environment
        self._file = cache(lambda: read_secrets_file(folder))
        self._keyring = cache(self._ask_keyring)
        self._command = cache(
            lambda text: command_value(text, folder=folder, environment=environment)
        )

    def value(self, name: str) -> str:
        """Return the value of a secret, with nothing trimmed but a command's end.

        A value of the environment may hold surrogate escapes, as ``os.environ``
        gives them for bytes that are not UTF-8.

        Raises:
            SecretError: The value cannot be had; nothing stands in for it
                (B-SECRET-36).
        """
        try:
            value = self._find(self._references[name])
        except SourceError as error:
            raise SecretError(error.code, name, error.remedy) from None
        except SafeFileError as error:
            raise SecretError(SecretCode.UNSAFE_FILE, name, _remedy(error)) from None
        if not value:
            # B-SECRET-25
            raise SecretError(SecretCode.EMPTY, name, "give it a value, or remove it")
        return value

    def _find(self, reference: Reference) -> str:
        if reference.scheme is Scheme.CMD:
            return self._command(reference.target)
        if reference.scheme is Scheme.ENV:
            value = self._environment.get(reference.target)
            remedy = "set the variable that its env: reference names, for the service"
        elif reference.scheme is Scheme.FILE:
            value = self._from_file(reference.target)
            remedy = _STORE.format(scheme=Scheme.FILE)
        else:
            value = self._keyring().get(reference.target)
            remedy = _STORE.format(scheme=Scheme.KEYRING)
            if value is not None and not is_usable(value):
                raise SourceError(SecretCode.KEYRING_UNAVAILABLE, remedy)
        if value is None:
            raise SourceError(SecretCode.MISSING, remedy)
        return value

    def _from_file(self, key: str) -> str | None:
        try:
            # The target is a key, never a path (B-SECRET-11).
            return self._file().get(key)
        except SafeFileError as error:
            if error.fault is Fault.MISSING:
                return None
            raise

    def _ask_keyring(self) -> dict[str, str | None]:
        names = {
            reference.target
            for reference in self._references.values()
            if reference.scheme is Scheme.KEYRING
        }
        return keyring_values(sorted(names), self._environment)


def _remedy(error: SafeFileError) -> str:
    """Return what is wrong with the file or its folder; logs never hold a path."""
    subject, short = f"{FILE_NAME} beside the config", FILE_NAME
    if error.path.name != FILE_NAME:
        subject, short = "the folder of the config", "FOLDER"
    remedy = error.remedy.replace(shlex.quote(str(error.path)), short)
    return f"{subject}: {error.reason}; {remedy}"
