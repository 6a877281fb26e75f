"""The WSGI application of the lane: who answers which method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from conduck_service.files.disk.paths import parse_place
from conduck_service.files.errors import LaneError, as_response, from_system
from conduck_service.files.request import Answer, LaneRequest
from conduck_service.files.transfers import ARRIVAL_SECONDS, ARRIVALS, TransferRoom
from conduck_service.serving.body import Body
from conduck_service.serving.sending import FileRange

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse

Handler = Callable[[LaneRequest], Answer]


class Lane:
    """Gives each request to the handler of its method, and words what fails.

    Args:
        handlers: Method to handler.
        transfers: Places for what takes a while: uploads and copies.
    """

    def __init__(
        self, handlers: Mapping[str, Handler], transfers: TransferRoom
    ) -> None:
        self._handlers = handlers
        self._allow = ", ".join(sorted(handlers))
        self._transfers = transfers
        self._arrivals = TransferRoom(ARRIVALS, patience=ARRIVAL_SECONDS)

    def __call__(
        self, environ: dict[str, Any], start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer one request; see PEP 3333."""
        answer = self._answer(environ)
        body = answer.body
        size = body.size if isinstance(body, FileRange) else len(body)
        headers = [*answer.headers, ("Content-Length", str(size))]
        start_response(answer.status, headers)
        return body if isinstance(body, FileRange) else [body]

    def _answer(self, environ: Mapping[str, Any]) -> Answer:
        try:
            return self._handle(environ)
        except LaneError as error:
            return _error_answer(error)
        except OSError as error:
            return _error_answer(from_system(error))

    def _handle(self, environ: Mapping[str, Any]) -> Answer:
        method = environ["REQUEST_METHOD"]
        handler = self._handlers.get(method)
        if handler is None:
            raise LaneError(
                HTTPStatus.METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "the lane does not know this method; Allow names those that it knows",
                headers=(("Allow", self._allow),),
            )
        place = parse_place(environ["REQUEST_URI"])
        body: Body = environ["conduck.body"]
        request = LaneRequest(method, place, environ, body)
        if method == "COPY" or (method == "PUT" and not body.is_here):
            room = self._transfers
        elif not body.is_here:
            room = self._arrivals
        else:
            return handler(request)
        with room.place():
            return handler(request)


def _error_answer(error: LaneError) -> Answer:
    response = as_response(error)
    return Answer(response.status, response.headers, response.body)
