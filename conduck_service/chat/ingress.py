"""A chat listener of a scope, as it runs."""

from __future__ import annotations

import http

from conduck_service.base.ports import why_not_bound
from conduck_service.chat.admission import (
    BODY_PLACES,
    RESERVED_WORKERS,
    BoundedPosts,
)
from conduck_service.chat.app import ROUTE_NAMES, build_app
from conduck_service.chat.errors import error_answer
from conduck_service.chat.settings import ChatConfig
from conduck_service.domain.errors import ErrorCode, ServiceError
from conduck_service.domain.scope import ExtensionEntry
from conduck_service.extension.ingress import IngressContext, StartError, TurnTerms
from conduck_service.serving.bearer import bearer_gate, renewed_gate
from conduck_service.serving.dialect import Cause, Refusal, Response
from conduck_service.serving.server import Server

_CODES = {
    Cause.UNAUTHORIZED: ErrorCode.UNAUTHORIZED,
    Cause.BAD_REQUEST: ErrorCode.MALFORMED_REQUEST,
    Cause.INTERNAL: ErrorCode.INTERNAL,
}

_FEWER = "lower concurrency or queue_depth, or "


class OpenAIDialect:
    """The server's own refusals in the shape of the app's errors (C-ERR-24)."""

    def refusal(self, refusal: Refusal) -> Response:
        """Return the response that says this."""
        answer = error_answer(ServiceError(_CODES[refusal.cause], refusal.message))
        phrase = http.HTTPStatus(answer.status).phrase
        return Response(
            status=f"{answer.status} {phrase}",
            headers=answer.headers,
            body=answer.body,
        )


class ChatIngress:
    """A chat listener with its own port, token and models."""

    def __init__(self, entry: ExtensionEntry, context: IngressContext) -> None:
        config: ChatConfig = entry.config
        turns = context.open_turns(
            TurnTerms(
                namespace=config.namespace,
                models=tuple(model.id for model in config.models),
                deadline_seconds=config.deadline_seconds,
                start_within_seconds=config.start_within_seconds,
                queue_depth=config.queue_depth,
            )
        )
        posts = turns.capacity + BODY_PLACES
        token = config.token_secret
        self._port = config.port
        self._server = Server(
            BoundedPosts(build_app(config, turns, context.clock), posts),
            port=config.port,
            # C-AUTH-09: without a token the gate lets nobody in.
            gate=renewed_gate(lambda: _as_bytes(context.secret(token)), bearer_gate),
            dialect=OpenAIDialect(),
            workers=posts + RESERVED_WORKERS,
            head_seconds=config.header_seconds,
            idle_seconds=config.body_idle_seconds,
            route_of=lambda path: ROUTE_NAMES.get(path, "-"),
            name=entry.name,
        )

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Bind and begin to serve."""
        try:
            self._server.start()
        except OSError as error:
            raise StartError(why_not_bound(self._port, error, _FEWER)) from error

    def answers(self, seconds: float) -> bool:
        """Say whether connections are attended to."""
        return self._server.answers(seconds)

    def close_doors(self) -> None:
        """Refuse new connections from now on."""
        self._server.close_doors()

    def stop(self) -> None:
        """End serving, once the turns have ended."""
        self._server.stop()


def _as_bytes(token: str | None) -> bytes | None:
    """Return the bytes of a token; those of a variable need not be UTF-8."""
    return token.encode("utf-8", "surrogateescape") if token else None  # C-AUTH-04
