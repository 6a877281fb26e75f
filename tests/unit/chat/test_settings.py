"""What the config of a chat entry may say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conduck_service.chat.settings import CHAT_SPEC, MIN_BODY_BYTES, ChatConfig
from conduck_service.extension.spec import Decoding

SMALLEST: dict[str, Any] = {
    "namespace": "home_chat",
    "scope": "home",
    "port": 8480,
    "token_secret": "chat_token",
    "models": [{"id": "desk"}],
}


def decode(**more: Any) -> tuple[Any, list[str]]:
    """Return the decoded config and the places that are refused."""
    into = Decoding(base=Path("/"))
    config = CHAT_SPEC.decode({**SMALLEST, **more}, (), into)
    return config, [problem.place for problem in into.problems]


def good(**more: Any) -> ChatConfig:
    config, problems = decode(**more)
    assert problems == []
    assert isinstance(config, ChatConfig)
    return config


def test_what_is_left_out_has_its_documented_default() -> None:
    config = good()
    assert config.deadline_seconds == 285
    assert config.start_within_seconds == 5
    assert config.queue_depth == 4
    assert config.max_body_bytes == 64 * 1024 * 1024
    assert config.max_image_bytes == 20 * 1024 * 1024
    assert config.body_idle_seconds == 60
    assert config.header_seconds == 15
    assert config.models[0].input_modalities == ()


def test_the_default_model_is_the_named_one_or_the_first() -> None:
    models = [{"id": "b"}, {"id": "a"}]
    assert good(models=models).default_id == "b"
    assert good(models=models, default_model="a").default_id == "a"


def test_ids_are_unique_and_the_default_is_one_of_them() -> None:
    assert decode(models=[{"id": "a"}, {"id": "a"}])[1] == [""]
    assert decode(default_model="other")[1] == [""]


@pytest.mark.parametrize(
    "model", ["a", "x" * 200, "vendor/x-2:latest", "Mein Assistent", "\u00e9\U0001f600"]
)
def test_ordinary_ids_are_taken(model: str) -> None:
    assert good(models=[{"id": model}]).default_id == model


@pytest.mark.parametrize(
    "model",
    [
        "",
        "x" * 201,
        "a\nb",
        "\x00",
        "a\x7f",
        "\x85",
        "\u200e",
        "\u200f",
        "\u2028",
        "\u2029",
        "\u202e",
        "\u2066",
        "\u2069",
        "\ud800",
        5,
        None,
    ],
)
def test_ids_that_the_app_would_drop_are_refused(model: Any) -> None:
    assert decode(models=[{"id": model}])[1] == ["models/0/id"]


@pytest.mark.parametrize(
    ("key", "lowest", "highest"),
    [
        ("port", 1, 65535),
        ("deadline_seconds", 1, 295),
        ("start_within_seconds", 0, 295),
        ("queue_depth", 0, 1000),
        ("max_body_bytes", MIN_BODY_BYTES, 512 * 1024**2),
        ("body_idle_seconds", 1, 3600),
        ("header_seconds", 1, 3600),
    ],
)
def test_numbers_have_bounds(key: str, lowest: int, highest: int) -> None:
    assert getattr(good(**{key: lowest}), key) == lowest
    assert getattr(good(**{key: highest}), key) == highest
    for wrong in (lowest - 1, highest + 1, "5", True, None):
        assert decode(**{key: wrong})[1] == [key]


def test_the_cap_for_bodies_is_never_below_the_floor() -> None:
    assert MIN_BODY_BYTES == 50 * 1024 * 1024


@pytest.mark.parametrize("key", list(SMALLEST))
def test_the_first_five_keys_are_needed(key: str) -> None:
    into = Decoding(base=Path("/"))
    CHAT_SPEC.decode({k: v for k, v in SMALLEST.items() if k != key}, (), into)
    assert [(item.place, item.code) for item in into.problems] == [
        (key, "missing_field")
    ]


def test_modalities_are_a_choice_of_two_words() -> None:
    said = good(models=[{"id": "a", "input_modalities": ["image", "text"]}])
    assert said.models[0].input_modalities == ("image", "text")
    for wrong in ([], ["audio"], ["text", "text"], "text"):
        places = decode(models=[{"id": "a", "input_modalities": wrong}])[1]
        assert places[0].startswith("models/0/input_modalities")
