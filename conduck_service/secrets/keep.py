"""Where values are kept: in the keyring, else in a reported file (B-SECRET-43)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from conduck_service.base.safefiles import Fault, SafeFileError
from conduck_service.domain.reference import Scheme, parse_reference
from conduck_service.secrets.file import (
    FILE_NAME,
    change_secrets_file,
    read_secrets_file,
)
from conduck_service.secrets.keyring_client import (
    PERSON_SECONDS,
    add_to_keyring,
    keyring_values,
    put_into_keyring,
    remove_from_keyring,
)
from conduck_service.secrets.source import SourceError


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Where a value lies.

    Attributes:
        reference: Leads to it, for a config.
        file: The file that it is in; None for the keyring. Whoever stored it is to
            be told.
        why_file: Why it is not in the keyring, and what to do about that.
    """

    reference: str
    file: Path | None = None
    why_file: str = ""


def keep(
    name: str, value: str, *, folder: Path, environment: Mapping[str, str]
) -> Kept:
    """Store a value in the keyring, else in the secrets file; return where it lies.

    A value of that name in the same place is replaced; one in the other place stays.

    Args:
        name: An identifier.
        value: A usable text that is not empty.
        folder: The config directory; made when the file is needed.
        environment: Variables of this process.

    Raises:
        SafeFileError: There is no keyring, and the file is not safe or cannot be
            written.
        LockHeldError: Somebody else is writing the file.
    """
    try:
        put_into_keyring(name, value, environment)
    except SourceError as error:
        path = change_secrets_file(folder, lambda values: values.update({name: value}))
        return Kept(reference=f"{Scheme.FILE}:{name}", file=path, why_file=error.remedy)
    return Kept(reference=f"{Scheme.KEYRING}:{name}")


class TakenError(Exception):
    """Raised when there is a value of a name already; it stays.

    Attributes:
        reference: Leads to it.
    """

    def __init__(self, reference: str) -> None:
        super().__init__(f"{reference} is kept already")
        self.reference = reference


def keep_new(
    name: str, value: str, *, folder: Path, environment: Mapping[str, str]
) -> Kept:
    """Store a value as :func:`keep` does, but replace none.

    Raises:
        TakenError: There is one in the place where it would go.
        SafeFileError: As in :func:`keep`.
        LockHeldError: Likewise.
    """
    try:
        if not add_to_keyring(name, value, environment):
            raise TakenError(f"{Scheme.KEYRING}:{name}")
    except SourceError as error:
        path = change_secrets_file(folder, lambda values: _add(values, name, value))
        return Kept(reference=f"{Scheme.FILE}:{name}", file=path, why_file=error.remedy)
    return Kept(reference=f"{Scheme.KEYRING}:{name}")


def _add(values: dict[str, str], name: str, value: str) -> None:
    if name in values:
        raise TakenError(f"{Scheme.FILE}:{name}")
    values[name] = value


def renew_in_file(name: str, value: str, folder: Path, *, is_asked_for: bool) -> bool:
    """Put a new value into the secrets file too, beside the keyring.

    A running service, or another config of the folder, may refer to it there; it
    would go on letting in whoever has the old value.

    Args:
        name: An identifier.
        value: A usable text that is not empty.
        folder: The config directory.
        is_asked_for: Whether a config refers to it there; if not, it is only put in
            the place of an older one.

    Returns:
        Whether the file has it now.

    Raises:
        SafeFileError: The file is not safe or cannot be written.
        LockHeldError: Somebody else is writing it.
    """
    if not is_asked_for and not os.path.lexists(folder / FILE_NAME):
        return False
    found: list[str] = []

    def renew(values: dict[str, str]) -> None:
        if is_asked_for or name in values:
            values[name] = value
            found.append(name)

    change_secrets_file(folder, renew)
    return bool(found)


def places_of(
    name: str, *, folder: Path, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the references of the places that hold a value of this name now.

    A keyring that is not available counts as one that holds nothing.

    Raises:
        SafeFileError: The secrets file is there, and not safe or broken.
    """
    found = []
    try:
        if keyring_values([name], environment, PERSON_SECONDS)[name] is not None:
            found.append(f"{Scheme.KEYRING}:{name}")
    except SourceError:
        pass
    try:
        if name in read_secrets_file(folder):
            found.append(f"{Scheme.FILE}:{name}")
    except SafeFileError as error:
        if error.fault is not Fault.MISSING:
            raise
    return tuple(found)


def forget(
    reference: str,
    *,
    folder: Path,
    environment: Mapping[str, str],
    value: str | None = None,
) -> bool:
    """Remove the value that a reference leads to; return whether there was one.

    Args:
        reference: A ``keyring:`` or ``file:`` reference.
        folder: The config directory.
        environment: Variables of this process.
        value: What has to be there to be removed; None for anything.

    Raises:
        SourceError: The keyring is not available.
        SafeFileError: The secrets file is not safe or cannot be written.
        LockHeldError: Somebody else is writing it.
    """
    place = parse_reference(reference)
    if place.scheme is Scheme.KEYRING:
        return remove_from_keyring(place.target, environment, value)
    if not (folder / FILE_NAME).exists():
        return False
    found: list[str] = []

    def remove(values: dict[str, str]) -> None:
        if place.target in values and value in (None, values[place.target]):
            found.append(values.pop(place.target))

    change_secrets_file(folder, remove)
    return bool(found)
