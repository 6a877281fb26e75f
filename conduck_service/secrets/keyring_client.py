"""Values in the system's keyring, asked for by a helper that can be ended."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from conduck_service.base.jsonio import JsonError, JsonValue, decode_utf8, parse
from conduck_service.base.python import module_argv
from conduck_service.secrets import keyring_helper
from conduck_service.secrets.bounded import TooMuchOutputError, run_bounded
from conduck_service.secrets.source import SecretCode, SourceError

SECONDS = 10.0
"""How long the daemon waits for a keyring."""

PERSON_SECONDS = 30.0
"""How long a command waits, whose caller may have to type a password first."""

_ANSWER_LIMIT = 1 << 24

_UNLOCK = "the keyring is locked or does not answer; unlock it for this user"
_REMEDIES = {
    keyring_helper.NO_LIBRARY: (
        "the library keyring is missing; apt install python3-keyring, or where this "
        "came by pip: pip install 'conduck-service[keyring]'"
    ),
    keyring_helper.NO_BACKEND: (
        "this user has no keyring; set up the system's, or use a file: reference"
    ),
}


def keyring_values(
    names: Iterable[str],
    environment: Mapping[str, str],
    seconds: float = SECONDS,
) -> dict[str, str | None]:
    """Return what the keyring holds under these names; None where it holds nothing.

    Args:
        names: Names of secrets.
        environment: Variables of this process, by which a keyring is found.
        seconds: How long it may take.

    Raises:
        SourceError: There is no keyring, or it is locked or broken.

    Keeps: B-NAME-03, B-SECRET-01.
    """
    wanted = list(names)
    values = _ask({"get": wanted}, environment, seconds).get("values")
    if not isinstance(values, dict) or set(values) != set(wanted):
        raise _unavailable(_UNLOCK)
    return values


def put_into_keyring(name: str, value: str, environment: Mapping[str, str]) -> None:
    """Store a value, and see that it is there.

    Raises:
        SourceError: There is no keyring, or it did not take the value.
    """
    request = {"set": name, "value": value}
    if not _ask(request, environment, PERSON_SECONDS).get("is_stored"):
        raise _unavailable(_UNLOCK)


def add_to_keyring(name: str, value: str, environment: Mapping[str, str]) -> bool:
    """Store a value where there is none; return False if there is one, which stays.

    Raises:
        SourceError: There is no keyring, or it did not take the value.
    """
    answer = _ask({"add": name, "value": value}, environment, PERSON_SECONDS)
    if answer.get("is_taken"):
        return False
    if not answer.get("is_stored"):
        raise _unavailable(_UNLOCK)
    return True


def remove_from_keyring(
    name: str, environment: Mapping[str, str], value: str | None = None
) -> bool:
    """Remove a value; return whether there was one.

    Args:
        name: Of the secret.
        environment: Variables of this process.
        value: What has to be there to be removed; None for anything.

    Raises:
        SourceError: There is no keyring, or it kept the value.
    """
    request: dict[str, JsonValue] = {"delete": name, "value": value}
    answer = _ask(request, environment, PERSON_SECONDS)
    if not isinstance(was_there := answer.get("was_there"), bool):
        raise _unavailable(_UNLOCK)
    return was_there


def _ask(
    request: JsonValue, environment: Mapping[str, str], seconds: float
) -> dict[str, JsonValue]:
    try:
        finished = run_bounded(
            # Nothing of the folder that this happens to be called in is imported.
            module_argv(keyring_helper.__name__, is_isolated=False),
            environment=environment,
            folder=Path("/"),
            seconds=seconds,
            limit=_ANSWER_LIMIT,
            given=json.dumps(request).encode(),
        )
        answer = parse(decode_utf8(finished.output))
    except (OSError, ValueError, TooMuchOutputError, JsonError):
        raise _unavailable(_UNLOCK) from None
    if not isinstance(answer, dict):
        raise _unavailable(_UNLOCK)
    if refused := answer.get("refused"):
        raise _unavailable(_REMEDIES[refused])
    return answer


def _unavailable(remedy: str) -> SourceError:
    return SourceError(SecretCode.KEYRING_UNAVAILABLE, remedy)
