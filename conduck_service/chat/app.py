"""The Falcon app of the chat listener: two routes and one way to fail."""

from __future__ import annotations

import logging

import falcon

from conduck_service.base.clock import Clock
from conduck_service.chat.completions import CompletionsResource
from conduck_service.chat.errors import error_answer
from conduck_service.chat.models import ModelsResource
from conduck_service.chat.settings import ChatConfig
from conduck_service.domain.errors import ErrorCode, ServiceError
from conduck_service.extension.ingress import TurnPort

ChatApp = falcon.App[falcon.Request, falcon.Response]

log = logging.getLogger(__name__)

MODELS = "/v1/models"
COMPLETIONS = "/v1/chat/completions"

METHODS = {MODELS: "GET", COMPLETIONS: "POST"}
"""The whole surface: each path with the one method that it knows."""

ROUTE_NAMES = {MODELS: "models", COMPLETIONS: "chat"}
"""What access log lines call a path; every other path is ``-``."""


class _Surface:
    """Middleware that refuses every other path and method before routing.

    Falcon would answer OPTIONS by itself and list it in Allow (C-ERR-21).
    """

    def process_request(
        self, request: falcon.Request, _response: falcon.Response
    ) -> None:
        method = METHODS.get(request.path)
        if method is None:
            raise ServiceError(ErrorCode.NOT_FOUND, "there is no such path here")
        if request.method != method:
            raise ServiceError(
                ErrorCode.METHOD_NOT_ALLOWED,
                f"this path knows only {method}",
                allow=(method,),
            )


def build_app(config: ChatConfig, turns: TurnPort, clock: Clock) -> ChatApp:
    """Return the app; authentication stands in front of it, in ``serving``."""
    app = falcon.App(middleware=[_Surface()])
    app.add_error_handler(Exception, _answer_defect)
    app.add_error_handler(ServiceError, _answer_error)
    app.add_route(MODELS, ModelsResource(config.models, turns.check_enabled))
    app.add_route(COMPLETIONS, CompletionsResource(config, turns, clock))
    return app


def _answer_error(
    _request: falcon.Request,
    response: falcon.Response,
    error: Exception,
    _params: dict[str, object],
) -> None:
    assert isinstance(error, ServiceError)
    answer = error_answer(error)
    response.status = answer.status
    response.content_type = falcon.MEDIA_JSON
    for name, value in answer.headers:
        response.set_header(name, value)
    response.data = answer.body


def _answer_defect(
    request: falcon.Request,
    response: falcon.Response,
    error: Exception,
    params: dict[str, object],
) -> None:
    """Answer 500 for a fault of our own, and show nothing of it (C-ERR-25)."""
    log.error("the chat app failed", exc_info=error, extra={"action": "defect"})
    defect = ServiceError(ErrorCode.INTERNAL, "the service failed; its log says how")
    _answer_error(request, response, defect, params)
