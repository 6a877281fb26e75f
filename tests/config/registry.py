"""A small registry whose owners are strict, and one whose code is broken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conduck_service.domain.execution import FailureCode
from conduck_service.domain.scope import Binding, ExtensionEntry, Scope
from conduck_service.extension.executor import (
    Capabilities,
    ExecutionContext,
    ExecutorType,
    Failed,
    RunResult,
)
from conduck_service.extension.handler import HandlerType
from conduck_service.extension.ingress import (
    CapabilitiesOf,
    Ingress,
    IngressContext,
    IngressType,
)
from conduck_service.extension.kinds import (
    Boolean,
    FilePath,
    Integer,
    ListOf,
    MapOf,
    Name,
    Text,
)
from conduck_service.extension.registry import Package, Registry
from conduck_service.extension.spec import Decoding, Field, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    argv: tuple[str, ...] = ("engine",)
    images: bool = False
    cwd: Path | None = None
    secret_env: dict[str, str] = field(default_factory=dict)


class Engine:
    def capabilities(self, config: EngineConfig) -> Capabilities:
        return Capabilities(images=config.images)

    def folder(self, config: EngineConfig) -> Path | None:
        return config.cwd

    def run(self, config: Any, context: ExecutionContext) -> RunResult:
        del config, context
        return Failed(FailureCode.CANNOT_START)


def _check_engine(binding: Binding, scope: Scope, into: Decoding) -> None:
    del scope
    for variable, name in binding.config.secret_env.items():
        if name not in binding.secret_names:
            into.refuse(
                ("config", "secret_env", variable),
                "unknown_reference",
                "the binding has no secret of this name",
                "add it to secret_names",
            )


def _fail(_binding: Binding, _scope: Scope, into: Decoding) -> None:
    into.refuse((), "invalid_config", "half a check", "nothing")
    raise KeyError("canary")


def _make_broken(**_values: Any) -> Any:
    raise KeyError("canary")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatConfig:
    namespace: str
    port: int
    wants_images: bool


def _check_chat(
    entry: ExtensionEntry,
    scope: Scope,
    capabilities_of: CapabilitiesOf,
    into: Decoding,
) -> None:
    for route in scope.routes:
        found = capabilities_of(route.binding)
        if entry.config.wants_images and found is not None and not found.images:
            into.refuse(
                ("config", "wants_images"),
                "unsupported_capability",
                "a binding of the scope takes no images",
                "take it away",
            )
    if capabilities_of("no-such-binding") is not None:
        raise AssertionError


def _matches(_config: Any, _type: str, _data: Mapping[str, int | bool | str]) -> bool:
    return True


def _build(_entry: ExtensionEntry, _context: IngressContext) -> Ingress:
    raise AssertionError("tests of the config build nothing")


_NOTHING: Spec[Any] = Spec(dict, ())

_ENGINE = Spec(
    EngineConfig,
    (
        Field(name="argv", kind=ListOf(Text()), default=("engine",), doc="Program."),
        Field(name="images", kind=Boolean(), default=False, doc="Images or not."),
        Field(name="cwd", kind=FilePath(), default=None, doc="Folder."),
        Field(name="secret_env", kind=MapOf(Name()), default={}, doc="Secrets."),
    ),
)

_CHAT = Spec(
    ChatConfig,
    (
        Field(name="namespace", kind=Name(), doc="Source of its events."),
        Field(name="port", kind=Integer(1, 65535), doc="Port."),
        Field(name="wants_images", kind=Boolean(), default=False, doc="Images."),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneConfig:
    namespace: str
    port: int
    root: Path | None


_LANE = Spec(
    LaneConfig,
    (
        Field(name="namespace", kind=Name(), doc="Source of its events."),
        Field(name="port", kind=Integer(1, 65535), doc="Port."),
        Field(name="root", kind=FilePath(), default=None, doc="Folder."),
    ),
)

_MODELS: Spec[Any] = Spec(
    dict, (Field(name="models", kind=ListOf(Name()), default=(), doc="Models."),)
)

REGISTRY = Registry.of(
    Package(
        name="test",
        executors=(
            ExecutorType(
                name="engine", spec=_ENGINE, executor=Engine(), check=_check_engine
            ),
            ExecutorType(
                name="broken_check", spec=_NOTHING, executor=Engine(), check=_fail
            ),
            ExecutorType(
                name="broken_spec", spec=Spec(_make_broken, ()), executor=Engine()
            ),
        ),
        handlers=(HandlerType(name="chat", spec=_MODELS, matches=_matches),),
        ingresses=(
            IngressType(
                name="conduck_chat", spec=_CHAT, build=_build, check=_check_chat
            ),
            IngressType(name="lane", spec=_LANE, build=_build, folder="root"),
            IngressType(name="quiet", spec=_NOTHING, build=_build),
        ),
    )
)
