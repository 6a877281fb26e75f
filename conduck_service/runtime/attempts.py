"""One attempt at a Work: its secrets, its folders, its engine, its end."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conduck_service.base.ids import new_id
from conduck_service.base.processes import MARKER
from conduck_service.domain.conversation import Conversation
from conduck_service.domain.execution import (
    Execution,
    FailureCode,
    Outcome,
    OutcomeKind,
)
from conduck_service.domain.scope import Binding, Connection, Scope
from conduck_service.domain.work import Work
from conduck_service.extension.connection import ConnectionAccess
from conduck_service.extension.executor import (
    Completed,
    ExecutionContext,
    Executor,
    Failed,
    RunResult,
)
from conduck_service.extension.registry import Registry
from conduck_service.runtime.scratch import Scratch, TurnScratch
from conduck_service.secrets.resolve import SecretError
from conduck_service.secrets.vault import Vault

log = logging.getLogger(__name__)

CANCELLED = frozenset({FailureCode.CLIENT_GONE, FailureCode.OVERLOADED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """Runs attempts.

    Attributes:
        registry: Where the executors are.
        vaults: Secrets of each scope by its id.
        environment: The daemon's environment, for pass_env.
        scratch: Where folders of turns are made, and the instance's id.
        connections: Those of the document by id.
    """

    registry: Registry
    vaults: Mapping[str, Vault]
    environment: Mapping[str, str]
    scratch: Scratch
    connections: Mapping[str, Connection] = field(default_factory=dict)

    def executor(self, binding: Binding) -> Executor:
        """Return the executor of a binding."""
        return self.registry.executors[binding.executor].executor

    def folder(self, scope: Scope, binding: Binding) -> Path:
        """Return the working folder of a binding's turns, with links resolved.

        An executor that needs none lets a binding through without one; it gets the
        private folder of the daemon.
        """
        folder = self.executor(binding).folder(binding.config) or scope.folder
        folder = folder or self.scratch.root
        # Not Path.resolve, which raises for a loop of links before Python 3.13.
        return Path(os.path.realpath(folder))

    def run(
        self,
        work: Work,
        scope: Scope,
        binding: Binding,
        conversation: Conversation,
        interrupted: Callable[[], FailureCode | None],
    ) -> RunResult:
        """Run one attempt to its end; nothing of it is left when this returns."""
        execution = Execution(
            id=new_id("exec"),
            work_id=work.id,
            binding=binding.name,
            executor=binding.executor,
        )
        scratch = TurnScratch(self.scratch)
        try:
            secrets = self.vaults[scope.id].resolve(binding.secret_names)
            context = ExecutionContext(
                execution_id=execution.id,
                conversation=conversation,
                folder=self.folder(scope, binding),
                scratch=scratch.folder,
                marker=(MARKER, f"{self.scratch.instance}.{new_id('run')}"),
                host_env=self._host_env(binding),
                secrets=secrets,
                connection=self._connection(scope, binding),
                interrupted=interrupted,
            )
            result = self.executor(binding).run(binding.config, context)
        except SecretError as error:
            result = Failed(FailureCode.SECRET_UNAVAILABLE, str(error))
        finally:
            scratch.remove()
        _record(execution, work, result)
        return result

    def _connection(self, scope: Scope, binding: Binding) -> ConnectionAccess | None:
        """Return the one connection that a binding may act as, if it names one."""
        if binding.connection is None:
            return None
        connection = self.connections[binding.connection]
        return ConnectionAccess(
            config=connection.config,
            secrets=self.vaults[scope.id].resolve_slots(connection),
        )

    def _host_env(self, binding: Binding) -> dict[str, str]:
        return {
            name: self.environment[name]
            for name in binding.pass_env
            if name in self.environment
        }


def outcome_of(result: RunResult) -> Outcome:
    """Return the end of an attempt without its content."""
    if isinstance(result, Completed):
        return Outcome(
            kind=OutcomeKind.COMPLETED, finish=result.finish, usage=result.usage
        )
    kind = OutcomeKind.CANCELLED if result.code in CANCELLED else OutcomeKind.FAILED
    return Outcome(kind=kind, code=result.code)


def _record(execution: Execution, work: Work, result: RunResult) -> None:
    outcome = outcome_of(result)
    reason = (
        f" ({result.detail})" if isinstance(result, Failed) and result.detail else ""
    )
    level = logging.INFO if isinstance(result, Completed) else logging.WARNING
    log.log(
        level,
        "%s%s",
        outcome.kind if outcome.code is None else outcome.code,
        reason,
        extra={
            "action": "execution_ended",
            "turn": work.event_id,
            "execution": execution.id,
        },
    )
