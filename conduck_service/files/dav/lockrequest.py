"""LOCK: what its headers and its body ask for, and how locks are told."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, tostring

from conduck_service.files.dav.locks import LONGEST_SECONDS, Lock, Locks
from conduck_service.files.errors import bad_request
from conduck_service.files.strict_xml import DAV, parse_xml

_OWNER_LENGTH = 2048
_SECONDS = re.compile(r"second-([0-9]{1,9})", re.IGNORECASE)
_KNOWN = (f"{DAV}lockscope", f"{DAV}locktype", f"{DAV}owner")


def read_seconds(header: str | None) -> int:
    """Return for how long a lock is granted, whatever was asked for.

    Args:
        header: The Timeout header.
    """
    for wish in (header or "").split(","):
        found = _SECONDS.fullmatch(wish.strip())
        if found and int(found[1]):
            return min(int(found[1]), LONGEST_SECONDS)
    return LONGEST_SECONDS


def clean_body(body: bytes) -> tuple[bytes, bool]:
    """Return the body of a LOCK with nothing in it but what has a meaning.

    And whether the lock is to be the only one; an empty body renews one.

    Raises:
        LaneError: 400, when it is malformed, or its maker says too much of itself.
    """
    if not body:
        return b"", False
    root = parse_xml(body)
    for child in list(root):
        if child.tag not in _KNOWN:
            root.remove(child)
        elif child.tag == f"{DAV}owner" and len(_text(child)) > _OWNER_LENGTH:
            raise bad_request("the owner of the lock is too long", "bad_xml")
    is_exclusive = root.find(f"{DAV}lockscope/{DAV}exclusive") is not None
    return tostring(root, encoding="utf-8"), is_exclusive


def owner_text(serialized: bytes) -> str:
    """Return the owner of a lock as an XML element that stands by itself."""
    return _text(parse_xml(serialized)) if serialized else ""


def discovery(locks: Locks, held: Iterable[Lock]) -> str:
    """Return the content of a ``DAV:lockdiscovery``, ``D:`` being ``DAV:``."""
    return "".join(
        "<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope>"
        f"<D:{'exclusive' if lock.is_exclusive else 'shared'}/></D:lockscope>"
        f"<D:depth>{'infinity' if lock.is_deep else '0'}</D:depth>{lock.owner}"
        f"<D:timeout>Second-{locks.seconds_left(lock)}</D:timeout>"
        f"<D:locktoken><D:href>{lock.token}</D:href></D:locktoken>"
        f"<D:lockroot><D:href>{lock.place.href}</D:href></D:lockroot>"
        "</D:activelock>"
        for lock in held
    )


def _text(element: Element) -> str:
    element.tail = None
    return tostring(element, encoding="unicode").replace("\r", "&#13;")
