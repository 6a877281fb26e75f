"""One promise that is put to the test from outside, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from conduck_service.doctor.context import Chat, DoctorContext, Lane
from conduck_service.doctor.peer import Peer, PeerError, Reply
from conduck_service.doctor.turns import (
    COMPLETIONS,
    Message,
    answer_of,
    ask_turn,
)


class Verdict(StrEnum):
    """How a case ended."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    SKIPPED = "skipped"


class BrokenError(Exception):
    """Raised by a case whose promise is not kept; the text says how.

    Attributes:
        remedy: A better one than that of the case, when more is known.
    """

    def __init__(self, how: str, remedy: str = "") -> None:
        super().__init__(how)
        self.remedy = remedy


class NoTurnError(BrokenError):
    """Raised by a case that needs an answer of the engine, which gives none."""


class SkippedError(Exception):
    """Raised by a case that does not apply here; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The listeners that are put to the test.

    Attributes:
        context: The config and its surroundings.
        chat: The chat listener.
        owner: The same, asked with its token.
        lane: The file lane of its scope, if there is one.
        files: The same, asked with its password.
    """

    context: DoctorContext
    chat: Chat
    owner: Peer
    lane: Lane | None = None
    files: Peer | None = None

    @property
    def ids(self) -> list[str]:
        """The advertised models."""
        return [model.id for model in self.chat.config.models]

    def turn(self, *messages: Message, **more: object) -> Reply:
        """Ask for a turn with the token."""
        return ask_turn(self.owner, messages, **more)  # type: ignore[arg-type]

    def post(
        self,
        body: bytes,
        *,
        peer: Peer | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = 30,
    ) -> Reply:
        """POST a body that begins no turn."""
        fields = {"Content-Type": "application/json", **(headers or {})}
        asked = self.owner if peer is None else peer
        return asked.ask("POST", COMPLETIONS, body, headers=fields, seconds=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A promise.

    Attributes:
        name: Stable word for programs.
        means: What it means for the app when it is kept.
        remedy: What to do when it is not.
        run: Puts it to the test; raises BrokenError or SkippedError.
        needs_turn: Whether nothing can come of it while no turn is answered.
    """

    name: str
    means: str
    remedy: str
    run: Callable[[Subject], None]
    needs_turn: bool = False


_NO_TURN = (502, 504)
"""What the app gets when the engine gives no answer, or none in time."""

OURS = "report this as a fault of the service"
ENGINE = (
    "look at the line execution_ended in the log; open-conduit doctor --turn says more"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a case.

    Attributes:
        case: The case.
        subject: The listener.
        verdict: How it ended.
        detail: Why, unless it passed; nothing of a conversation is in it.
        remedy: What to do, when it failed.
        is_without_turn: Whether it failed because the engine gave no answer.
    """

    case: Case
    subject: str
    verdict: Verdict
    detail: str = field(default="")
    remedy: str = ""
    is_without_turn: bool = False


def skipped(case: Case, subject: Subject, why: str) -> Result:
    """Return that a case was not run."""
    return Result(
        case=case, subject=subject.chat.subject, verdict=Verdict.SKIPPED, detail=why
    )


def judge(case: Case, subject: Subject) -> Result:
    """Run a case and return what came of it."""
    verdict, detail, remedy, is_without_turn = Verdict.PASS, "", "", False
    try:
        case.run(subject)
    except BrokenError as error:
        verdict, detail = Verdict.FAIL, str(error)
        remedy = error.remedy or case.remedy
        is_without_turn = isinstance(error, NoTurnError)
    except SkippedError as error:
        verdict, detail = Verdict.SKIPPED, str(error)
    except PeerError as error:
        verdict, detail, remedy = Verdict.FAIL, str(error), case.remedy
    return Result(
        case=case,
        subject=subject.chat.subject,
        verdict=verdict,
        detail=detail,
        remedy=remedy,
        is_without_turn=is_without_turn,
    )


def expect_status(reply: Reply, *wanted: int) -> None:
    """Break the case unless the answer has one of these status codes."""
    if reply.status not in wanted:
        names = " or ".join(map(str, wanted))
        raise BrokenError(f"status {reply.status}, where {names} is due")


def expect_error(reply: Reply, status: int, code: str = "") -> None:
    """Break the case unless the answer is a whole refusal of this kind."""
    expect_status(reply, status)
    if reply.error is None or reply.media_type != "application/json":
        raise BrokenError("the refusal has not the shape of an error")
    if reply.code != code:
        raise BrokenError(
            f"the code is {reply.code or 'missing'}, not {code or 'none'}"
        )
    expect_closing(reply)


def expect_closing(reply: Reply) -> None:
    """Break the case unless the connection ends with the answer."""
    if reply.headers.get("connection", "").lower() != "close":
        raise BrokenError("the connection is not closed after the answer")


def expect_answer(reply: Reply) -> str:
    """Return the words of a good turn, or break the case."""
    answer = answer_of(reply)
    if answer is None:
        words = f"status {reply.status} {reply.code}".strip()
        kind = NoTurnError if reply.status in _NO_TURN else BrokenError
        raise kind(f"no answer that the app can read: {words}")
    expect_closing(reply)
    return answer
