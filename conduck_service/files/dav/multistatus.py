"""The rows of a listing as text, one template for each set of properties."""

from __future__ import annotations

import functools
import os
import re
import stat
from collections.abc import Mapping
from xml.sax.saxutils import escape

from conduck_service.files.dav.conditions import etag_of, http_date, iso_date
from conduck_service.files.dav.propfind import Query, Wanted
from conduck_service.files.disk.failures import Failure
from conduck_service.files.media_types import media_type_of
from conduck_service.files.strict_xml import DAV

HEADERS = (("Content-Type", "application/xml; charset=utf-8"),)
HEAD = '<?xml version="1.0" encoding="utf-8"?>\n<D:multistatus xmlns:D="DAV:">'
TAIL = "</D:multistatus>\n"

SUPPORTED_LOCK = "".join(
    f"<D:lockentry><D:lockscope><D:{scope}/></D:lockscope>"
    "<D:locktype><D:write/></D:locktype></D:lockentry>"
    for scope in ("exclusive", "shared")
)

# What may not stand in XML at all.
_NO_XML = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\ud800-\\udfff\\ufffe\\uffff]")

_FILE = {
    "resourcetype": "<D:resourcetype/>",
    "getcontentlength": "<D:getcontentlength>%(size)d</D:getcontentlength>",
    "getlastmodified": "<D:getlastmodified>%(modified)s</D:getlastmodified>",
    "getetag": "<D:getetag>%(etag)s</D:getetag>",
    "getcontenttype": "<D:getcontenttype>%(type)s</D:getcontenttype>",
    "creationdate": "<D:creationdate>%(created)s</D:creationdate>",
    "displayname": "<D:displayname>%(label)s</D:displayname>",
}
_FOLDER = {
    "resourcetype": "<D:resourcetype><D:collection/></D:resourcetype>",
    "getlastmodified": _FILE["getlastmodified"],
    "creationdate": _FILE["creationdate"],
    "displayname": _FILE["displayname"],
}
_ON_DEMAND = {
    "supportedlock": f"<D:supportedlock>{SUPPORTED_LOCK}</D:supportedlock>",
    "lockdiscovery": "<D:lockdiscovery>%(locks)s</D:lockdiscovery>",
}
"""Properties that are told only when they are named."""

LOCK_DISCOVERY = f"{DAV}lockdiscovery"


def failure_row(failure: Failure) -> str:
    """Return the response element of something that could not be done."""
    status = failure.error.status
    return (
        f"<D:response><D:href>{failure.href}</D:href><D:status>HTTP/1.1 "
        f"{status.value} {status.phrase}</D:status></D:response>\n"
    )


class Rows:
    """Writes response elements for one query.

    Args:
        query: What is asked for.
        now_ns: Time since 1970 in nanoseconds.
    """

    def __init__(self, query: Query, now_ns: int) -> None:
        self.wants_locks = LOCK_DISCOVERY in query.properties
        self._query = query
        self._now_ns = now_ns
        self._file = _template(query, False, _NONE)
        self._folder = _template(query, True, _NONE)

    def row(
        self,
        href: str,
        name: str,
        found: os.stat_result,
        *,
        locks: str = "",
        dead: Mapping[str, str] | None = None,
    ) -> str:
        """Return the response element of one file or folder.

        Args:
            href: Its path, percent-encoded, without a slash at its end.
            name: Its name; empty for the shared folder itself.
            found: Its state.
            locks: Content of its ``lockdiscovery``.
            dead: Its stored properties, Clark name to element.
        """
        is_folder = stat.S_ISDIR(found.st_mode)
        if dead:
            template = _template(self._query, is_folder, _Dead.of(self._query, dead))
        else:
            template = self._folder if is_folder else self._file
        values: dict[str, object] = {
            "href": href,
            "modified": http_date(found[stat.ST_MTIME]),
            "created": iso_date(found[stat.ST_CTIME]),
            # What stands in an href as it is needs no escaping here either.
            "label": name if href.endswith(name) else _escaped(name),
            "locks": locks,
        }
        if is_folder:
            values["href"] = href if href == "/" else href + "/"
        else:
            values["size"] = found[stat.ST_SIZE]
            values["type"] = media_type_of(name)
            values["etag"] = etag_of(found, self._now_ns)
        return template % values


class _Dead(tuple[tuple[str, str], ...]):
    """Stored properties that belong in an answer, name and element, in order."""

    __slots__ = ()

    @staticmethod
    def of(query: Query, dead: Mapping[str, str] | None) -> _Dead:
        """Return those that the query asks for."""
        if not dead:
            return _NONE
        if query.wanted is Wanted.SOME:
            return _Dead(
                (name, dead[name]) for name in query.properties if name in dead
            )
        return _Dead(dead.items())


_NONE = _Dead()


@functools.lru_cache(maxsize=256)
def _template(query: Query, is_folder: bool, dead: _Dead) -> str:
    """Return the text of a row with places for the values of one entry.

    What is there comes first, then what is asked for in vain.
    """
    live = {DAV + key: text for key, text in (_FOLDER if is_folder else _FILE).items()}
    if query.wanted is Wanted.NAMES:
        names = [*live, *(DAV + key for key in _ON_DEMAND), *(name for name, _ in dead)]
        given, missing = "".join(map(_empty, names)), ""
    else:
        known = live | {DAV + key: text for key, text in _ON_DEMAND.items()}
        wanted = list(query.properties)
        if query.wanted is Wanted.ALL:
            wanted = list(dict.fromkeys([*live, *(n for n, _ in dead), *wanted]))
        stored = {name: text.replace("%", "%%") for name, text in dead}
        found = known | stored
        given = "".join(found[name] for name in wanted if name in found)
        missing = "".join(_empty(name) for name in wanted if name not in found)
    parts = [_propstat(given, "200 OK")] if given or not missing else []
    if missing:
        parts.append(_propstat(missing, "404 Not Found"))
    return f"<D:response><D:href>%(href)s</D:href>{''.join(parts)}</D:response>\n"


def _propstat(properties: str, status: str) -> str:
    return (
        f"<D:propstat><D:prop>{properties}</D:prop>"
        f"<D:status>HTTP/1.1 {status}</D:status></D:propstat>"
    )


def _empty(name: str) -> str:
    """Return an empty element of a Clark name."""
    if name.startswith(DAV):
        text = f"<D:{name[len(DAV) :]}/>"
    elif name.startswith("{"):
        space, _, local = name[1:].partition("}")
        space = escape(space, {'"': "&quot;"})
        text = f'<{local} xmlns="{space}"/>'
    else:
        text = f"<{name}/>"
    return text.replace("%", "%%")


def _escaped(name: str) -> str:
    """Return a name as text in XML; U+FFFD stands for what XML cannot hold."""
    return escape(_NO_XML.sub("\ufffd", name), {"\r": "&#13;"})
