"""A chat turn over accept, route, admit and run: the core's TurnPort."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from conduck_service.base.clock import Clock, Deadline
from conduck_service.base.ids import new_id
from conduck_service.domain.conversation import (
    Conversation,
    ImagePart,
    TextPart,
    UnsupportedPart,
)
from conduck_service.domain.event import CHAT_TURN, Event
from conduck_service.domain.execution import FailureCode, OutcomeKind
from conduck_service.domain.scope import Binding, Scope, Settings
from conduck_service.domain.work import CHAT_WORK, Work, WorkState
from conduck_service.extension.executor import Capabilities, Completed, RunResult
from conduck_service.extension.handler import EventData
from conduck_service.extension.ingress import TurnReply, TurnRequest, TurnTerms
from conduck_service.runtime.attempts import Attempts, outcome_of
from conduck_service.runtime.bounds import bounds_of
from conduck_service.runtime.failures import queue_full, told, unavailable
from conduck_service.runtime.journal import Journal, ScopeFullError
from conduck_service.runtime.lifecycle import Lifecycle
from conduck_service.runtime.pools import AgentPool, PoolFullError, Ticket
from conduck_service.runtime.routing import route_event

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.1
"""Between looks at the peer of a turn that waits for a slot."""

UNBOUNDED_TURNS = 32
"""Turns that workers are set aside for when concurrency has no bound."""

_ENDS = {
    OutcomeKind.COMPLETED: WorkState.COMPLETED,
    OutcomeKind.FAILED: WorkState.FAILED,
    OutcomeKind.CANCELLED: WorkState.CANCELLED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """The parts of the core that turns of all entries share."""

    settings: Settings
    scopes: Mapping[str, Scope]
    attempts: Attempts
    pool: AgentPool
    journal: Journal
    lifecycle: Lifecycle
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How turns of one advertised model are done.

    Attributes:
        binding: The binding that its route chose.
        key: Real path of the folder when turns in it must not overlap.
        capabilities: What its engine can take.
    """

    binding: Binding
    key: str | None
    capabilities: Capabilities


class Turns:
    """The TurnPort of one chat entry."""

    def __init__(self, core: Core, scope: Scope, terms: TurnTerms) -> None:
        self._core = core
        self._scope = scope
        self._terms = terms
        self._plans = {model: self._plan(model) for model in terms.models}
        self._bounds = bounds_of(scope, core.scopes, core.settings)
        self._keys = frozenset(plan.key for plan in self._plans.values())

    @property
    def capacity(self) -> int:
        """Turns that can run or wait at once."""
        slots = self._core.settings.concurrency or UNBOUNDED_TURNS
        return slots + self._terms.queue_depth

    def capabilities(self, model_id: str) -> Capabilities:
        """Return what the engine behind an advertised id can take."""
        return self._plans[model_id].capabilities

    def check_enabled(self) -> None:
        """Refuse everything while the scope is switched off."""
        if not self._scope.enabled:
            raise unavailable("this service is switched off at the moment")

    def check_room(self) -> None:
        """Refuse early what could not be queued anyway."""
        if self._core.lifecycle.is_stopping:
            raise unavailable("the service is stopping; try again shortly")
        self.check_enabled()
        if not self._core.pool.has_room(
            self._terms.namespace,
            self._terms.queue_depth,
            self._keys,
            self._bounds.running,
        ):
            raise queue_full()

    def run(self, request: TurnRequest) -> TurnReply:
        """Run one complete turn in this thread and return its answer."""
        self.check_room()
        plan = self._plans[request.model_id]
        ticket = self._enter(plan)
        try:
            work = self._accept(request, plan)
            self._await_slot(work, ticket, request)
            result = self._attempt(work, request, plan)
        finally:
            self._core.pool.leave(ticket)
        if not isinstance(result, Completed):
            raise told(result.code)
        return TurnReply(
            turn_id=work.event_id,
            model_id=request.model_id,
            answer=result.answer,
            usage=result.usage,
            finish=result.finish,
        )

    def _plan(self, model_id: str) -> Plan:
        attempts = self._core.attempts
        route = route_event(
            self._scope, attempts.registry, CHAT_TURN, {"model": model_id}
        )
        assert route is not None, "config check lets no model through without a route"
        binding = self._scope.binding(route.binding)
        capabilities = attempts.executor(binding).capabilities(binding.config)
        folder = str(attempts.folder(self._scope, binding))
        return Plan(
            binding=binding,
            key=folder if capabilities.serialize else None,
            capabilities=capabilities,
        )

    def _enter(self, plan: Plan) -> Ticket:
        try:
            return self._core.pool.enter(
                self._terms.namespace,
                self._terms.queue_depth,
                plan.key,
                self._bounds.running,
            )
        except PoolFullError:
            raise queue_full() from None

    def _accept(self, request: TurnRequest, plan: Plan) -> Work:
        event = Event(
            id=new_id("turn"),
            scope_id=self._scope.id,
            type=CHAT_TURN,
            source=f"conduck/{self._terms.namespace}",
            delivery_id=new_id("delivery"),
            received_at=self._core.clock.now(),
            data=_counts(request),
        )
        work = Work(
            id=new_id("work"),
            event_id=event.id,
            scope_id=self._scope.id,
            kind=CHAT_WORK,
            binding=plan.binding.name,
        )
        try:
            self._core.journal.accept(event, work, self._bounds.open)
        except ScopeFullError:
            raise queue_full() from None
        return work

    def _await_slot(self, work: Work, ticket: Ticket, request: TurnRequest) -> None:
        """Return once the slot is ours; end the Work and raise when it will not be."""
        # Not even a defect in the wait may leave the Work open: stopping waits for it.
        failure: FailureCode | None = FailureCode.OVERLOADED
        try:
            failure = self._wait(ticket, request)
        finally:
            if failure is not None:
                self._core.journal.move(work, WorkState.CANCELLED)
        if failure is not None:
            raise told(failure)

    def _wait(self, ticket: Ticket, request: TurnRequest) -> FailureCode | None:
        """Wait for the slot; return why it was not to be, or None."""
        start_by = Deadline(request.received_at + self._terms.start_within_seconds)
        until = start_by.sooner(self._deadline(request))
        while not ticket.wait(min(LOOK_SECONDS, until.remaining(self._core.clock))):
            if until.is_past(self._core.clock):
                return FailureCode.OVERLOADED
            if (failure := self._withdrawn(request)) is not None:
                return failure
        # Also when the slot came at once: a stop that began after the room was
        # checked may not know of this Work, so it must not start (C-CONC-07).
        return self._withdrawn(request)

    def _withdrawn(self, request: TurnRequest) -> FailureCode | None:
        if request.client_gone():
            return FailureCode.CLIENT_GONE
        return FailureCode.OVERLOADED if self._core.lifecycle.is_stopping else None

    def _deadline(self, request: TurnRequest) -> Deadline:
        return Deadline(request.received_at + self._terms.deadline_seconds)

    def _attempt(self, work: Work, request: TurnRequest, plan: Plan) -> RunResult:
        journal = self._core.journal
        work = journal.move(work, WorkState.RUNNING)
        # A defect in an executor must not leave its Work open.
        end = WorkState.FAILED
        try:
            result = self._core.attempts.run(
                work,
                self._scope,
                plan.binding,
                request.conversation,
                self._watch(request, plan.binding),
            )
            end = _ENDS[outcome_of(result).kind]
        finally:
            journal.move(work, end)
        return result

    def _watch(
        self, request: TurnRequest, binding: Binding
    ) -> Callable[[], FailureCode | None]:
        clock, lifecycle = self._core.clock, self._core.lifecycle
        # C-TIME-14: the shorter of the turn's and the binding's time.
        seconds = binding.timeout_seconds or self._core.settings.timeout_seconds
        deadline = self._deadline(request).sooner(Deadline.after(seconds, clock))

        def interrupted() -> FailureCode | None:
            if lifecycle.must_end:
                return FailureCode.SHUTDOWN
            if deadline.is_past(clock):
                return FailureCode.TIMEOUT
            return FailureCode.CLIENT_GONE if request.client_gone() else None

        return interrupted


def _counts(request: TurnRequest) -> EventData:
    """Return what is recorded of a request: numbers and flags, never content."""
    return {
        "model": request.model_id,
        "messages": len(request.conversation.messages),
        "body_bytes": request.body_bytes,
        "file_transfer": request.conversation.names_folder,
        **_part_counts(request.conversation),
    }


def _part_counts(conversation: Conversation) -> dict[str, int]:
    parts = [part for message in conversation.messages for part in message.parts]
    return {
        "text_parts": sum(isinstance(part, TextPart) for part in parts),
        "image_parts": sum(isinstance(part, ImagePart) for part in parts),
        "earlier_images": sum(len(message.images) for message in conversation.earlier),
        "unknown_parts": sum(isinstance(part, UnsupportedPart) for part in parts),
    }
