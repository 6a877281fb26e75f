"""All that checks may know: config, surroundings, the running service; read-only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from conduck_service.base.diagnostics import Diagnostic
from conduck_service.base.redaction import Redactor
from conduck_service.chat.route import routes_by_model
from conduck_service.chat.settings import ChatConfig
from conduck_service.doctor.peer import Peer
from conduck_service.doctor.service import Service
from conduck_service.domain.scope import Binding, Document, ExtensionEntry, Scope
from conduck_service.extension.registry import Registry
from conduck_service.files.settings import FilesConfig
from conduck_service.secrets.resolve import SecretError
from conduck_service.secrets.vault import Vault


class NotMadeError(Exception):
    """Raised by a check that cannot be made; the text says why in a few words."""


NEEDS_SECRETS = "it needs a secret (--check-secrets)"
NEEDS_SERVICE = "the service does not run"


@dataclass(frozen=True, slots=True)
class Everything:
    """What is not about one part of the config."""

    subject: str = ""
    related: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listener:
    """A listener that a scope declares.

    Attributes:
        scope: That scope.
        entry: Its entry.
        peer: Where it listens, asked without any credential.
    """

    scope: Scope
    entry: ExtensionEntry
    peer: Peer
    related: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """Scope and entry."""
        return f"{self.scope.id}/{self.entry.name}"

    @property
    def port(self) -> int:
        """Its port on 127.0.0.1."""
        port: int = self.entry.config.port
        return port


class Chat(Listener):
    """A chat listener."""

    @property
    def config(self) -> ChatConfig:
        """Its config."""
        config: ChatConfig = self.entry.config
        return config


class Lane(Listener):
    """A file lane."""

    @property
    def config(self) -> FilesConfig:
        """Its config."""
        config: FilesConfig = self.entry.config
        return config

    @property
    def root(self) -> Path:
        """The folder that it serves."""
        assert self.scope.folder is not None
        return self.scope.folder


@dataclass(frozen=True, slots=True)
class Engine:
    """A binding of a scope."""

    scope: Scope
    binding: Binding
    related: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """Scope and binding."""
        return f"{self.scope.id}/{self.binding.name}"

    @property
    def config(self) -> Any:
        """The owner's config."""
        return self.binding.config


@dataclass(frozen=True, slots=True, kw_only=True)
class Public:
    """Addresses at which the app reaches the service, through whatever stands there.

    Attributes:
        chat: That of a chat listener; empty when none is known.
        lane: That of its file lane; empty when none is known.
        scope: Id of the scope that they lead to; empty for the first with a
            listener.
    """

    chat: str = ""
    lane: str = ""
    scope: str = ""


@dataclass(frozen=True, kw_only=True)
class DoctorContext:
    """What checks know.

    Attributes:
        config: The config file.
        state: The state directory, if one is known.
        environment: The variables of the running service; those of this process
            where it does not run or the system does not tell.
        service: The running service.
        document: The checked config; None when it has errors.
        problems: What the check said.
        registry: The types that it was checked with.
        redactor: Learns every secret that is resolved.
        may_resolve: Whether secrets may be asked for.
        may_turn: Whether engines may be asked for answers.
        public: Addresses at which the app reaches them.
    """

    config: Path
    state: Path | None
    environment: Mapping[str, str] = field(repr=False)
    service: Service | None
    document: Document | None
    problems: Sequence[Diagnostic]
    registry: Registry
    redactor: Redactor
    may_resolve: bool = False
    may_turn: bool = False
    public: Public = Public()

    @cached_property
    def chats(self) -> list[Chat]:
        """The chat listeners of the config."""
        return [
            Chat(scope, entry, _local(entry))
            for scope, entry in self._own()
            if isinstance(entry.config, ChatConfig)
        ]

    @cached_property
    def lanes(self) -> list[Lane]:
        """The file lanes of the config."""
        return [
            Lane(scope, entry, _local(entry))
            for scope, entry in self._own()
            if isinstance(entry.config, FilesConfig)
        ]

    @cached_property
    def engines(self) -> list[Engine]:
        """The bindings that a chat listener can reach; inherited ones stand once."""
        found: dict[int, Engine] = {}
        for scope in self.document.scopes if self.document else ():
            for route in scope.routes:
                binding = scope.binding(route.binding)
                found.setdefault(id(binding), self._engine(scope, binding))
        return list(found.values())

    def vault(self, scope: Scope) -> Vault:
        """Return what resolves the secrets of a scope, as the daemon does."""
        return Vault(
            scope.secret_refs,
            folder=self.config.parent,
            environment=self.environment,
            redactor=self.redactor,
        )

    def signed_in(self, listener: Listener) -> Peer:
        """Return a listener as its owner asks it: with its token or password.

        Raises:
            NotMadeError: The secret may not be asked for, or cannot be had.
        """
        value, peer = self.credential_of(listener), listener.peer
        is_chat = isinstance(listener, Chat)
        return peer.with_token(value) if is_chat else peer.with_password(value)

    def credential_of(self, listener: Listener) -> str:
        """Return the token or the password of a listener.

        Raises:
            NotMadeError: The secret may not be asked for, or cannot be had.
        """
        if not self.may_resolve:
            raise NotMadeError(NEEDS_SECRETS)
        config = listener.entry.config
        is_chat = isinstance(listener, Chat)
        name = config.token_secret if is_chat else config.password_secret
        try:
            return self.vault(listener.scope).resolve((name,))[name]
        except SecretError:
            raise NotMadeError("its secret cannot be had") from None

    def lane_of(self, scope: Scope) -> Lane | None:
        """Return the lane that serves the folder of a scope, its own or one above."""
        return next((x for x in self.lanes if x.scope.folder == scope.folder), None)

    def engine_of(self, chat: Chat, model: str) -> Engine | None:
        """Return the binding that answers for a model of a listener."""
        for route in routes_by_model(chat.scope, [model])[model]:
            return self._engine(chat.scope, chat.scope.binding(route.binding))
        return None

    def _engine(self, scope: Scope, binding: Binding) -> Engine:
        lane = self.lane_of(scope)
        return Engine(scope, binding, (lane.subject,) if lane else ())

    def takes_images(self, engine: Engine) -> bool:
        """Say whether images reach an engine."""
        executor = self.registry.executors[engine.binding.executor].executor
        return executor.capabilities(engine.config).images

    def _own(self) -> list[tuple[Scope, ExtensionEntry]]:
        return [
            (scope, entry)
            for scope in (self.document.scopes if self.document else ())
            for entry in scope.extensions
            if entry.name in scope.own_extensions
        ]


def _local(entry: ExtensionEntry) -> Peer:
    return Peer(f"http://127.0.0.1:{entry.config.port}")


def everything(_context: DoctorContext) -> Sequence[Everything]:
    """Return the one target of checks that are about the whole."""
    return (Everything(),)
