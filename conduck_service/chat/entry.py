"""The extension type ``conduck_chat``: one chat listener of a scope."""

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
from conduck_service.chat.route import routes_by_model
from conduck_service.chat.settings import CHAT_SPEC, ChatConfig, Model
from conduck_service.domain.errors import ErrorCode, ServiceError
from conduck_service.domain.scope import ExtensionEntry, Route, Scope
from conduck_service.extension.executor import Capabilities
from conduck_service.extension.ingress import (
    CapabilitiesOf,
    IngressContext,
    IngressType,
    StartError,
    TurnTerms,
)
from conduck_service.extension.listener import check_listener
from conduck_service.extension.spec import Decoding
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

    def close_doors(self) -> None:
        """Refuse new connections from now on."""
        self._server.close_doors()

    def stop(self) -> None:
        """End serving, once the turns have ended."""
        self._server.stop()


def _as_bytes(token: str | None) -> bytes | None:
    """Return the bytes of a token; those of a variable need not be UTF-8."""
    return token.encode("utf-8", "surrogateescape") if token else None  # C-AUTH-04


def _check(
    entry: ExtensionEntry,
    scope: Scope,
    capabilities: CapabilitiesOf,
    into: Decoding,
) -> None:
    check_listener(entry, scope, "token_secret", into)
    config: ChatConfig = entry.config
    routes = routes_by_model(scope, (model.id for model in config.models))
    for index, model in enumerate(config.models):
        at = ("config", "models", index)
        _check_model(at, model, routes[model.id], capabilities, into)


def _check_model(
    at: tuple[str | int, ...],
    model: Model,
    routes: list[Route],
    capabilities: CapabilitiesOf,
    into: Decoding,
) -> None:
    if len(routes) != 1:
        into.refuse(
            at,
            "invalid_config",
            "no chat route takes this model"
            if not routes
            else "more than one chat route takes this model",
            "name it in the models of exactly one route with handler chat",
        )
        return
    engine = capabilities(routes[0].binding)
    if engine is not None and model.input_modalities:
        _check_signal((*at, "input_modalities"), model, routes[0].binding, engine, into)


def _check_signal(
    at: tuple[str | int, ...],
    model: Model,
    binding: str,
    engine: Capabilities,
    into: Decoding,
) -> None:
    """Refuse a signal that says something else than the engine can (C-MODELS-09)."""
    said = set(model.input_modalities)
    if "image" in said and not engine.images:
        into.refuse(
            at,
            "unsupported_capability",
            f"the model says that it takes images, but binding {binding!r} takes none",
            "configure images there, or remove image here",
        )
    elif said != ({"text", "image"} if engine.images else {"text"}):
        words = "text, image" if engine.images else "text"
        into.refuse(
            at,
            "unsupported_capability",
            f"the model does not say all that binding {binding!r} takes",
            f"write {words}, or leave the key out",
        )


CHAT_INGRESS = IngressType(
    name="conduck_chat", spec=CHAT_SPEC, build=ChatIngress, check=_check
)
