"""The methods of WebDAV but reading, listing and uploads, through WsgiDAV."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from http import HTTPStatus
from urllib.parse import quote

from conduck_service.base.clock import Clock
from conduck_service.files.dav.conditions import (
    etag_of,
    is_conditional,
    is_not_modified,
)
from conduck_service.files.dav.destination import read_destination
from conduck_service.files.dav.ifheader import IfHeader, State
from conduck_service.files.dav.lockrequest import clean_body, discovery, read_seconds
from conduck_service.files.dav.locks import Locks
from conduck_service.files.dav.proppatch import PropPatch
from conduck_service.files.dav.provider import (
    ALLOW,
    Call,
    LaneProvider,
    as_path,
)
from conduck_service.files.dav.relay import Relay
from conduck_service.files.disk.paths import Place
from conduck_service.files.disk.properties import Properties
from conduck_service.files.disk.renaming import deciding
from conduck_service.files.disk.tree import Spot, Tree
from conduck_service.files.errors import LaneError, forbidden
from conduck_service.files.request import Answer, LaneRequest

METHODS = (
    "OPTIONS", "MKCOL", "DELETE", "COPY", "MOVE", "PROPPATCH", "LOCK", "UNLOCK",
)  # fmt: skip
"""What is answered here."""

_MAKING = frozenset({"MKCOL", "LOCK"})
_XML = ("Content-Type", "application/xml; charset=utf-8")


class WebDav:
    """Answers :data:`METHODS`.

    Args:
        tree: The shared folder.
        clock: For locks.

    Keeps: F-METH-03, F-METH-04, F-METH-05, F-METH-09, F-IN-12.
    """

    def __init__(self, tree: Tree, clock: Clock | None = None) -> None:
        self._tree = tree
        self._locks = Locks(clock)
        self._properties = Properties(tree.root, clock)
        self._relay = Relay(LaneProvider(tree, self._locks, self._properties))
        self._prop_patch = PropPatch(tree, self._properties, self)
        self._methods: Mapping[str, Callable[[LaneRequest], Answer]] = {
            "OPTIONS": self._options,
            "MKCOL": self._mkcol,
            "DELETE": self._delete,
            "COPY": self._copy_or_move,
            "MOVE": self._copy_or_move,
            "PROPPATCH": self._prop_patch.answer,
            "LOCK": self._lock,
            "UNLOCK": self._unlock,
        }

    def answer(self, request: LaneRequest) -> Answer:
        """Do what a request asks for, whose method is one of :data:`METHODS`.

        Raises:
            LaneError: Nothing was done.
        """
        if is_conditional(request):
            self._check_conditions(request)
        return self._methods[request.method](request)

    def writing(
        self, request: LaneRequest, found: os.stat_result | None
    ) -> AbstractContextManager[None]:
        """Return what keeps locks off a place while it is written.

        Args:
            request: The request that writes.
            found: What is there; None for a new name.

        Raises:
            LaneError: 412, the ``If`` header does not hold; when it is entered 423,
                somebody has locked the place.
        """
        tokens = self._shown_tokens(request)
        return self._locks.writing(request.place.names, tokens, is_new=found is None)

    def lock_discovery(self, place: Place) -> str:
        """Return the content of the ``lockdiscovery`` of a place."""
        return discovery(self._locks, self._locks.covering(place.names))

    def has_dead_properties(self) -> bool:
        """Say whether anything may have stored properties, at next to no cost."""
        return self._properties.any()

    def dead_properties(self, folder: int, name: bytes) -> Mapping[str, str]:
        """Return the stored properties of an entry, Clark name to XML element.

        Args:
            folder: Descriptor of the folder that it is in.
            name: Its name.
        """
        return self._properties.read_in(folder, name)

    def carry(self, spot: Spot, descriptor: int) -> None:
        """Give a file the stored properties of the one that it will replace.

        Raises:
            OSError: There is no room for them.
        """
        self._properties.carry_in(spot.folder, spot.name, descriptor)

    def _options(self, request: LaneRequest) -> Answer:
        del request
        headers = (("DAV", "1, 2"), ("Allow", ALLOW), ("MS-Author-Via", "DAV"))
        return Answer("200 OK", headers)

    def _mkcol(self, request: LaneRequest) -> Answer:
        request.refuse_body()
        request.place.check_creatable()
        return self._relay.answer(self._call(request))

    def _delete(self, request: LaneRequest) -> Answer:
        request.refuse_body()
        if request.place.is_root:
            raise forbidden("the shared folder itself stays; remove what is in it")
        return self._changed(request, self._call(request))

    def _copy_or_move(self, request: LaneRequest) -> Answer:
        request.read_small()
        if request.place.is_root:
            raise forbidden(
                "the shared folder itself stays; copy or move what is in it"
            )
        call = self._call(request)
        call.destination = read_destination(request)
        # One decoding is undone by WsgiDAV; its paths stay encoded.
        headers = {
            "HTTP_DESTINATION": quote(as_path(call.destination)),
            "HTTP_OVERWRITE": (request.header("OVERWRITE") or "T").strip(),
        }
        if request.method == "COPY":
            return self._relay.answer(call, headers)
        return self._changed(request, call, headers)

    def _changed(
        self,
        request: LaneRequest,
        call: Call,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Do what takes something away, while what it depends on still holds."""
        if not is_conditional(request):
            return self._relay.answer(call, headers)
        with deciding:
            self._check_conditions(request)
            return self._relay.answer(call, headers)

    def _lock(self, request: LaneRequest) -> Answer:
        seconds = read_seconds(request.header("TIMEOUT"))
        call = self._call(request)
        body, call.is_exclusive = clean_body(request.read_small())
        answer = self._relay.answer(call, {"HTTP_TIMEOUT": f"Second-{seconds}"}, body)
        text = (
            '<?xml version="1.0" encoding="utf-8"?>\n<D:prop xmlns:D="DAV:">'
            f"<D:lockdiscovery>{self.lock_discovery(request.place)}"
            "</D:lockdiscovery></D:prop>\n"
        )
        return Answer(answer.status, (_XML, *answer.headers), text.encode("utf-8"))

    def _unlock(self, request: LaneRequest) -> Answer:
        request.refuse_body()
        token = (request.header("LOCK_TOKEN") or "").strip()
        headers = {"HTTP_LOCK_TOKEN": token} if token else {}
        return self._relay.answer(self._call(request), headers)

    def _call(self, request: LaneRequest) -> Call:
        return Call(request, self._shown_tokens(request))

    def _shown_tokens(self, request: LaneRequest) -> frozenset[str]:
        """Return the lock tokens of the ``If`` header, after looking if it holds."""
        text = request.header("IF")
        if text is None:
            return frozenset()
        header = IfHeader.parse(text)
        if not header.holds(lambda place: self._state(place or request.place)):
            raise LaneError(
                HTTPStatus.PRECONDITION_FAILED,
                "precondition_failed",
                "this is not in the state that the If header asks for; look again",
            )
        return header.tokens

    def _check_conditions(self, request: LaneRequest) -> None:
        """Evaluate the conditions of HTTP, for what the request is about only."""
        try:
            found = self._tree.find(request.place)
        except LaneError as error:
            if error.status is not HTTPStatus.NOT_FOUND:
                raise
            if request.method not in _MAKING:
                return  # and the answer will say that there is nothing
            found = None
        is_not_modified(request, found)

    def _state(self, place: Place) -> State:
        try:
            tag = etag_of(self._tree.find(place))
        except LaneError:
            tag = None
        tokens = (lock.token for lock in self._locks.covering(place.names))
        return State(tag, frozenset(tokens))
