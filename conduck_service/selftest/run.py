"""Which cases are run against which listeners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from conduck_service.doctor.checks.chat import state_of_port
from conduck_service.doctor.context import DoctorContext, NotMadeError
from conduck_service.selftest.case import Case, Result, Subject, judge, skipped
from conduck_service.selftest.file_cases import FILE_CASES
from conduck_service.selftest.gate_cases import GATE_CASES
from conduck_service.selftest.turn_cases import DEEP_CASES, TURN_CASES
from conduck_service.selftest.wire_cases import WIRE_CASES

_NO_TURN = f"no turn is answered, as {TURN_CASES[0].name} says"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How much is run.

    Attributes:
        deep: Pictures and large requests too.
        files: The file lane too.
    """

    deep: bool = False
    files: bool = False

    @property
    def name(self) -> str:
        """The profile in one word, as the public checker names its own."""
        return ("deep" if self.deep else "basic") + ("+files" if self.files else "")

    def cases(self, subject: Subject) -> tuple[Case, ...]:
        """Return the cases for the listeners of one scope."""
        cases: tuple[Case, ...] = (*GATE_CASES, *WIRE_CASES, *TURN_CASES)
        if self.deep:
            cases += DEEP_CASES
        return cases + FILE_CASES if self.files and subject.files else cases


def subjects(context: DoctorContext, profile: Profile) -> list[Subject]:
    """Return what is put to the test: each chat listener with its lane.

    Raises:
        NotMadeError: A token or a password cannot be had, or a port is another
            program's.
    """
    found = []
    for chat in context.chats:
        lane = context.lane_of(chat.scope) if profile.files else None
        for listener in (chat, lane) if lane else (chat,):
            # No stranger is to be sent a token or a password.
            if state_of_port(context, listener) != "ours":
                raise NotMadeError(f"port {listener.port} is not the service's")
        files = context.signed_in(lane) if lane else None
        owner = context.signed_in(chat)
        found.append(
            Subject(context=context, chat=chat, owner=owner, lane=lane, files=files)
        )
    return found


def run_cases(
    tested: list[Subject],
    profile: Profile,
    begin: Callable[[str], None] = lambda _name: None,
) -> Iterator[Result]:
    """Yield what came of each case, in order."""
    for subject in tested:
        is_dead = False
        for case in profile.cases(subject):
            begin(f"{case.name} {subject.chat.subject}")
            if is_dead and case.needs_turn:
                yield skipped(case, subject, _NO_TURN)
                continue
            result = judge(case, subject)
            if is_dead and result.is_without_turn:
                # A picture is declined without any turn, or needs one.
                result = skipped(case, subject, _NO_TURN)
            is_dead |= result.is_without_turn and case is TURN_CASES[0]
            yield result
