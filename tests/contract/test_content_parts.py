"""Parts that are no text: images beside empty text, and types nobody knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from conduck_service.domain.conversation import IMAGE_CARRIER, OMITTED_ATTACHMENT
from tests.support.answers import answer_of, assert_error
from tests.support.service import (
    Service,
    Stub,
    assistant,
    binding,
    image,
    running,
    stub,
    text,
    user,
)

req = pytest.mark.req

PICTURE = image()
OTHER_PICTURE = image("/9j/4AAQSkZJRgABAQAAAQABAAD/2Q==", "image/jpeg")
CARRIER = "The user sent an image with no accompanying text."
NOTE = "An unsupported attachment was omitted."

IMAGES: dict[str, dict[str, Any]] = {
    "carrier": {
        "images": {"mode": "argument", "flag": "-i"},
        "empty_prompt": "carrier",
    },
    "carrier-file": {"images": {"mode": "file"}, "empty_prompt": "carrier"},
    "accept": {"images": {"mode": "argument", "flag": "-i"}, "empty_prompt": "accept"},
    "accept-file": {"images": {"mode": "file"}},
    "blind": {},
}
"""Config of each engine, by the id that is advertised for it."""

UNKNOWN: tuple[dict[str, Any], ...] = (
    {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA"}},
    {"type": "input_text", "text": "not this type"},
    {"type": "Text", "text": "not this case"},
    {"type": "input_image", "image_url": PICTURE["image_url"]},
    {"type": ""},
)


@dataclass(frozen=True, slots=True)
class Bench:
    """A service with engines of every kind."""

    service: Service
    engines: dict[str, Stub]

    def prompt(self, model: str, *messages: dict[str, Any]) -> str:
        """Run a turn and return what its engine read."""
        engine = self.engines[model]
        engine.clear()
        assert answer_of(self.service.turn(*messages, model=model)) == "done"
        prompt: str = engine.only["stdin"]
        return prompt


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    root = tmp_path_factory.mktemp("parts")
    engines = {name: stub(root, ["print", "done"], name=name) for name in IMAGES}
    bindings = {
        name: binding(engines[name], name=name.replace("-", "_"), **config)
        for name, config in IMAGES.items()
    }
    with running(root, bindings=bindings) as service:
        yield Bench(service, engines)


@req("C-CONTENT-09")
@req("C-CONTENT-10")
@pytest.mark.parametrize("model", ["carrier", "carrier-file", "accept", "accept-file"])
@pytest.mark.parametrize("parts", [[text(""), PICTURE], [PICTURE], [PICTURE, PICTURE]])
def test_an_image_needs_no_text(
    bench: Bench, model: str, parts: list[dict[str, Any]]
) -> None:
    bench.prompt(model, user(parts))
    assert len(bench.engines[model].only["files"]) == parts.count(PICTURE)


@req("C-CONTENT-11")
@pytest.mark.parametrize("parts", [[PICTURE], [text(""), PICTURE], [PICTURE, text("")]])
def test_the_carrier_is_the_whole_text(
    bench: Bench, parts: list[dict[str, Any]]
) -> None:
    assert CARRIER == IMAGE_CARRIER
    assert bench.prompt("carrier", user(parts)) == CARRIER
    first, *paths = bench.prompt("carrier-file", user(parts)).split("\n")
    assert first == CARRIER
    assert [line.partition("/")[0] for line in paths] == ["Attached image file: "]


@req("C-CONTENT-12")
@pytest.mark.parametrize("written", [" ", "\n", "\u200b", "x", "\x00"])
def test_the_carrier_never_touches_what_a_person_wrote(
    bench: Bench, written: str
) -> None:
    assert bench.prompt("carrier", user([text(written), PICTURE])) == written
    prompt = bench.prompt("carrier-file", user([PICTURE, text(written)]))
    assert prompt.startswith(f"{written}\nAttached image file: /")
    assert CARRIER not in prompt


@req("C-CONTENT-12")
def test_the_carrier_leaves_alone_a_text_among_empty_ones(bench: Bench) -> None:
    parts = [text(""), PICTURE, text(" ")]
    assert bench.prompt("carrier", user(parts)) == "\n "


@req("C-CONTENT-12")
def test_the_carrier_leaves_alone_an_attachment_that_is_noted(bench: Bench) -> None:
    prompt = bench.prompt("carrier", user([PICTURE, UNKNOWN[0]]))
    assert prompt == NOTE


@req("C-CONTENT-13")
@pytest.mark.parametrize("parts", [[PICTURE], [text(""), PICTURE]])
def test_an_engine_that_accepts_an_empty_prompt_gets_one(
    bench: Bench, parts: list[dict[str, Any]]
) -> None:
    assert bench.prompt("accept", user(parts)) == ""
    assert CARRIER not in bench.prompt("accept-file", user(parts))


@req("C-CONTENT-14")
@pytest.mark.parametrize("content", ["", [text("")], [text(""), text("")]])
def test_empty_text_without_an_image_stays_empty(bench: Bench, content: Any) -> None:
    assert bench.prompt("carrier", user(content)).strip("\n") == ""
    history = (user([PICTURE]), assistant(""), user(content))
    assert CARRIER not in bench.prompt("carrier", *history)


@req("C-CONTENT-15")
def test_the_carrier_is_the_same_every_time(bench: Bench) -> None:
    turns = ([PICTURE], [text(""), OTHER_PICTURE], [PICTURE, OTHER_PICTURE])
    prompts = [bench.prompt("carrier", user(parts)) for parts in turns]
    assert prompts == [CARRIER] * 3


@req("C-CONTENT-16")
@req("C-CONTENT-17")
@pytest.mark.parametrize("unknown", UNKNOWN, ids=lambda part: part["type"] or "empty")
def test_an_unknown_part_is_noted_in_its_place(
    bench: Bench, unknown: dict[str, Any]
) -> None:
    assert NOTE == OMITTED_ATTACHMENT
    parts = [text("a"), unknown, text("b")]
    prompt = bench.prompt("blind", user(parts), user([unknown, unknown]))
    assert f"User:\na\n{NOTE}\nb\n\n" in prompt
    assert prompt.endswith(f"\n\n{NOTE}\n{NOTE}")
    assert bench.prompt("accept", user(parts)) == f"a\n{NOTE}\nb"


@req("C-CONTENT-18")
def test_the_note_is_the_same_every_time(bench: Bench) -> None:
    turns = [user([UNKNOWN[0]]), user([UNKNOWN[1]]), user([UNKNOWN[0]])]
    assert [bench.prompt("blind", turn) for turn in turns] == [NOTE] * 3


@req("C-CONTENT-19")
@pytest.mark.parametrize(
    "parts",
    [
        [PICTURE],
        [text("what is it?"), PICTURE],
        [PICTURE, UNKNOWN[0]],
        [text("a"), PICTURE, text("b"), OTHER_PICTURE],
    ],
)
def test_an_image_of_the_current_turn_is_never_noted(
    bench: Bench, parts: list[dict[str, Any]]
) -> None:
    engine = bench.engines["blind"]
    engine.clear()
    for messages in ([user(parts)], [user("one"), assistant("two"), user(parts)]):
        response = bench.service.turn(*messages, model="blind")
        assert_error(response, 400, "image_unsupported")
    assert engine.records == []


@req("C-CONTENT-19")
@pytest.mark.parametrize(
    "broken", [image("%%%"), image(""), image(media_type="text/x")]
)
def test_a_broken_image_of_the_current_turn_is_never_noted(
    bench: Bench, broken: dict[str, Any]
) -> None:
    engine = bench.engines["accept"]
    engine.clear()
    response = bench.service.turn(user([text("a"), PICTURE, broken]), model="accept")
    assert_error(response, 400)
    assert engine.records == []


@req("C-CONTENT-20")
@pytest.mark.parametrize(
    "part",
    [
        {"text": "x"},
        {"type": 7},
        {"type": None, "text": "x"},
        {"type": ["text"], "text": "x"},
        {"type": True},
        {},
        {"image_url": PICTURE["image_url"]},
    ],
)
def test_a_part_without_a_type_is_malformed(bench: Bench, part: dict[str, Any]) -> None:
    engine = bench.engines["accept"]
    engine.clear()
    for messages in ([user([part])], [user([text("a"), part])]):
        assert_error(bench.service.turn(*messages, model="accept"), 400)
    assert engine.records == []


@req("C-CONTENT-26")
@pytest.mark.parametrize("unknown", UNKNOWN, ids=lambda part: part["type"] or "empty")
def test_an_unknown_part_never_blocks_a_conversation(
    bench: Bench, unknown: dict[str, Any]
) -> None:
    history = (user([unknown]), assistant([unknown]))
    prompt = bench.prompt("blind", *history, user("go on"))
    assert f"User:\n{NOTE}\n\nAssistant:\n{NOTE}\n\n" in prompt
    assert prompt.endswith("\n\ngo on")
