"""From a conversation to a prompt."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conduck_service.domain.conversation import (
    EARLIER_IMAGE,
    IMAGE_CARRIER,
    OMITTED_ATTACHMENT,
    Conversation,
    ImagePart,
    Message,
    Part,
    Role,
    TextPart,
    UnsupportedPart,
)
from conduck_service.executors.transcript import build_prompt

A, B, EMPTY = TextPart("a"), TextPart("b"), TextPart("")
UNKNOWN = UnsupportedPart()
PICTURE = ImagePart(b"data:image/png;base64,AAAA", "image/png", 22, 3)
OTHER = ImagePart(b"data:image/png;base64,AAAA", "image/png", 22, 3)
PATHS = {PICTURE: Path("/s/one.png"), OTHER: Path("/s/two.png")}
ONE, TWO = (f"Attached image file: {path}" for path in PATHS.values())


def prompt_of(
    *messages: Message,
    paths: dict[ImagePart, Path] | None = None,
    name_paths: bool = True,
    carrier: bool = False,
) -> str:
    conversation = Conversation(messages)
    return build_prompt(
        conversation, paths or {}, name_paths=name_paths, carrier=carrier
    ).text


def user(*parts: Part) -> Message:
    return Message(Role.USER, parts)


def test_one_message_goes_bare() -> None:
    assert prompt_of(Message(Role.USER, " a\r\n\n")) == " a\r\n\n"
    assert prompt_of(Message(Role.USER, "")) == ""


def test_several_become_a_transcript_with_the_newest_bare() -> None:
    said = [
        Message(Role.USER, "one"),
        Message(Role.USER, "two"),
        Message(Role.ASSISTANT, ""),
        Message(Role.USER, "three\n"),
    ]
    assert prompt_of(*said) == (
        "Conversation so far, oldest message first.\n\n"
        "User:\none\n\nUser:\ntwo\n\nAssistant:\n\n\n"
        "The newest message, from the user and to be answered now, follows.\n\nthree\n"
    )


@pytest.mark.parametrize(
    ("parts", "named", "beside"),
    [
        ((A, PICTURE, B), f"a\nb\n{ONE}", "a\nb"),
        ((PICTURE, A, OTHER), f"a\n{ONE}\n{TWO}", "a"),
        ((PICTURE,), ONE, ""),
        ((EMPTY, PICTURE), ONE, ""),
        ((PICTURE, EMPTY, EMPTY), f"\n\n{ONE}", "\n"),
        ((UNKNOWN, PICTURE), f"{OMITTED_ATTACHMENT}\n{ONE}", OMITTED_ATTACHMENT),
        ((A, EMPTY, UNKNOWN, B), f"a\n\n{OMITTED_ATTACHMENT}\nb", None),
    ],
)
def test_images_of_the_newest_message_come_behind_its_text(
    parts: tuple[Part, ...], named: str, beside: str | None
) -> None:
    assert prompt_of(user(*parts), paths=PATHS) == named
    wanted = named if beside is None else beside
    assert prompt_of(user(*parts), paths=PATHS, name_paths=False) == wanted


@pytest.mark.parametrize(
    ("parts", "disclosed", "named", "beside"),
    [
        ((A, PICTURE, B), f"a\n{EARLIER_IMAGE}\nb", f"a\n{ONE}\nb", "a\nb"),
        ((PICTURE, OTHER), f"{EARLIER_IMAGE}\n{EARLIER_IMAGE}", f"{ONE}\n{TWO}", ""),
        ((EMPTY, PICTURE), f"\n{EARLIER_IMAGE}", f"\n{ONE}", ""),
    ],
)
def test_earlier_images_keep_their_place(
    parts: tuple[Part, ...], disclosed: str, named: str, beside: str
) -> None:
    said = (user(*parts), user(B))
    assert f"User:\n{disclosed}\n\n" in prompt_of(*said)
    assert f"User:\n{named}\n\n" in prompt_of(*said, paths=PATHS)
    text = prompt_of(*said, paths=PATHS, name_paths=False)
    assert f"User:\n{beside}\n\n" in text


@pytest.mark.parametrize(
    ("parts", "stands_in"),
    [
        ((PICTURE,), True),
        ((EMPTY, PICTURE, OTHER), True),
        ((TextPart(" "), PICTURE), False),
        ((A, PICTURE), False),
        ((UNKNOWN, PICTURE), False),
        ((EMPTY,), False),
        ((), False),
    ],
)
def test_a_fixed_sentence_stands_in_for_no_text_beside_an_image(
    parts: tuple[Part, ...], stands_in: bool
) -> None:
    text = prompt_of(user(*parts), paths=PATHS, carrier=True)
    assert text.startswith(IMAGE_CARRIER) is stands_in
    assert IMAGE_CARRIER not in prompt_of(user(*parts), paths=PATHS)


PARTS = st.one_of(st.builds(TextPart, st.text()), st.just(UNKNOWN), st.just(PICTURE))
CONTENT = st.one_of(st.text(), st.lists(PARTS, max_size=4).map(tuple))
MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(Role), CONTENT), min_size=1, max_size=6
)


@given(MESSAGES, st.booleans(), st.booleans())
def test_every_text_is_in_the_prompt_in_order(
    messages: list[Message], name_paths: bool, is_forwarded: bool
) -> None:
    paths = PATHS if is_forwarded else {}
    prompt = prompt_of(*messages, paths=paths, name_paths=name_paths)
    position = 0
    for message in messages:
        for part in message.parts:
            if isinstance(part, TextPart):
                found = prompt.find(part.text, position)
                assert found >= 0
                position = found + len(part.text)
