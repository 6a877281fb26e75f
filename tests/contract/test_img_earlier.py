"""Earlier images never refuse a turn, and remote ones are never fetched."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.engines import Engines, engine, serving
from tests.support.service import PIXEL, assistant, image, text, user

# Written out, because the contract fixes it byte for byte.
DISCLOSURE = (
    "An image was attached in this earlier message, but this adapter cannot "
    "inspect it. Do not infer its contents."
)
CAP = 1000
ARGUMENT = {"mode": "argument", "flag": "--image"}
EVERY = ("blind", "file", "argument", "forward", "forward_argument")
DISCLOSING = ("blind", "file", "argument")

ENGINES = {
    "blind": engine(["print", "ok"]),
    "file": engine(["print", "ok"], images={"mode": "file"}),
    "argument": engine(["print", "ok"], images=ARGUMENT),
    "forward": engine(
        ["print", "ok"], images={"mode": "file"}, history_images="forward"
    ),
    "forward_argument": engine(
        ["print", "ok"], images=ARGUMENT, history_images="forward"
    ),
    "forward_png": engine(
        ["print", "ok"],
        images={"mode": "file", "types": ["image/png"]},
        history_images="forward",
    ),
}


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    root = tmp_path_factory.mktemp("img_earlier")
    with serving(root, ENGINES, chat={"max_image_bytes": CAP}) as them:
        yield them


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def assert_nobody_came(listener: socket.socket) -> None:
    with pytest.raises(BlockingIOError):
        listener.accept()


def by_url(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def earlier(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a conversation whose first message holds these parts."""
    return [user(list(parts)), assistant("I see"), user("and now?")]


@pytest.mark.req("C-IMG-09")
@pytest.mark.parametrize("model", DISCLOSING)
def test_an_earlier_image_is_disclosed_in_fixed_words(
    engines: Engines, model: str
) -> None:
    run = engines.run(model, *earlier(text("look"), image()))
    assert f"look\n{DISCLOSURE}\n" in run.prompt
    assert run.record["files"] == []


@pytest.mark.req("C-IMG-09")
@pytest.mark.parametrize("model", ["forward", "forward_argument"])
def test_an_earlier_image_is_forwarded_where_config_says_so(
    engines: Engines, model: str
) -> None:
    run = engines.run(model, *earlier(text("look"), image()))
    assert DISCLOSURE not in run.prompt
    assert len(run.record["files"]) == 1


@pytest.mark.req("C-IMG-09")
def test_an_earlier_image_of_a_type_the_engine_lacks_is_disclosed(
    engines: Engines,
) -> None:
    parts = (image(media_type="image/jpeg"), text("and"), image())
    run = engines.run("forward_png", *earlier(*parts))
    (file,) = run.record["files"]
    assert f"{DISCLOSURE}\nand\nAttached image file: {file['path']}\n" in run.prompt


@pytest.mark.req("C-IMG-10")
@pytest.mark.parametrize("model", DISCLOSING)
def test_the_disclosure_stands_where_the_image_stood(
    engines: Engines, model: str
) -> None:
    run = engines.run(model, *earlier(text("a"), image(), text("b")))
    assert f"a\n{DISCLOSURE}\nb\n" in run.prompt


@pytest.mark.req("C-IMG-11")
def test_each_earlier_image_is_disclosed_separately(engines: Engines) -> None:
    run = engines.run("blind", *earlier(image(), text("a"), image(), image()))
    assert f"{DISCLOSURE}\na\n{DISCLOSURE}\n{DISCLOSURE}\n" in run.prompt
    assert run.prompt.count(DISCLOSURE) == 3


@pytest.mark.req("C-IMG-11")
def test_each_earlier_image_is_forwarded_separately(engines: Engines) -> None:
    run = engines.run("forward", *earlier(image(), text("a"), image()))
    assert len({item["path"] for item in run.record["files"]}) == 2


@pytest.mark.req("C-IMG-12")
@pytest.mark.parametrize("model", EVERY)
def test_an_earlier_image_refuses_nothing(engines: Engines, model: str) -> None:
    assert engines.run(model, *earlier(text("look"), image())).answer == "ok"


@pytest.mark.req("C-IMG-13")
@pytest.mark.parametrize("model", DISCLOSING)
def test_an_earlier_image_over_the_cap_is_disclosed(
    engines: Engines, model: str
) -> None:
    run = engines.run(model, *earlier(text("look"), image("QUFB" * CAP)))
    assert run.status == 200
    assert f"look\n{DISCLOSURE}\n" in run.prompt


BROKEN = {
    "foreign characters": "data:image/png;base64,iVBO*w0K",
    "wrong length": "data:image/png;base64,iVBOR",
    "no payload": "data:image/png;base64,",
    "not base64": "data:image/png,abc",
    "no image": "data:text/plain;base64,aGVsbG8=",
    "empty": "data:",
}


@pytest.mark.req("C-IMG-14")
@pytest.mark.parametrize("model", ["blind", "forward"])
@pytest.mark.parametrize("url", BROKEN.values(), ids=BROKEN.keys())
def test_an_earlier_image_that_cannot_be_decoded_is_disclosed_in_place(
    engines: Engines, model: str, url: str
) -> None:
    run = engines.run(model, *earlier(text("a"), by_url(url), text("b")))
    assert run.status == 200
    assert f"a\n{DISCLOSURE}\nb\n" in run.prompt


@pytest.mark.req("C-IMG-15")
@pytest.mark.parametrize("model", EVERY)
def test_the_answer_is_given_no_disclaimer(engines: Engines, model: str) -> None:
    conversation = earlier(text("look"), image(), by_url("data:,"))
    assert engines.run(model, *conversation).answer == "ok"


@pytest.mark.req("C-IMG-16")
@pytest.mark.parametrize("model", ["file", "argument"])
def test_current_images_are_forwarded_while_earlier_ones_are_disclosed(
    engines: Engines, model: str
) -> None:
    first = user([text("before"), image()])
    run = engines.run(model, first, assistant("yes"), user([text("now"), image()]))
    assert run.status == 200
    assert run.prompt.count(DISCLOSURE) == 1
    assert f"before\n{DISCLOSURE}\n" in run.prompt
    assert len(run.record["files"]) == 1


@pytest.mark.req("C-IMG-30")
@pytest.mark.parametrize("model", ["argument", "forward_argument"])
def test_text_keeps_its_order_beside_an_image_sent_out_of_band(
    engines: Engines, model: str
) -> None:
    run = engines.run(model, user([text("a"), image(), text("b")]))
    assert run.prompt == "a\nb"
    assert len(run.record["files"]) == 1


@pytest.mark.req("C-IMG-30")
def test_earlier_text_keeps_its_order_beside_an_image_sent_out_of_band(
    engines: Engines,
) -> None:
    run = engines.run("forward_argument", *earlier(text("a"), image(), text("b")))
    assert "User:\na\nb\n" in run.prompt
    assert len(run.record["files"]) == 1


@pytest.mark.req("C-IMG-34")
@pytest.mark.parametrize("model", DISCLOSING)
def test_an_image_before_another_user_message_is_an_earlier_one(
    engines: Engines, model: str
) -> None:
    run = engines.run(model, user([text("look"), image()]), user("well?"))
    assert run.status == 200
    assert f"look\n{DISCLOSURE}\n" in run.prompt


@pytest.mark.req("C-IMG-17")
@pytest.mark.parametrize("model", ["blind", "forward"])
@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1:9/cat.png",
        "http://127.0.0.1:9/cat.png",
        "file:///etc/hostname",
        "/etc/hostname",
        "cat.png",
        "ftp://127.0.0.1:9/cat.png",
        "",
        f" data:image/png;base64,{PIXEL}",
    ],
)
def test_an_image_that_is_not_inline_is_malformed(
    engines: Engines, model: str, url: str
) -> None:
    run = engines.run(model, user([text("look"), by_url(url)]))
    assert run.status == 400
    assert run.records == []


@pytest.mark.req("C-IMG-18")
@pytest.mark.parametrize("model", ["blind", "forward"])
@pytest.mark.parametrize("scheme", ["http", "https", "HTTP"])
def test_a_remote_image_is_never_fetched(
    engines: Engines, listener: socket.socket, model: str, scheme: str
) -> None:
    port = listener.getsockname()[1]
    part = by_url(f"{scheme}://127.0.0.1:{port}/cat.png")
    engines.run(model, user([text("look"), part]))
    engines.run(model, *earlier(text("look"), part))
    assert_nobody_came(listener)


@pytest.mark.req("C-IMG-18")
@pytest.mark.parametrize("model", ["blind", "forward"])
def test_a_local_file_is_never_read(
    engines: Engines, tmp_path: Path, model: str
) -> None:
    canary = tmp_path / "canary.png"
    canary.write_text("canary-5e1f", encoding="ascii")
    for url in (canary.as_uri(), str(canary)):
        for conversation in ([user([by_url(url)])], earlier(by_url(url))):
            run = engines.run(model, *conversation)
            assert "canary-5e1f" not in run.response.text
            assert run.records == []
    run = engines.run(model, user(f"look at {canary.as_uri()} and @{canary}"))
    assert "canary-5e1f" not in run.prompt


@pytest.mark.req("C-IMG-19")
@pytest.mark.parametrize("model", ["blind", "forward"])
def test_a_remote_image_is_malformed_in_earlier_messages_too(
    engines: Engines, listener: socket.socket, model: str
) -> None:
    port = listener.getsockname()[1]
    part = by_url(f"https://127.0.0.1:{port}/cat.png")
    run = engines.run(model, *earlier(text("look"), part))
    assert run.status == 400
    assert run.records == []
    assert_nobody_came(listener)
