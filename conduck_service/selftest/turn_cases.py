"""Turns as the app and the public checker ask for them."""

from __future__ import annotations

import threading
from typing import Any

from conduck_service.chat.app import MODELS
from conduck_service.chat.settings import MIN_BODY_BYTES
from conduck_service.doctor.checks.chat import large_body
from conduck_service.doctor.pictures import (
    names_digest,
    names_digits,
    random_digits,
)
from conduck_service.doctor.turns import (
    PONG,
    READ_DIGITS,
    assistant,
    has_pong,
    user,
    with_picture,
)
from conduck_service.selftest.case import (
    ENGINE,
    OURS,
    BrokenError,
    Case,
    Subject,
    expect_answer,
    expect_error,
    expect_status,
)

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def _basic(subject: Subject) -> None:
    expect_answer(subject.turn(user(PONG), conduck_selftest=True))


def _framing(subject: Subject) -> None:
    if not has_pong(expect_answer(subject.turn(user(PONG)))):
        raise BrokenError("the word that was asked for is not in the answer")


def _own_models(subject: Subject) -> None:
    for name in subject.ids:
        expect_answer(subject.turn(user(PONG), model=name))


def _parts(subject: Subject) -> None:
    parts = [{"type": "text", "text": PONG}]
    expect_answer(subject.turn(user(parts)))


def _history(subject: Subject) -> None:
    earlier = (user("The word of the day is heron."), assistant("Noted."))
    expect_answer(subject.turn(*earlier, user(PONG)))
    # The app cuts by count, and keeps the words of failed turns.
    expect_answer(subject.turn(assistant("Hello."), user("One."), user(PONG)))


def _history_picture(subject: Subject) -> None:
    photo = with_picture("What is in this photo?", random_digits())
    expect_answer(subject.turn(photo, user(PONG)))


def _stream(subject: Subject) -> None:
    headers = {"Accept": "text/event-stream, application/json"}
    expect_answer(subject.turn(user(PONG), stream=True, headers=headers))


def _metadata(subject: Subject) -> None:
    reply = subject.turn(user(PONG))
    expect_answer(reply)
    value: Any = reply.json
    usage = value.get("usage")
    if usage is None:
        return
    counts = [usage.get(name) for name in _COUNTS if name in usage]
    if not all(type(count) is int and 0 <= count < 1 << 63 for count in counts):
        raise BrokenError("a count of tokens is no whole number")


def _picture(subject: Subject) -> None:
    """The engine reads six digits, or the picture is declined: nothing between."""
    for name in subject.ids:
        engine = subject.context.engine_of(subject.chat, name)
        digits = random_digits()
        reply = subject.turn(with_picture(READ_DIGITS, digits), model=name)
        if engine is None or not subject.context.takes_images(engine):
            expect_error(reply, 400, "image_unsupported")
            continue
        answer = expect_answer(reply)
        if not (names_digits(answer, digits) or names_digest(answer, digits)):
            raise BrokenError("the answer came without the digits of the picture")


def _large(subject: Subject) -> None:
    expect_error(subject.post(large_body(MIN_BODY_BYTES), seconds=120), 400)


def _models_meanwhile(subject: Subject) -> None:
    """The list of models answers while a turn runs."""
    ended: list[int] = []

    def ask() -> None:
        try:
            ended.append(subject.turn(user(PONG)).status)
        except Exception:  # the case tells what came of the list only
            ended.append(0)

    turn = threading.Thread(target=ask)
    turn.start()
    try:
        reply = subject.owner.ask("GET", MODELS, seconds=15)
    finally:
        turn.join()
    expect_status(reply, 200)


TURN_CASES = (
    Case(
        name="chat_basic",
        means="a turn without a model is answered, whatever else the request says",
        remedy=ENGINE,
        run=_basic,
    ),
    Case(
        name="chat_framing",
        means="the engine answers what the person said, not a frame around it",
        remedy="take the persona or the scaffold around the turn away",
        run=_framing,
        needs_turn=True,
    ),
    Case(
        name="own_models",
        means="every advertised model can be chosen",
        remedy=ENGINE,
        run=_own_models,
        needs_turn=True,
    ),
    Case(
        name="text_parts",
        means="a chat that goes on without its photos is answered",
        remedy=ENGINE,
        run=_parts,
        needs_turn=True,
    ),
    Case(
        name="history",
        means="earlier turns reach the engine in any order that the app sends",
        remedy=ENGINE,
        run=_history,
        needs_turn=True,
    ),
    Case(
        name="history_image",
        means="one photo never ends a conversation",
        remedy=ENGINE,
        run=_history_picture,
        needs_turn=True,
    ),
    Case(
        name="stream_sync",
        means="a wish to stream is answered with one body",
        remedy=OURS,
        run=_stream,
        needs_turn=True,
    ),
    Case(
        name="metadata",
        means="the app can read how many tokens were used, where that is told",
        remedy=OURS,
        run=_metadata,
        needs_turn=True,
    ),
)

DEEP_CASES = (
    Case(
        name="image_input",
        means="a photo is seen by the engine, or declined: never passed over",
        remedy="see whether the picture reaches the model; a model without eyes needs "
        "a binding without images",
        run=_picture,
    ),
    Case(
        name="large_body",
        means="twenty photos in one turn arrive",
        remedy="look at the memory of the machine and at its limits",
        run=_large,
    ),
    Case(
        name="models_meanwhile",
        means="Test Connection is green while a turn runs",
        remedy=OURS,
        run=_models_meanwhile,
    ),
)
