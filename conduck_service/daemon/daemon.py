"""Builds the daemon of a document, starts it and stops it in a fixed order."""

from __future__ import annotations

import functools
import gc
import logging
import operator
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from conduck_service.base.clock import SystemClock
from conduck_service.base.processes import Supervisor
from conduck_service.base.processes import sweep as sweep_processes
from conduck_service.base.redaction import Redactor
from conduck_service.domain.scope import Document, ExtensionEntry, Scope
from conduck_service.extension.ingress import Ingress, IngressContext
from conduck_service.extension.registry import Registry
from conduck_service.files.settings import FilesConfig
from conduck_service.runtime.attempts import Attempts
from conduck_service.runtime.journal import Journal
from conduck_service.runtime.lifecycle import Lifecycle
from conduck_service.runtime.pools import AgentPool
from conduck_service.runtime.scratch import Scratch
from conduck_service.runtime.turns import Core, Turns
from conduck_service.secrets.renewal import renewed_secrets
from conduck_service.secrets.revision import revision_of
from conduck_service.secrets.vault import Vault

log = logging.getLogger(__name__)

SHUTDOWN_GRACE = 10.0
"""Seconds that running turns get when the daemon is told to stop."""

ENDING_LIMIT = 40.0
"""Seconds in which every tree is gone after the grace, whatever it does."""

LEFTOVER_GRACE = 2.0
"""Seconds that engines of a killed predecessor get between TERM and KILL."""

WANTED_DESCRIPTORS = 8192

SWITCH_SECONDS = 0.0005
"""How long a busy thread may hold up the others.

Python's own 5 ms would be paid several times by each short request that meets a
long listing or a large chat body.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Where the daemon reads and keeps things.

    Attributes:
        config: The config directory.
        state: The state directory.
    """

    config: Path
    state: Path


class Daemon:
    """A daemon over one checked document.

    Args:
        document: What to serve.
        paths: Where things are.
        instance: Id of the state directory, which the caller owns.
        environment: Variables of the process.
        redactor: Learns every secret value that is resolved.
        registry: The types that the document was checked with, with a
            supervisor that runs engines.
        supervisor: That supervisor.
    """

    def __init__(
        self,
        document: Document,
        *,
        paths: Paths,
        instance: str,
        environment: Mapping[str, str],
        redactor: Redactor,
        registry: Registry,
        supervisor: Supervisor,
    ) -> None:
        self._document = document
        self._paths = paths
        self._clock = SystemClock()
        self._lifecycle = Lifecycle(self._clock)
        self._journal = Journal(self._clock)
        self._registry = registry
        self._supervisor = supervisor
        self._instance = instance
        self._vaults = {
            scope.id: Vault(
                scope.secret_refs,
                folder=paths.config,
                environment=environment,
                redactor=redactor,
            )
            for scope in document.scopes
        }
        self._revision = revision_of(paths.state)
        self._attempts = Attempts(
            registry=registry,
            vaults=self._vaults,
            environment=environment,
            scratch=Scratch.of_state(paths.state, instance),
            connections=document.connections,
        )
        self._ingresses: list[Ingress] = []

    def start(self) -> None:
        """Clear up after a predecessor, then open every listener.

        Raises:
            StartError: A listener cannot be opened; those that were are closed.
        """
        _raise_descriptor_limit()
        sys.setswitchinterval(SWITCH_SECONDS)
        self._set_umask()
        self._sweep()
        core = Core(
            settings=self._document.settings,
            scopes={scope.id: scope for scope in self._document.scopes},
            attempts=self._attempts,
            pool=AgentPool(self._document.settings.concurrency),
            journal=self._journal,
            lifecycle=self._lifecycle,
            clock=self._clock,
        )
        with ExitStack() as undo:
            undo.callback(self._supervisor.close)
            for scope, entry in self._entries():
                ingress = self._build(core, scope, entry)
                ingress.start()
                undo.callback(ingress.stop)
                self._ingresses.append(ingress)
            undo.pop_all()
        gc.freeze()  # what is there by now stays, and need not be looked at again
        log.info(
            "requests are accepted",
            extra={"action": "ready", "address": " ".join(self.addresses)},
        )

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where the listeners are."""
        return tuple(ingress.address for ingress in self._ingresses)

    def is_well(self, seconds: float) -> bool:
        """Say whether every listener attends to its connections; takes no longer."""
        end = time.monotonic() + seconds
        return all(
            ingress.answers(max(0.0, end - time.monotonic()))
            for ingress in self._ingresses
        )

    def begin_stop(self) -> None:
        """Refuse new turns, decline queued ones, and give running ones the grace."""
        log.info(
            "running turns get %d s; another signal takes that from them",
            SHUTDOWN_GRACE,
            extra={"action": "stopping"},
        )
        self._lifecycle.stop(SHUTDOWN_GRACE)
        for ingress in self._ingresses:
            ingress.close_doors()

    def hurry_stop(self) -> None:
        """Shorten the grace of a stop that has begun to nothing."""
        self._lifecycle.stop(0)

    def finish_stop(self) -> None:
        """Return when nothing of the daemon runs any more; a stop has begun.

        Running turns end within the grace or are ended with their trees, and only
        then are the servers stopped, since a server waits for its busy workers.
        """
        if not self._journal.wait_until_empty(SHUTDOWN_GRACE + ENDING_LIMIT):
            log.error("turns did not end in time", extra={"action": "stopping"})
        for ingress in self._ingresses:
            ingress.stop()
        self._supervisor.close()
        log.info("everything has ended", extra={"action": "stopped"})

    def _set_umask(self) -> None:
        """Set the umask that file lanes want, whatever was inherited (F-PERM-03).

        Of several lanes the widest counts: files of the others are behind the mode
        of their folder. What is private has a mode of its own everywhere.
        """
        masks = [
            entry.config.umask
            for _, entry in self._entries()
            if isinstance(entry.config, FilesConfig)
        ]
        if masks:
            os.umask(functools.reduce(operator.and_, masks))

    def _entries(self) -> Iterator[tuple[Scope, ExtensionEntry]]:
        """Yield what each scope runs: the entries that it declares (B-EXT-09)."""
        for scope in self._document.scopes:
            for entry in scope.extensions:
                if entry.name in scope.own_extensions:
                    yield scope, entry

    def _build(self, core: Core, scope: Scope, entry: ExtensionEntry) -> Ingress:
        context = IngressContext(
            scope=scope,
            secret=self._secrets_of(scope, entry),
            slot=self._slots_of(scope, entry),
            open_turns=lambda terms: Turns(core, scope, terms),
            turns_running=self._journal.running,
            since_turn=self._journal.since_run,
            has_grace=lambda: self._lifecycle.has_grace,
            clock=self._clock,
        )
        return self._registry.ingresses[entry.type].build(entry, context)

    def _secrets_of(
        self, scope: Scope, entry: ExtensionEntry
    ) -> Callable[[str], str | None]:
        """Return what gives an entry the secrets that it names, and no others."""
        vault = self._vaults[scope.id]
        return renewed_secrets(
            entry.secret_names,
            lambda name: vault.resolve((name,))[name],
            revision=self._revision,
            entry=entry.name,
            scope=scope.id,
        )

    def _slots_of(
        self, scope: Scope, entry: ExtensionEntry
    ) -> Callable[[str], str | None]:
        """Return what gives an entry the slots of its connection, and no others."""
        if entry.connection is None:
            return lambda _slot: None
        vault = self._vaults[scope.id]
        connection = self._document.connections[entry.connection]
        return renewed_secrets(
            connection.secret_refs,
            lambda slot: vault.resolve_slot(connection, slot),
            revision=self._revision,
            entry=entry.name,
            scope=scope.id,
        )

    def _sweep(self) -> None:
        """End what a killed predecessor left running, and remove its folders."""
        ended = sweep_processes(f"{self._instance}.", LEFTOVER_GRACE)
        folders: set[Path] = set()
        for scope in self._document.scopes:
            folders |= {
                self._attempts.folder(scope, binding) for binding in scope.bindings
            }
        removed = self._attempts.scratch.sweep(folders)
        if ended or removed:
            log.warning(
                "cleared up after a daemon that was killed",
                extra={"action": "sweep", "count": ended + removed},
            )


def _raise_descriptor_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_DESCRIPTORS
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
