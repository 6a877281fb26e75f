"""What the list says about images, and that saying it changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.answers import assert_json
from tests.support.checking import CHAT, Verdict, check_config
from tests.support.documents import document
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

MODELS: dict[str, tuple[str, list[str] | None]] = {
    "eyes-told": ("argument", ["text", "image"]),
    "eyes-untold": ("argument", None),
    "blind-told": ("none", ["text"]),
    "blind-untold": ("none", None),
}
"""Each model with its images mode and what it signals."""

PICTURE = image()
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "newest": [user([text("what is it?"), PICTURE])],
    "only": [user([PICTURE])],
    "several": [user([text("a"), PICTURE, text("b"), PICTURE])],
    "earlier": [user([text("look"), PICTURE]), assistant("seen"), user("and now?")],
    "unusable": [user([image("%%%")])],
    "remote": [user([{"type": "image_url", "image_url": {"url": "http://x/y.png"}}])],
    "none": [user("hello")],
}


@dataclass(frozen=True, slots=True)
class Gallery:
    """A service with engines that see and that do not, told and untold."""

    service: Service
    engines: dict[str, Stub]


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gallery]:
    root = tmp_path_factory.mktemp("gallery")
    engines = {name: stub(root, ["print", "done"], name=name) for name in MODELS}
    bindings, listed = {}, []
    for name, (mode, signal) in MODELS.items():
        images = {"mode": mode} | ({"flag": "--image"} if mode == "argument" else {})
        engine_name = name.replace("-", "_")
        bindings[name] = binding(engines[name], name=engine_name, images=images)
        listed.append({"id": name} | ({"input_modalities": signal} if signal else {}))
    with running(root, bindings=bindings, chat={"models": listed}) as service:
        yield Gallery(service, engines)


def signals(gallery: Gallery) -> dict[str, Any]:
    entries = assert_json(gallery.service.models())["data"]
    return {entry["id"]: entry.get("conduck") for entry in entries}


@req("C-MODELS-08", "C-MODELS-09", "C-MODELS-10")
def test_an_entry_says_what_its_engine_takes_or_nothing(gallery: Gallery) -> None:
    said = signals(gallery)
    for signal in filter(None, said.values()):  # C-MODELS-08
        assert set(signal) == {"input_modalities"}
        assert isinstance(signal["input_modalities"], list)
        assert set(signal["input_modalities"]) <= {"text", "image"}
    assert said["blind-told"] == {"input_modalities": ["text"]}  # C-MODELS-09
    seen = said["eyes-told"]["input_modalities"]
    assert sorted(seen) == ["image", "text"]  # C-MODELS-10
    assert said["eyes-untold"] is None
    assert said["blind-untold"] is None


@req("C-MODELS-08")
def test_any_other_word_is_refused(tmp_path: Path) -> None:
    wrong = ["audio", "Text", "", 1]
    verdict = checked(tmp_path, {"agent": ("none", ["text", *wrong])})
    place = f"{CHAT}/models/0/input_modalities"
    assert verdict.status == 1
    assert verdict.errors == {
        f"{place}/{index}": "invalid_config" for index in range(1, 5)
    }


@req("C-MODELS-09")
@req("C-MODELS-10")
def test_a_signal_that_is_not_honest_is_refused(tmp_path: Path) -> None:
    models = {
        "a": ("none", ["text", "image"]),
        "b": ("none", ["image"]),
        "c": ("file", ["text"]),
        "d": ("file", ["image"]),
        "fine": ("file", ["image", "text"]),
        "fine_too": ("none", ["text"]),
    }
    verdict = checked(tmp_path, models)
    assert verdict.status == 1
    assert verdict.errors == {
        f"{CHAT}/models/{index}/input_modalities": "unsupported_capability"
        for index in range(4)
    }


def checked(root: Path, models: dict[str, tuple[str, list[Any]]]) -> Verdict:
    """Check a config of models, each with its images mode and its signal."""
    bindings = {
        name: binding(stub(root), name=name, images={"mode": mode})
        for name, (mode, _) in models.items()
    }
    listed = [
        {"id": name, "input_modalities": signal} for name, (_, signal) in models.items()
    ]
    return check_config(root, document(bindings, 8480, chat={"models": listed}))


@req("C-MODELS-11")
@pytest.mark.parametrize("sight", ["eyes", "blind"])
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_signal_changes_nothing_else(gallery: Gallery, sight: str, name: str) -> None:
    told = observed(gallery, f"{sight}-told", name)
    untold = observed(gallery, f"{sight}-untold", name)
    assert told == untold


def observed(gallery: Gallery, model: str, name: str) -> Any:
    """Return what app and engine saw of a turn, without what is random in it."""
    engine = gallery.engines[model]
    engine.clear()
    response = gallery.service.turn(*CONVERSATIONS[name], model=model)
    body = response.json()
    body.pop("id", None)
    assert body.pop("model", model) == model
    runs = [
        (run["stdin"], len(run["argv"]), [file["sha256"] for file in run["files"]])
        for run in engine.records
    ]
    assert (response.status_code == 200) is bool(runs)
    return response.status_code, body, runs
