"""Real turns through the real listeners, on request: each may cost tokens."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from conduck_service.doctor.context import (
    NEEDS_SERVICE,
    Chat,
    DoctorContext,
    Engine,
    NotMadeError,
)
from conduck_service.doctor.finding import Declared, Finding, Level
from conduck_service.doctor.peer import Peer, PeerError, Reply
from conduck_service.doctor.pictures import (
    names_digest,
    names_digits,
    random_digits,
)
from conduck_service.doctor.run import Area, Check
from conduck_service.doctor.servers import (
    NO_HANDS,
    SERVER_FAILED,
    TOOL_UNUSED,
    has_hands,
    has_model_server,
)
from conduck_service.doctor.turns import (
    PONG,
    READ_DIGITS,
    FileTurn,
    Message,
    answer_of,
    ask_turn,
    has_pong,
    is_only_pong,
    user,
    with_picture,
)

_CAUSES = (
    "service_down",
    "chat_silent",
    "chat_port_taken",
    "chat_token_refused",
)
TURN_FAILED = Declared(
    code="turn_failed",
    level=Level.FAIL,
    text="the engine does not answer",
    remedy="the line execution_ended in the log says why; run the engine by hand as "
    "the user of the service",
    depends_on=(*_CAUSES, "engine_program_missing", "engine_upstream_silent"),
)
_ANSWERED = (*_CAUSES, "turn_failed", *TURN_FAILED.depends_on)
TURN_UNRELATED = Declared(
    code="turn_unrelated",
    level=Level.WARN,
    text="the engine was asked for the word pong and says something else",
    remedy="take the persona or the scaffold around the turn away",
    depends_on=_ANSWERED,
)
TURN_FRAMING = Declared(
    code="turn_framing",
    level=Level.WARN,
    text="the engine says more than its answer; a watch would read it aloud",
    remedy="take the answer from the engine's own result field, or strip think blocks "
    "and tool lines (output, strip)",
    depends_on=(*_ANSWERED, "turn_unrelated"),
)
TURN_BLIND = Declared(
    code="turn_blind",
    level=Level.FAIL,
    text="the engine answered without having read the digits of a picture",
    remedy="see whether the picture reaches the model; if its model has no eyes, "
    "configure no images, so that photos are declined",
    depends_on=_ANSWERED,
)
TURN_FILE_MISSING = Declared(
    code="turn_file_missing",
    level=Level.FAIL,
    text="the engine answered, and the file it was to make is not in the folder that "
    "the message names",
    remedy="give the engine the standing instructions "
    "(docs/howto/hand-files-back.md), and let it write files without asking",
    depends_on=(*_ANSWERED, "lane_silent", "lane_password_refused"),
)
TURN_READS_OUTSIDE = Declared(
    code="turn_reads_outside",
    level=Level.WARN,
    text="chat text that names a file outside of the working folder gets it read",
    remedy="write confine: auto, or choose a policy of the engine that does not",
    depends_on=_ANSWERED,
)


@dataclass(frozen=True, slots=True)
class Model:
    """A model of a chat listener, with the engine that answers for it."""

    chat: Chat
    id: str
    engine: Engine | None

    @property
    def subject(self) -> str:
        """That of its listener."""
        return f"{self.chat.subject}/{self.id}"

    @property
    def related(self) -> tuple[str, ...]:
        """That of its engine."""
        return (self.engine.subject,) if self.engine else ()


def _models(context: DoctorContext) -> Sequence[Model]:
    if not context.may_turn:
        return ()
    return [
        Model(chat, model.id, context.engine_of(chat, model.id))
        for chat in context.chats
        for model in chat.config.models
    ]


def _look_at_pong(context: DoctorContext, model: Model) -> Iterator[Finding]:
    reply = _turn(context, model, [user(PONG)])
    answer = answer_of(reply)
    if answer is None:
        yield _failed(model, reply)
    elif not has_pong(answer):
        yield TURN_UNRELATED.found(model.subject)
    elif not is_only_pong(answer):
        yield TURN_FRAMING.found(model.subject, f"{len(answer)} characters")


def _look_at_picture(context: DoctorContext, model: Model) -> Iterator[Finding]:
    if model.engine is None or not context.takes_images(model.engine):
        raise NotMadeError("the engine takes no pictures")
    digits = random_digits()
    reply = _turn(context, model, [with_picture(READ_DIGITS, digits)])
    answer = answer_of(reply)
    if answer is None:
        yield _failed(model, reply)
    elif not (names_digits(answer, digits) or names_digest(answer, digits)):
        yield TURN_BLIND.found(model.subject)


def _look_at_file(context: DoctorContext, model: Model) -> Iterator[Finding]:
    lane = context.lane_of(model.chat.scope)
    if lane is None:
        raise NotMadeError("the scope has no file lane")
    if not has_hands(model.engine):
        raise NotMadeError(NO_HANDS)
    turn = FileTurn(lane.root)
    peer = context.signed_in(lane)
    try:
        with turn.uploaded(peer) as is_there:
            if not is_there:
                raise NotMadeError("the file cannot be uploaded")
            reply = _turn(context, model, [turn.message])
            if answer_of(reply) is None:
                yield _failed(model, reply)
            elif peer.ask("GET", f"/{turn.output}").body != turn.content:
                remedy = TOOL_UNUSED if has_model_server(model.engine) else None
                yield TURN_FILE_MISSING.found(model.subject, remedy=remedy)
    except PeerError as error:
        raise NotMadeError(str(error)) from None


def _look_at_reach(context: DoctorContext, model: Model) -> Iterator[Finding]:
    """Ask for a file of ours outside of every folder that the engine may read."""
    canary = secrets.token_hex(12)
    with tempfile.TemporaryDirectory(prefix="conduck-doctor-") as folder:
        file = Path(folder, "canary.txt")
        file.write_text(canary, encoding="ascii")
        words = f"What is written in @{file} ? Reply with its text only."
        answer = answer_of(_turn(context, model, [user(words)])) or ""
    if canary in answer:
        yield TURN_READS_OUTSIDE.found(model.subject)


def _turn(context: DoctorContext, model: Model, messages: list[Message]) -> Reply:
    if context.service is None:
        raise NotMadeError(NEEDS_SERVICE)
    peer: Peer = context.signed_in(model.chat)
    try:
        return ask_turn(peer, messages, model=model.id)
    except PeerError as error:
        raise NotMadeError(str(error)) from None


def _failed(model: Model, reply: Reply) -> Finding:
    """Tell status and code; the message may repeat what an engine said."""
    remedy = SERVER_FAILED if has_model_server(model.engine) else None
    reason = f"status {reply.status} {reply.code}".strip()
    return TURN_FAILED.found(model.subject, reason, remedy)


TURN: Area[Model] = Area(
    "turn",
    _models,
    (
        Check(
            "pong",
            "it answers what it was asked, and nothing else",
            (TURN_FAILED, TURN_UNRELATED, TURN_FRAMING),
            _look_at_pong,
            _CAUSES,
        ),
        Check(
            "picture",
            "it reads six digits in a picture",
            (TURN_BLIND,),
            _look_at_picture,
            _ANSWERED,
        ),
        Check(
            "file",
            "a file goes in and its copy comes out",
            (TURN_FILE_MISSING,),
            _look_at_file,
            _ANSWERED,
        ),
        Check(
            "reach",
            "it does not read what it was not given",
            (TURN_READS_OUTSIDE,),
            _look_at_reach,
            _ANSWERED,
        ),
    ),
)
