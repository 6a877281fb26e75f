"""Image files of a turn: exact, private, told to the engine, and gone after it."""

from __future__ import annotations

import base64
import hashlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import raw_http
from tests.support.engines import Engines, are_unrelated, engine, serving
from tests.support.service import TOKEN, image, text, user, wait_until

FILE = {"mode": "file"}
ARGUMENT = {"mode": "argument", "flag": "--image"}
WORKING = FILE | {"dir": "working"}
ADD_DIR = FILE | {"dir_argument": "--add-dir"}
BOTH = ARGUMENT | {"dir_argument": "--add-dir", "dir": "working"}
PLACES = ("temp", "working")
LASTING = ["sleep", 60]

ENGINES = {
    "file": engine(["print", "ok"], images=FILE),
    "argument": engine(["print", "ok"], images=ARGUMENT),
    "working": engine(["print", "ok"], images=WORKING),
    "add_dir": engine(["print", "ok"], images=ADD_DIR),
    "both": engine(["print", "ok"], images=BOTH),
}
for _place in PLACES:
    _images = FILE | {"dir": _place}
    ENGINES |= {
        f"fails_{_place}": engine(["print", "half"], ["exit", 1], images=_images),
        f"late_{_place}": engine(LASTING, images=_images, timeout_seconds=1),
        f"lasting_{_place}": engine(LASTING, images=_images, kill_grace_seconds=0),
    }


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    root = tmp_path_factory.mktemp("img_files")
    with serving(root, ENGINES, settings={"concurrency": 0}) as them:
        yield them


def leftovers(engines: Engines) -> list[Path]:
    """Return what lies in the places where image files may lie."""
    return [*engines.service.scratch, *engines.service.folder.iterdir()]


def turn(*parts: dict[str, Any]) -> dict[str, Any]:
    return user([text("look"), *(parts or (image(),))])


def wait_for_record(engines: Engines, model: str, known: int) -> dict[str, Any]:
    """Return the record of an engine that has begun to run."""
    wait_until(lambda: len(engines.stubs[model].records) > known)
    return engines.stubs[model].records[known]


def begin(engines: Engines, model: str) -> tuple[Any, list[Path]]:
    """Send a turn that lasts; return its connection and its image files."""
    known = len(engines.stubs[model].records)
    body = json.dumps({"model": model, "messages": [turn()]}).encode()
    sock = raw_http.connect(engines.service.port)
    sock.sendall(
        raw_http.request("POST", "/v1/chat/completions", token=TOKEN, body=body)
    )
    record = wait_for_record(engines, model, known)
    return sock, [Path(item["path"]) for item in record["files"]]


@pytest.mark.req("C-IMG-22")
@pytest.mark.parametrize("model", ["file", "working", "add_dir"])
def test_a_line_of_the_text_names_a_file_that_the_engine_can_read(
    engines: Engines, model: str
) -> None:
    run = engines.run(model, turn(image(), image()))
    first, second = run.record["files"]
    assert run.prompt == (
        f"look\nAttached image file: {first['path']}\n"
        f"Attached image file: {second['path']}"
    )
    assert first["size"] == second["size"] > 0


@pytest.mark.req("C-IMG-23")
@pytest.mark.parametrize("model", ["file", "argument", "working"])
@pytest.mark.parametrize("size", [1, 2, 3, 300_001])
def test_the_engine_gets_exactly_the_decoded_bytes(
    engines: Engines, model: str, size: int
) -> None:
    data = (bytes(range(256)) * 1200)[:size]
    run = engines.run(model, turn(image(base64.b64encode(data).decode("ascii"))))
    (file,) = run.record["files"]
    assert file["size"] == size
    assert file["sha256"] == hashlib.sha256(data).hexdigest()


@pytest.mark.req("C-IMG-24")
@pytest.mark.parametrize("model", ["file", "argument", "working", "both"])
def test_image_files_are_gone_after_an_answer(engines: Engines, model: str) -> None:
    (file,) = engines.run(model, turn()).record["files"]
    assert not Path(file["path"]).exists()
    assert leftovers(engines) == []


@pytest.mark.req("C-IMG-25")
@pytest.mark.parametrize("place", PLACES)
def test_image_files_are_gone_after_a_failure(engines: Engines, place: str) -> None:
    run = engines.run(f"fails_{place}", turn())
    assert run.status == 502
    assert len(run.records[0]["files"]) == 1
    assert leftovers(engines) == []


@pytest.mark.req("C-IMG-26")
@pytest.mark.parametrize("place", PLACES)
def test_image_files_are_gone_after_the_deadline(engines: Engines, place: str) -> None:
    run = engines.run(f"late_{place}", turn())
    assert run.status == 504
    assert len(run.records[0]["files"]) == 1
    assert leftovers(engines) == []


@pytest.mark.req("C-IMG-26")
@pytest.mark.parametrize("place", PLACES)
def test_image_files_are_gone_when_the_client_leaves(
    engines: Engines, place: str
) -> None:
    sock, (file,) = begin(engines, f"lasting_{place}")
    with sock:
        assert file.exists()
    wait_until(lambda: leftovers(engines) == [])


@pytest.mark.req("C-IMG-27")
@pytest.mark.parametrize("place", PLACES)
def test_image_files_do_not_outlive_a_killed_daemon(tmp_path: Path, place: str) -> None:
    model = f"lasting_{place}"
    with serving(tmp_path, {model: ENGINES[model]}) as them:
        sock, (file,) = begin(them, model)
        with sock:
            assert file.exists()
            them.service.stop(signal.SIGKILL)
            them.service.start()
        assert not file.exists()
        assert leftovers(them) == []


@pytest.mark.req("C-IMG-28")
@pytest.mark.parametrize("model", ["file", "argument", "working"])
def test_image_files_are_open_to_their_owner_only(engines: Engines, model: str) -> None:
    (file,) = engines.run(model, turn()).record["files"]
    assert file["mode"] == 0o600
    assert file["folder_mode"] == 0o700


@pytest.mark.req("C-IMG-28")
@pytest.mark.parametrize("model", ["file", "working"])
def test_scratch_folders_have_random_names(engines: Engines, model: str) -> None:
    runs = [engines.run(model, turn()) for _ in range(2)]
    first, second = (Path(run.record["files"][0]["path"]).parent.name for run in runs)
    assert are_unrelated(first, second)


@pytest.mark.req("C-IMG-29")
def test_each_image_is_an_argument_and_the_text_stays_whole(engines: Engines) -> None:
    run = engines.run("argument", turn(image(), image()))
    first, second = (item["path"] for item in run.record["files"])
    assert run.record["argv"][3:] == ["--image", first, "--image", second]
    assert run.prompt == "look"


@pytest.mark.req("C-IMG-30")
@pytest.mark.parametrize("model", ["file", "working"])
def test_text_keeps_its_order_before_the_names_of_files(
    engines: Engines, model: str
) -> None:
    run = engines.run(model, user([text("a"), image(), text("b")]))
    (file,) = run.record["files"]
    assert run.prompt == f"a\nb\nAttached image file: {file['path']}"


@pytest.mark.req("C-IMG-38")
@pytest.mark.parametrize(
    ("model", "inside"),
    [("file", False), ("argument", False), ("working", True), ("both", True)],
)
def test_image_files_lie_where_config_says(
    engines: Engines, model: str, inside: bool
) -> None:
    (file,) = engines.run(model, turn()).record["files"]
    folder = engines.service.folder.resolve()
    assert (folder in Path(file["path"]).resolve().parents) is inside
    assert leftovers(engines) == []


@pytest.mark.req("C-IMG-39")
@pytest.mark.parametrize("model", ["add_dir", "both"])
def test_the_folder_of_images_is_told_on_image_turns_only(
    engines: Engines, model: str
) -> None:
    run = engines.run(model, turn())
    (file,) = run.record["files"]
    told = run.record["argv"][3:5]
    assert told == ["--add-dir", str(Path(file["path"]).parent)]
    assert engines.run(model, user("look")).record["argv"][3:] == []
