"""Images of the current turn: forwarded whole, or the request is refused."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conduck_service.domain.conversation import EARLIER_IMAGE, OMITTED_ATTACHMENT
from tests.support.engines import Engines, engine, serving
from tests.support.service import PIXEL, image, text, user

CAP = 1000
FILE = {"mode": "file"}
ARGUMENT = {"mode": "argument", "flag": "--image"}
FORWARDING = ("file", "argument")

ENGINES = {
    "blind": engine(["print", "saw nothing"]),
    "file": engine(["print", "ok"], images=FILE),
    "argument": engine(["print", "ok"], images=ARGUMENT),
    "png_only": engine(["print", "ok"], images=FILE | {"types": ["image/png"]}),
}


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    root = tmp_path_factory.mktemp("img_current")
    with serving(root, ENGINES, chat={"max_image_bytes": CAP}) as them:
        yield them


def picture(data: bytes, media_type: str = "image/png") -> dict[str, Any]:
    return image(base64.b64encode(data).decode("ascii"), media_type)


def by_url(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def digests(record: dict[str, Any]) -> list[str]:
    return [item["sha256"] for item in record["files"]]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.req("C-IMG-01")
@pytest.mark.parametrize("model", FORWARDING)
def test_every_image_of_the_turn_reaches_the_engine(
    engines: Engines, model: str
) -> None:
    images = [b"first", b"second", b"third"]
    parts = [text("look"), *map(picture, images)]
    record = engines.run(model, user(parts)).record
    assert digests(record) == [digest(data) for data in images]


@pytest.mark.req("C-IMG-01")
@pytest.mark.parametrize("model", FORWARDING)
def test_equal_images_are_forwarded_once_each(engines: Engines, model: str) -> None:
    record = engines.run(model, user([image(), image()])).record
    assert len({item["path"] for item in record["files"]}) == 2


@pytest.mark.req("C-IMG-02", "C-IMG-03")
@pytest.mark.parametrize("words", ["what is this?", ""])
def test_an_engine_without_images_refuses_one_and_is_not_run(
    engines: Engines, words: str
) -> None:
    run = engines.run("blind", user([text(words), image()]))
    assert (run.status, run.code) == (400, "image_unsupported")
    assert run.records == []


@pytest.mark.req("C-IMG-04")
@pytest.mark.parametrize("model", FORWARDING)
def test_an_image_over_the_cap_is_too_large(engines: Engines, model: str) -> None:
    run = engines.run(model, user([text("look"), picture(b"x" * (CAP + 1))]))
    assert (run.status, run.code) == (413, "image_too_large")
    assert run.records == []


@pytest.mark.req("C-IMG-04")
@pytest.mark.parametrize("size", [CAP - 1, CAP])
def test_an_image_up_to_the_cap_is_forwarded(engines: Engines, size: int) -> None:
    data = b"x" * size
    record = engines.run("file", user([text("look"), picture(data)])).record
    assert digests(record) == [digest(data)]


@pytest.mark.req("C-IMG-05")
@pytest.mark.parametrize("model", FORWARDING)
def test_an_ordinary_photo_is_forwarded_not_refused(
    engines: Engines, model: str
) -> None:
    run = engines.run(model, user([text("look"), picture(b"\xff\xd8", "image/jpeg")]))
    assert run.status == 200
    assert digests(run.record) == [digest(b"\xff\xd8")]


@pytest.mark.req("C-IMG-06")
@pytest.mark.parametrize("model", FORWARDING)
def test_an_image_that_cannot_be_written_is_no_answer(
    engines: Engines, model: str
) -> None:
    scratch = engines.service.state / "scratch"
    aside = scratch.rename(scratch.with_name("aside"))
    scratch.touch()  # Nothing can be made in a file, whoever tries.
    try:
        run = engines.run(model, user([text("look"), image()]))
    finally:
        scratch.unlink()
        aside.rename(scratch)
    assert (run.status, run.code) == (502, "upstream_failure")
    assert run.records == []


@pytest.mark.req("C-IMG-07")
@pytest.mark.parametrize("model", FORWARDING)
def test_no_words_stand_in_for_an_image_of_the_turn(
    engines: Engines, model: str
) -> None:
    run = engines.run(model, user([text("what is"), image(), text("this?")]))
    assert EARLIER_IMAGE not in run.prompt
    assert OMITTED_ATTACHMENT not in run.prompt
    lines = run.prompt.split("\n")
    assert lines[:2] == ["what is", "this?"]
    named = [f"Attached image file: {item['path']}" for item in run.record["files"]]
    assert lines[2:] == (named if model == "file" else [])


@pytest.mark.req("C-IMG-08")
@pytest.mark.parametrize("model", FORWARDING)
@pytest.mark.parametrize("sizes", [(9, CAP + 1), (CAP + 1, 9)])
def test_one_image_over_the_cap_refuses_all(
    engines: Engines, model: str, sizes: tuple[int, int]
) -> None:
    run = engines.run(model, user([picture(b"x" * size) for size in sizes]))
    assert (run.status, run.code) == (413, "image_too_large")
    assert run.records == []


VARIANTS = {
    "not base64": f"data:image/png,{PIXEL}",
    "percent coded": "data:image/png,%89PNG",
    "foreign characters": "data:image/png;base64,iVBO*w0K",
    "a blank inside": "data:image/png;base64,iVBO Rw0K",
    "wrong length": "data:image/png;base64,iVBORw0KG",
    "padding inside": "data:image/png;base64,iV==Rw0K",
    "only padding": "data:image/png;base64,====",
    "no payload": "data:image/png;base64,",
    "no comma": "data:image/png;base64",
    "a document": f"data:application/pdf;base64,{PIXEL}",
    "text": "data:text/plain;base64,aGVsbG8=",
    "no media type": f"data:;base64,{PIXEL}",
    "half a media type": f"data:image/;base64,{PIXEL}",
    "nothing": "data:",
}


@pytest.mark.req("C-IMG-20")
@pytest.mark.parametrize("url", VARIANTS.values(), ids=VARIANTS.keys())
def test_what_is_no_base64_image_is_refused_without_a_code(
    engines: Engines, url: str
) -> None:
    run = engines.run("file", user([text("look"), by_url(url)]))
    assert run.status == 400
    assert run.code is None
    assert run.records == []


@pytest.mark.req("C-IMG-21")
@pytest.mark.parametrize(
    "head",
    [
        "DATA:image/png;base64,",
        "Data:image/png;name=x;base64,",
        "DATA:image/png;name=x;base64,",
        "data:image/png;charset=utf-8;name=a.png;base64,",
    ],
)
def test_the_scheme_has_no_case_and_parameters_are_allowed(
    engines: Engines, head: str
) -> None:
    record = engines.run("file", user([text("look"), by_url(head + PIXEL)])).record
    assert digests(record) == [digest(base64.b64decode(PIXEL))]


@pytest.mark.req("C-IMG-31")
@pytest.mark.parametrize("kind", ["image/../../x", "image/x/../../y", "image/..\\x"])
def test_a_media_type_that_is_a_path_is_refused(engines: Engines, kind: str) -> None:
    run = engines.run("file", user([text("look"), image(media_type=kind)]))
    assert run.status == 400
    assert run.records == []


@pytest.mark.req("C-IMG-31")
@pytest.mark.parametrize(
    ("kind", "extension"),
    [
        ("image/png", ".png"),
        ("IMAGE/JPEG", ".jpg"),
        ("image/vnd.any-thing+x", ".bin"),
        ("image/png;name=../../evil.sh", ".png"),
    ],
)
def test_nothing_of_the_request_gets_into_a_file_name(
    engines: Engines, kind: str, extension: str
) -> None:
    parts = [text("look"), image(media_type=kind), image(media_type=kind)]
    record = engines.run("file", user(parts)).record
    files = [Path(item["path"]) for item in record["files"]]
    scratch = engines.service.state.resolve() / "scratch"
    for path in files:
        assert path.parent.parent == scratch
        assert path.suffix == extension
        assert "evil" not in path.name
    assert len({path.stem for path in files}) == 2


@pytest.mark.req("C-IMG-32")
@pytest.mark.parametrize("model", FORWARDING)
def test_an_engine_that_ignores_the_image_still_answers(
    engines: Engines, model: str
) -> None:
    run = engines.run(model, user([text("which digits?"), image()]))
    assert (run.status, run.answer) == (200, "ok")


@pytest.mark.req("C-IMG-33")
def test_each_model_is_judged_by_its_own_engine(engines: Engines) -> None:
    message = user([text("look"), image()])
    refused = engines.run("blind", message)
    assert (refused.status, refused.code) == (400, "image_unsupported")
    assert engines.run("file", message).status == 200


@pytest.mark.req("C-IMG-36")
@pytest.mark.parametrize("kind", ["image/jpeg", "image/webp"])
def test_a_type_that_the_engine_does_not_take_is_refused_by_name(
    engines: Engines, kind: str
) -> None:
    run = engines.run("png_only", user([text("look"), image(media_type=kind)]))
    assert run.status == 400
    assert run.code is None
    assert "image/png" in run.body["error"]["message"]
    assert run.records == []
    assert engines.run("png_only", user([text("look"), image()])).status == 200


def test_the_cap_is_20_mib_unless_the_operator_sets_one(tmp_path: Path) -> None:
    with serving(tmp_path, {"file": ENGINES["file"]}) as them:
        run = them.run("file", user([picture(b"x" * 20_971_521)]))
    assert (run.status, run.code) == (413, "image_too_large")
    assert run.records == []
