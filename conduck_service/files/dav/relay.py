"""Hands a request to WsgiDAV and words what comes back."""

from __future__ import annotations

import io
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from wsgidav.dav_error import DAVError
from wsgidav.request_server import RequestServer

from conduck_service.files.dav.multistatus import HEAD, HEADERS, TAIL, failure_row
from conduck_service.files.dav.provider import (
    CALL,
    Call,
    LaneProvider,
    as_path,
    name_taken,
)
from conduck_service.files.disk.targets import already_there, parent_missing
from conduck_service.files.errors import LaneError, bad_request, forbidden, not_found
from conduck_service.files.request import Answer

_USER = "conduck"

# What it logs holds names.
logging.getLogger("wsgidav").setLevel(logging.CRITICAL)


class Relay:
    """WsgiDAV's handling of requests, without its server, pages and log.

    Only what is named here reaches it: no header by which it could come to
    another idea of a path, a host or a condition than we have.

    Args:
        provider: The shared folder.
    """

    def __init__(self, provider: LaneProvider) -> None:
        self._provider = provider
        self._server = RequestServer(provider)

    def answer(
        self, call: Call, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Answer:
        """Go through the steps of a method.

        Args:
            call: The request.
            headers: Those that the method needs, as in an environ.
            body: The request's body, checked.

        Raises:
            LaneError: Nothing was done.
        """
        begun: list[tuple[str, list[tuple[str, str]]]] = []

        def start(status: str, sent: list[tuple[str, str]]) -> None:
            begun.append((status, sent))

        try:
            # What it writes of its own is not for clients.
            for _ in self._server(self._environ(call, headers or {}, body), start):
                pass
        except DAVError as error:
            raise _as_lane_error(call.request.method, error) from error
        if call.error is not None:
            raise call.error
        if call.outcome is not None:
            is_new, failures = call.outcome
            if failures:
                rows = "".join(map(failure_row, failures.first))
                body = (HEAD + rows + TAIL).encode("ascii")
                return Answer("207 Multi-Status", HEADERS, body)
            return Answer("201 Created" if is_new else "204 No Content")
        status, sent = begun[0]
        return Answer(status, tuple(one for one in sent if one[0] == "Lock-Token"))

    def resolve_provider(self, path: str) -> tuple[str, LaneProvider]:
        """Say to WsgiDAV whose a path is: there is one folder only."""
        del path
        return "", self._provider

    def _environ(
        self, call: Call, headers: Mapping[str, str], body: bytes
    ) -> dict[str, Any]:
        request = call.request
        depth = request.header("DEPTH")
        # A slash at its end asks for a folder.
        slash = "/" * (request.place.is_folder and not request.place.is_root)
        return {
            "REQUEST_METHOD": request.method,
            "SCRIPT_NAME": "",
            "PATH_INFO": as_path(request.place) + slash,
            "HTTP_HOST": "localhost",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgidav.app": self,
            "wsgidav.config": {},
            "wsgidav.provider": self._provider,
            "wsgidav.verbose": 0,
            "wsgidav.auth.user_name": _USER,
            # The If header was looked at already.
            "wsgidav.conditions.if": {},
            "wsgidav.ifLockTokenList": list(call.tokens),
            CALL: call,
            **({} if depth is None else {"HTTP_DEPTH": depth.strip()}),
            **headers,
        }


def _as_lane_error(method: str, error: DAVError) -> LaneError:
    """Return what a refusal of WsgiDAV's means, in our words."""
    status = HTTPStatus(error.value)
    if status is HTTPStatus.NOT_FOUND:
        return not_found()
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        return name_taken()
    if status is HTTPStatus.FORBIDDEN:
        return forbidden(
            "something cannot be put onto or into itself; choose another destination"
        )
    if status is HTTPStatus.CONFLICT and method != "UNLOCK":
        return parent_missing()
    if status is HTTPStatus.PRECONDITION_FAILED and method != "LOCK":
        return already_there()
    if status in (HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED):
        return LaneError(
            status,
            "no_such_lock",
            "there is no such lock here; it may have ended",
            condition="lock-token-matches-request-uri",
        )
    return bad_request("the headers or the body do not fit the method")
