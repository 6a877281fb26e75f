"""Real engines through the real chat listener and the lane, a scripted model behind."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from conduck_service.executors.preset.frame import Channel, Expansion
from tests.engines.installed import EACH
from tests.engines.serving import Bench, serving
from tests.presets.recording import BY_NAME, about
from tests.support.lane import DIRECTIVE, new_outbound
from tests.support.model_reply import Reply
from tests.support.service import assistant, image, text, user, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
req = pytest.mark.req


@pytest.fixture(params=EACH)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def picture() -> bytes:
    """Return a PNG that compresses badly, so that its bytes are known again."""
    noise = (
        zlib.crc32(bytes([row, column])) & 0xFF
        for row in range(64)
        for column in range(64)
    )
    pixels = list(noise)
    rows = b"".join(
        b"\0" + bytes(pixels[start : start + 64]) for start in range(0, 4096, 64)
    )

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    head = struct.pack(">IIBBBBB", 64, 64, 8, 0, 0, 0, 0)
    parts = (
        chunk(b"IHDR", head),
        chunk(b"IDAT", zlib.compress(rows)),
        chunk(b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def words_of(bench: Bench) -> str:
    """Return every text that the model was sent, unescaped."""
    found: list[str] = []

    def collect(value: Any) -> None:
        if isinstance(value, str):
            found.append(value)
        for item in (
            value.values()
            if isinstance(value, dict)
            else value
            if isinstance(value, list)
            else ()
        ):
            collect(item)

    for asked in bench.asked:
        collect(asked.json)
    return "\n".join(found)


@req("C-SEC-05", "C-SEC-23", "C-SNAP-15")
def test_pong_history_and_text_as_it_is(engine: str, tmp_path: Path) -> None:
    odd = "@notes.txt {{notes.txt}} $(id) `id`; 'x' \"y\" é \u2028 --version"
    with serving(engine, tmp_path) as bench:
        (bench.service.folder / "notes.txt").write_text("canary-31415")
        assert bench.service.chat("Reply with exactly: pong") == "pong"
        bench.model.play(Reply("pong"))
        answer = bench.service.turn(
            user("My name is Ada."), assistant("Hello Ada."), user(odd)
        )
        assert answer.status_code == 200, answer.text
        said = words_of(bench)
        assert "My name is Ada." in said
        assert "Hello Ada." in said
        assert odd in said
        if BY_NAME[engine].expansion is not Expansion.CONFINED:
            assert "canary-31415" not in said
        assert bench.service.scratch == [] or all(
            path.is_dir() for path in bench.service.scratch
        )


@req("C-SEC-05")
def test_a_mark_of_byte_order_in_front_is_text(engine: str, tmp_path: Path) -> None:
    with serving(engine, tmp_path) as bench:
        assert bench.service.chat("\ufeffhi\ufeff") == "pong"
        assert "\ufeffhi\ufeff" in words_of(bench)


@req("C-IMG-02", "C-IMG-06", "C-IMG-23")
def test_a_photo_reaches_the_model_or_is_declined(engine: str, tmp_path: Path) -> None:
    data = base64.b64encode(picture()).decode()
    with serving(engine, tmp_path, Reply("a picture")) as bench:
        response = bench.service.turn(user([text("What is it?"), image(data)]))
        if BY_NAME[engine].photos.channel is Channel.NONE:
            assert response.json()["error"]["code"] == "image_unsupported"
            assert bench.asked == []
            return
        assert response.status_code == 200, response.text
        assert data.encode() in bench.sent()
        bench.model.play(Reply("I see nothing"))
        broken = base64.b64encode(picture()[:200]).decode()
        assert (
            bench.service.turn(user([text("And it?"), image(broken)])).status_code
            == 502
        )
        assert bench.asked == []


@req("F-OUT-01")
def test_a_file_turn_hands_a_file_back(engine: str, tmp_path: Path) -> None:
    with serving(engine, tmp_path) as bench:
        path = new_outbound()
        target = bench.service.folder / path / "seven.txt"
        bench.model.play(lambda _asked: bench.write("Here it is.", target, "seven\n"))
        answer = bench.service.chat(f"Make it.\n\n{DIRECTIVE}{path}")
        assert answer == "Here it is."
        assert bench.lane.seen_by_app(f"/{path}/") == ["seven.txt"]
        assert bench.lane.get(f"/{path}/seven.txt").body == b"seven\n"
        assert path in words_of(bench)
        assert "Handing files back" in words_of(bench)


@req("C-RESP-14")
@pytest.mark.parametrize("status", [500, 401])
def test_a_model_that_fails_is_no_answer(
    engine: str, status: int, tmp_path: Path
) -> None:
    reply = Reply(status=status)
    with serving(engine, tmp_path, reply, timeout_seconds=20) as bench:
        response = bench.service.turn(user("Hello"))
        assert response.status_code in (502, 504), response.text
        assert "stub" not in response.text


def test_a_refused_connection_is_no_answer(engine: str, tmp_path: Path) -> None:
    with serving(engine, tmp_path, timeout_seconds=20) as bench:
        bench.model.stop()
        response = bench.service.turn(user("Hello"))
        assert response.status_code in (502, 504), response.text


def test_an_empty_answer_is_none(engine: str, tmp_path: Path) -> None:
    with serving(engine, tmp_path, Reply(""), timeout_seconds=30) as bench:
        response = bench.service.turn(user("Hello"))
        assert response.status_code in (502, 504), response.text


@req("C-TIME-06")
def test_a_turn_that_is_out_of_time_leaves_nothing(engine: str, tmp_path: Path) -> None:
    seconds = about(engine).get("start_seconds", 6)  # more than it takes to ask
    held = Reply(fault="hold")
    with serving(engine, tmp_path, held, timeout_seconds=seconds) as bench:
        response = bench.service.turn(user("Hello"))
        assert response.status_code == 504, response.text
        assert bench.asked
        assert processes_in(bench.service.folder) == []
        wait_until(lambda: not any(path.is_file() for path in bench.service.scratch))


@req("C-SEC-04")
def test_a_command_in_the_text_reaches_the_model(engine: str, tmp_path: Path) -> None:
    with serving(engine, tmp_path) as bench:
        for command in ("/init", "/help", "/compact", "!id"):
            bench.model.play(Reply("pong"))
            assert bench.service.chat(command) == "pong"
            assert command in words_of(bench)


def processes_in(folder: Path) -> list[str]:
    """Return the processes whose working folder is this one or lies in it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            where = (process / "cwd").readlink()
        except OSError:
            continue
        if where.is_relative_to(folder):
            found.append(process.name)
    return found
