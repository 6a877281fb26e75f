"""The extension type ``conduck_chat``: one chat listener of a scope."""

from __future__ import annotations

from conduck_service.chat.route import routes_by_model
from conduck_service.chat.settings import CHAT_SPEC, ChatConfig, Model
from conduck_service.domain.scope import ExtensionEntry, Route, Scope
from conduck_service.extension.executor import Capabilities
from conduck_service.extension.ingress import CapabilitiesOf, IngressType
from conduck_service.extension.late import late
from conduck_service.extension.listener import check_listener
from conduck_service.extension.spec import Decoding


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
    name="conduck_chat",
    spec=CHAT_SPEC,
    build=late("conduck_service.chat.ingress:ChatIngress"),
    check=_check,
)
