"""What a PROPFIND asks for: its body, read strictly."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus

from conduck_service.files.errors import LaneError, bad_request
from conduck_service.files.request import LaneRequest
from conduck_service.files.strict_xml import DAV, parse_xml

_CACHED_BYTES = 4096


class Wanted(Enum):
    """Which kind of answer is asked for."""

    ALL = auto()
    NAMES = auto()
    SOME = auto()


@dataclass(frozen=True, slots=True)
class Query:
    """Which properties are asked for.

    Attributes:
        wanted: All of them, their names, or those in ``properties``.
        properties: Names in Clark notation, such as ``{DAV:}getetag``; with ALL
            those that come on top.
    """

    wanted: Wanted
    properties: tuple[str, ...] = ()


EVERYTHING = Query(Wanted.ALL)


def read_depth(request: LaneRequest) -> int:
    """Return 0 or 1 from the Depth header of a PROPFIND.

    Raises:
        LaneError: 403 for infinity, which no header means too (F-PROP-15); 400
            for anything else.
    """
    value = request.header("DEPTH")
    if value in ("0", "1"):
        return int(value)
    if value is None or value.strip().lower() == "infinity":
        raise LaneError(
            HTTPStatus.FORBIDDEN,
            "depth_infinity",
            "whole trees are not listed; send Depth: 0 or Depth: 1",
            condition="propfind-finite-depth",
        )
    raise bad_request(
        "the Depth header is neither 0, 1 nor infinity; send 0 or 1", "bad_depth"
    )


def read_query(body: bytes) -> Query:
    """Return what the body of a PROPFIND asks for; an empty one asks for all.

    Raises:
        LaneError: 400, when it is no such body.

    Keeps: F-PROP-14, F-PROP-17.
    """
    if not body:
        return EVERYTHING
    return _cached(body) if len(body) <= _CACHED_BYTES else _read(body)


def _read(body: bytes) -> Query:
    root = parse_xml(body)
    if root.tag != f"{DAV}propfind":
        raise bad_request(
            "the body is no DAV:propfind; send one, or no body", "bad_xml"
        )
    asked = [child for child in root if child.tag in _KINDS]
    if len({child.tag for child in asked}) != 1:
        raise bad_request(
            "the body asks for none, or more than one, of allprop, propname and prop; "
            "ask for one",
            "bad_xml",
        )
    wanted = _KINDS[asked[0].tag]
    names: Iterator[str] = (item.tag for child in asked for item in child)
    if wanted is Wanted.ALL:
        includes = root.iterfind(f"{DAV}include")
        names = (item.tag for child in includes for item in child)
    return Query(wanted, tuple(dict.fromkeys(names)))


_cached = functools.lru_cache(maxsize=64)(_read)

_KINDS = {
    f"{DAV}allprop": Wanted.ALL,
    f"{DAV}propname": Wanted.NAMES,
    f"{DAV}prop": Wanted.SOME,
}
