"""PROPPATCH: stored properties are changed all together or not at all."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import AbstractContextManager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol
from xml.etree.ElementTree import Element, tostring
from xml.sax.saxutils import quoteattr

from conduck_service.files.dav.multistatus import HEAD, TAIL
from conduck_service.files.disk.paths import Place
from conduck_service.files.disk.properties import Properties
from conduck_service.files.disk.renaming import deciding
from conduck_service.files.disk.tree import Spot, Tree, found_at
from conduck_service.files.errors import bad_request, from_system
from conduck_service.files.request import Answer, LaneRequest
from conduck_service.files.strict_xml import DAV, parse_xml

_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_HEADERS = (("Content-Type", "application/xml; charset=utf-8"),)
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY

# The disk has no room, or none in the one block that a file's attributes share.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.E2BIG, errno.ERANGE})
_NOWHERE = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP, errno.EACCES, errno.EPERM})


@dataclass(frozen=True, slots=True)
class Change:
    """One instruction.

    Attributes:
        name: Clark name of the property.
        element: The property as XML; None to remove it.
    """

    name: str
    element: str | None


class Guard(Protocol):
    """Who else has a say in who changes something."""

    def writing(
        self, request: LaneRequest, found: os.stat_result | None
    ) -> AbstractContextManager[None]:
        """Return what holds locks off meanwhile."""
        ...


class PropPatch:
    """Answers PROPPATCH.

    Args:
        tree: The shared folder.
        properties: Where they are stored.
        guard: Locks.
    """

    def __init__(self, tree: Tree, properties: Properties, guard: Guard) -> None:
        self._tree = tree
        self._properties = properties
        self._guard = guard

    def answer(self, request: LaneRequest) -> Answer:
        """Change the properties of a place and return what became of each.

        Raises:
            LaneError: 400 for a body that says nothing, and as for other changes.
        """
        if (request.header("DEPTH") or "0").strip() != "0":
            raise bad_request("PROPPATCH is for one thing; send Depth: 0", "bad_depth")
        request.place.check_readable()
        with self._tree.open_spot(request.place) as spot:
            found = found_at(spot, request.place)
            with self._guard.writing(request, found):
                changes = read_changes(request.read_small())
                status = self._apply(spot, changes)
        is_folder = stat.S_ISDIR(found.st_mode)
        return _answer(request.place, changes, status, is_folder=is_folder)

    def _apply(self, spot: Spot, changes: list[Change]) -> HTTPStatus:
        """Return what became of the changes: of all that could have been made."""
        if any(_is_protected(change.name) for change in changes):
            return HTTPStatus.FAILED_DEPENDENCY
        # An upload to the same name takes the properties over under this as well.
        with deciding:
            return self._apply_now(spot, changes)

    def _apply_now(self, spot: Spot, changes: list[Change]) -> HTTPStatus:
        try:
            descriptor = os.open(spot.name, _OPEN, dir_fd=spot.folder)
        except OSError as error:
            raise from_system(error) from error
        try:
            stored = self._properties.read(descriptor)
            before = dict(stored)
            for change in changes:
                stored.pop(change.name, None)
                if change.element is not None:
                    stored[change.name] = change.element
            if stored != before:
                self._properties.write(descriptor, stored)
        except OSError as error:
            if error.errno in _FULL:
                return HTTPStatus.INSUFFICIENT_STORAGE
            if error.errno in _NOWHERE:
                return HTTPStatus.FORBIDDEN
            raise from_system(error) from error
        finally:
            os.close(descriptor)
        return HTTPStatus.OK


def read_changes(body: bytes) -> list[Change]:
    """Return what the body of a PROPPATCH asks for, in order.

    Raises:
        LaneError: 400, when it is no such body.
    """
    root = parse_xml(body)
    if root.tag != f"{DAV}propertyupdate":
        raise bad_request("the body is no DAV:propertyupdate", "bad_xml")
    changes = [
        Change(item.tag, _serialized(item, root, action, prop) if is_set else None)
        for action in root
        if (is_set := action.tag == f"{DAV}set") or action.tag == f"{DAV}remove"
        for prop in action.iterfind(f"{DAV}prop")
        for item in prop
    ]
    if not changes:
        raise bad_request("the body neither sets nor removes anything", "bad_xml")
    return changes


def _serialized(item: Element, *above: Element) -> str:
    """Return a property as XML that stands by itself, the language included."""
    item.tail = None
    language = next(
        (one.get(_LANG) for one in reversed(above) if one.get(_LANG) is not None), None
    )
    if language is not None and item.get(_LANG) is None:
        item.set(_LANG, language)
    # A parser would read a bare carriage return as a line feed.
    return tostring(item, encoding="unicode").replace("\r", "&#13;")


def _is_protected(name: str) -> bool:
    return name.startswith(DAV)


def _answer(
    place: Place, changes: list[Change], status: HTTPStatus, *, is_folder: bool
) -> Answer:
    groups: dict[HTTPStatus, list[str]] = {}
    for name in dict.fromkeys(change.name for change in changes):
        own = HTTPStatus.FORBIDDEN if _is_protected(name) else status
        groups.setdefault(own, []).append(_empty(name))
    stats = "".join(
        f"<D:propstat><D:prop>{''.join(names)}</D:prop>"
        f"<D:status>HTTP/1.1 {own.value} {own.phrase}</D:status>{_reason(own, status)}"
        "</D:propstat>"
        for own, names in groups.items()
    )
    href = place.href + "/" * (is_folder and not place.is_root)
    row = f"<D:response><D:href>{href}</D:href>{stats}</D:response>\n"
    return Answer("207 Multi-Status", _HEADERS, (HEAD + row + TAIL).encode("utf-8"))


def _reason(own: HTTPStatus, status: HTTPStatus) -> str:
    if own is HTTPStatus.FORBIDDEN and status is HTTPStatus.FAILED_DEPENDENCY:
        return "<D:error><D:cannot-modify-protected-property/></D:error>"
    return ""


def _empty(name: str) -> str:
    space, _, local = name.rpartition("}")
    if not space:
        return f"<{name}/>"
    return f"<x:{local} xmlns:x={quoteattr(space[1:])}/>"
