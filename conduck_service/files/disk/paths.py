"""Request paths: which names they stand for, and which they may not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from urllib.parse import quote, unquote_to_bytes

from conduck_service.files.errors import LaneError, bad_request, forbidden, not_found

NAME_BYTES = 255
"""Longest name that a disk takes, in bytes."""

RESERVED = re.compile(rb"\.conduck-[0-9a-f]{32}")
"""Names that the service uses for a moment: never listed, served or taken."""

CONFIG_FOLDER = b".open-conduit"
"""Where an included folder keeps its part of the config: whoever can write there says
which programs run, so it is never listed, served or taken, in whatever case."""

# Conservative: everything else is percent-encoded, so every href is printable
# ASCII, needs no escaping in XML and is fetched as it is.
_SAFE = "-._~!$()*+,;=:@"
_PLAIN = re.compile(rb"[A-Za-z0-9._~-]+")
_PLAIN_TEXT = re.compile("[A-Za-z0-9._~-]{1,255}")

_UNFIT = re.compile("[\\x00-\\x1f\\x7f\\x80-\\x9f\\ufffe\\uffff]")


class Flaw(Enum):
    """Why a name can be no name of a file in the lane."""

    SLASH = auto()
    NUL = auto()
    LONG = auto()
    NOT_UTF8 = auto()
    CONTROL = auto()
    RESERVED = auto()


@dataclass(frozen=True, slots=True)
class Place:
    """A path within the shared folder.

    Attributes:
        names: The steps from the shared folder on; none means the folder itself.
        is_folder: Whether it was written with a slash at its end.
        flaw: What is wrong with one of the names, if anything is.
    """

    names: tuple[bytes, ...]
    is_folder: bool = False
    flaw: Flaw | None = None

    @property
    def href(self) -> str:
        """The path as it stands in answers, without a slash at its end."""
        return "/" + "/".join(map(quoted, self.names))

    @property
    def is_root(self) -> bool:
        """Whether it is the shared folder itself."""
        return not self.names

    def above(self) -> Place:
        """Return the folder that it is in; that of the root is the root."""
        return Place(self.names[:-1], is_folder=True)

    def check_readable(self) -> None:
        """Refuse names that nothing can have.

        Raises:
            LaneError: 404, or 400 for a name longer than a disk takes.
        """
        if self.flaw in (None, Flaw.CONTROL):
            return
        if self.flaw is Flaw.LONG:
            raise bad_request(
                "a name is longer than 255 bytes; use a shorter one", "bad_name"
            )
        raise not_found()

    def check_creatable(self) -> None:
        """Refuse names that nothing new may have.

        Raises:
            LaneError: 400; 409 for an encoded slash; 403 for the service's own.
        """
        if self.flaw is None:
            return
        if self.flaw is Flaw.SLASH:
            raise LaneError(
                HTTPStatus.CONFLICT,
                "bad_name",
                "a name cannot hold a slash; use another",
            )
        if self.flaw is Flaw.RESERVED:
            raise forbidden("the service uses names like this itself; use another")
        if self.flaw is Flaw.LONG:
            raise bad_request(
                "a name is longer than 255 bytes; use a shorter one", "bad_name"
            )
        raise bad_request(
            "a name holds control characters or is not UTF-8; use another", "bad_name"
        )


def is_plain(name: str) -> bool:
    """Say whether a name has no flaw and stands for itself in an href."""
    return _PLAIN_TEXT.fullmatch(name) is not None and not name.startswith(
        (".conduck-", ".o", ".O")
    )


def is_reserved(name: bytes) -> bool:
    """Say whether a name is none that a client can have."""
    return RESERVED.fullmatch(name) is not None or name.lower() == CONFIG_FOLDER


def quoted(name: bytes) -> str:
    """Return a name as one step of an href."""
    if _PLAIN.fullmatch(name):
        return name.decode("ascii")
    return quote(name, safe=_SAFE)


def flaw_of(name: bytes) -> Flaw | None:
    """Return what is wrong with a name, if anything is."""
    if _PLAIN.fullmatch(name) and len(name) <= NAME_BYTES:
        return Flaw.RESERVED if is_reserved(name) else None
    if b"/" in name:
        return Flaw.SLASH
    if b"\0" in name:
        return Flaw.NUL
    if len(name) > NAME_BYTES:
        return Flaw.LONG
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        return Flaw.NOT_UTF8
    return Flaw.CONTROL if _UNFIT.search(text) else None


def parse_place(target: str) -> Place:
    """Return the place that a request target names; its query is ignored.

    It is split at its slashes first and decoded once, so no encoding makes or
    hides a step. Dot segments are resolved within the shared folder.

    Raises:
        LaneError: 400, when dot segments lead out of the shared folder.

    Keeps: F-ROOT-07.
    """
    path = target.partition("?")[0]
    names: list[bytes] = []
    last = b""
    for step in path.split("/"):
        last = unquote_to_bytes(step) if "%" in step else step.encode("utf-8")
        if last == b"..":
            if not names:
                raise bad_request(
                    "the path leads out of the shared folder; use one within it",
                    "bad_path",
                )
            names.pop()
        elif last not in (b"", b"."):
            names.append(last)
    is_folder = last in (b"", b".", b"..")
    return Place(tuple(names), is_folder, _first_flaw(names))


def _first_flaw(names: Iterable[bytes]) -> Flaw | None:
    return next(filter(None, map(flaw_of, names)), None)
