"""Every secret that the config declares: whether it can be had, when asked to."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from conduck_service.doctor.context import (
    NEEDS_SECRETS,
    DoctorContext,
    NotMadeError,
)
from conduck_service.doctor.finding import Declared, Finding, Level
from conduck_service.doctor.run import Area, Check
from conduck_service.domain.reference import COMMAND_PATH, parse_reference
from conduck_service.secrets.resolve import Acquisition, SecretError
from conduck_service.secrets.source import SecretCode

_TEXTS = {
    SecretCode.MISSING: "a secret is nowhere to be found",
    SecretCode.EMPTY: "a secret is empty",
    SecretCode.UNSAFE_FILE: "the file that holds a secret cannot be used",
    SecretCode.COMMAND_NOT_FOUND: "the command of a secret calls a program that is "
    "not there",
    SecretCode.COMMAND_FAILED: "the command of a secret failed",
    SecretCode.COMMAND_TIMEOUT: "the command of a secret took too long",
    SecretCode.OUTPUT_TOO_LARGE: "the command of a secret prints too much",
    SecretCode.KEYRING_UNAVAILABLE: "the keyring cannot be asked",
}
_FILE_CAUSES = ("secrets_file_open", "secrets_file_unreadable")
FAILURES: Mapping[SecretCode, Declared] = {
    code: Declared(
        code=code.value,
        level=Level.FAIL,
        text=text,
        depends_on=_FILE_CAUSES if code is SecretCode.UNSAFE_FILE else (),
    )
    for code, text in _TEXTS.items()
}

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_PLAIN = re.compile(r"[A-Za-z0-9_./+-]+")


@dataclass(frozen=True, slots=True)
class Holder:
    """A scope or a connection, with the secrets that it declares."""

    subject: str
    references: Mapping[str, str]
    related: tuple[str, ...] = ()


def _holders(context: DoctorContext) -> Sequence[Holder]:
    document = context.document
    if document is None:
        return ()
    scopes = [Holder(item.id, item.secret_refs) for item in document.scopes]
    connections = document.connections.values()
    found = [*scopes, *(Holder(item.id, item.secret_refs) for item in connections)]
    return [item for item in found if item.references]


def _resolve(context: DoctorContext, holder: Holder) -> Iterator[Finding]:
    """Resolve each secret for itself, and tell names and codes only.

    Keeps: B-SECRET-19, B-SECRET-20, B-SECRET-34.
    """
    if not context.may_resolve:
        raise NotMadeError(NEEDS_SECRETS)
    references = {
        name: parse_reference(text) for name, text in holder.references.items()
    }
    acquisition = Acquisition(
        references, folder=context.config.parent, environment=context.environment
    )
    for name, reference in references.items():
        try:
            context.redactor.register(acquisition.value(name))
        except SecretError as error:
            detail = ""
            if error.code is SecretCode.COMMAND_NOT_FOUND:
                detail = _program(reference.target)
            yield FAILURES[error.code].found(
                f"{holder.subject}/{name}", detail, error.remedy
            )


def _program(command: str) -> str:
    """Return the program that is missing, when it is the first one; no arguments.

    A word that may be something else than a program is not told either.
    """
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        return ""
    names = [word for word in words if not _ASSIGNMENT.match(word)]
    if not names or not _PLAIN.fullmatch(names[0]):
        return ""
    if shutil.which(names[0], path=COMMAND_PATH) is not None:
        return ""
    return names[0]


SECRETS: Area[Holder] = Area(
    "secrets",
    _holders,
    (
        Check(
            "resolved",
            "every secret can be had",
            tuple(FAILURES.values()),
            _resolve,
        ),
    ),
)
