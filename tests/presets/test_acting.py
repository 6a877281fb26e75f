"""Files of an engine without tools: it says what it wants, and we do it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.presets.fake import Fake, serving_fake
from tests.support.lane import DIRECTIVE, new_outbound
from tests.support.service import image, text, user

req = pytest.mark.req


def printed(answer: str, tokens: int = 5) -> dict[str, Any]:
    """Return a run that prints an answer as llm does."""
    result = {"response": answer, "input_tokens": tokens, "output_tokens": tokens}
    return {"stdout": json.dumps([result]).encode().hex()}


def write(path: str, content: str = "seven") -> str:
    return f"```write_file {path}\n{content}\n```"


@contextmanager
def asked(root: Path, *answers: str) -> Iterator[tuple[Fake, str]]:
    """Run a fake llm, and yield it with the folder that the message names."""
    with serving_fake(root, "llm", [printed(answer) for answer in answers]) as fake:
        yield fake, new_outbound()


def replay(fake: Fake, *answers: str) -> None:
    listed = fake.person.parent / "node_modules/runs.json"
    listed.write_text(json.dumps([printed(answer) for answer in answers]), "utf-8")


def turn(fake: Fake, path: str, message: str = "Make it.") -> Any:
    return fake.service.turn(user(f"{message}\n\n{DIRECTIVE}{path}"))


def said(response: Any) -> str:
    assert response.status_code == 200, response.text
    return str(response.json()["choices"][0]["message"]["content"])


@req("F-OUT-01", "F-OUT-14", "C-META-07")
def test_a_file_is_written_and_its_block_taken_out(tmp_path: Path) -> None:
    with asked(tmp_path) as (fake, path):
        replay(fake, f"Here it is.\n{write(f'{path}/seven.txt')}")
        response = turn(fake, path)
        assert said(response) == "Here it is."
        assert (fake.service.folder / path / "seven.txt").read_text() == "seven\n"
        assert response.json()["usage"]["prompt_tokens"] == 5
        (run,) = fake.runs
        assert "Handing files back" in run["stdin"]
        assert run["stdin"].endswith(f"Make it.\n\n{DIRECTIVE}{path}")


def test_a_turn_without_a_folder_is_as_it_was(tmp_path: Path) -> None:
    with asked(tmp_path, write("out/a.txt")) as (fake, _path):
        assert fake.service.chat("Hello") == write("out/a.txt")
        assert fake.runs[0]["stdin"] == "Hello"
        assert not (fake.service.folder / "out").exists()


@req("F-OUT-15", "C-SEC-04")
@pytest.mark.parametrize(
    "place",
    [
        "{path}/../x.txt",
        "/tmp/x.txt",
        "x.txt",
        "{path}/a/x.txt",
        "link/x.txt",
        "{path}/.x",
    ],
)
def test_no_other_place_is_written_to(tmp_path: Path, place: str) -> None:
    with asked(tmp_path) as (fake, path):
        outside = tmp_path / "outside"
        outside.mkdir()
        (fake.service.folder / "link").symlink_to(outside)
        replay(fake, f"So.\n{write(place.format(path=path))}", "I could not.")
        assert said(turn(fake, path)) == "I could not."
        assert list(outside.iterdir()) == []
        assert [
            item for item in fake.service.folder.rglob("*x*") if item.is_file()
        ] == []
        assert "not done: " in fake.runs[1]["stdin"]


@req("F-OUT-15")
def test_a_named_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    with asked(tmp_path) as (fake, _path):
        outside = tmp_path / "outside"
        outside.mkdir()
        (fake.service.folder / "out").symlink_to(outside)
        replay(fake, write("out/x.txt"), "I could not.")
        assert said(turn(fake, "out")) == "I could not."
        assert list(outside.iterdir()) == []


def test_a_file_that_was_sent_is_read_when_asked_for(tmp_path: Path) -> None:
    with asked(tmp_path) as (fake, path):
        (fake.service.folder / "in").mkdir()
        (fake.service.folder / "in/notes.md").write_text("canary-2718")
        replay(fake, "```read_file in/notes.md\n```", "It says 2718.")
        response = turn(fake, path, "What is in it?")
        assert said(response) == "It says 2718."
        assert response.json()["usage"]["prompt_tokens"] == 10
        first, second = (run["stdin"] for run in fake.runs)
        assert second.startswith(first)
        assert "canary-2718" in second


@req("C-SEC-04")
@pytest.mark.parametrize("place", ["../canary.txt", "link.txt", ".hidden/canary.txt"])
def test_nothing_outside_of_the_folder_is_read(tmp_path: Path, place: str) -> None:
    with asked(tmp_path) as (fake, path):
        (tmp_path / "canary.txt").write_text("canary-2718")
        (fake.service.folder / "link.txt").symlink_to(tmp_path / "canary.txt")
        hidden = fake.service.folder / ".hidden"
        hidden.mkdir()
        (hidden / "canary.txt").write_text("canary-2718")
        replay(fake, f"```read_file {place}\n```", "I could not.")
        assert said(turn(fake, path)) == "I could not."
        assert "canary-2718" not in fake.runs[1]["stdin"]


@req("C-RESP-11")
def test_a_model_that_only_wrote_is_asked_for_words(tmp_path: Path) -> None:
    with asked(tmp_path) as (fake, path):
        replay(fake, write(f"{path}/a.txt"), "Done.")
        assert said(turn(fake, path)) == "Done."
        assert "Reply to the message above in words" in fake.runs[1]["stdin"]


@req("C-SEC-14", "C-RESP-14")
def test_there_is_an_end_to_it(tmp_path: Path) -> None:
    with asked(tmp_path) as (fake, path):
        replay(fake, "```read_file in/none.md\n```")
        assert turn(fake, path).status_code == 502
        assert len(fake.runs) == 8
        flood = "\n".join(write(f"{path}/{number}.txt") for number in range(51))
        replay(fake, flood)
        assert turn(fake, path).status_code == 502
        assert not (fake.service.folder / path).exists()


def test_a_photo_is_there_in_every_round(tmp_path: Path) -> None:
    with asked(tmp_path) as (fake, path):
        replay(fake, write(f"{path}/a.txt"), "Done.")
        message = user([text(f"Describe it.\n\n{DIRECTIVE}{path}"), image()])
        assert said(fake.service.turn(message)) == "Done."
        assert [len(run["pictures"]) for run in fake.runs] == [1, 1]
