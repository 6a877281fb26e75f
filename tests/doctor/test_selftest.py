"""``selftest``: green for the demo, red where a promise is not kept."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from conduck_service.doctor.pictures import picture_of
from tests.doctor.asking import places, selftest
from tests.doctor.test_running import household
from tests.support.commands import run
from tests.support.demo import demo
from tests.support.documents import document
from tests.support.service import (
    TOKEN,
    binding,
    free_port,
    running,
    started,
    stub,
    write_private,
)

WITHOUT_ANSWERS = {
    "chat_framing",
    "own_models",
    "text_parts",
    "history",
    "history_image",
    "stream_sync",
    "metadata",
}


def test_the_demo_is_green_in_every_profile(tmp_path: Path) -> None:
    with demo(tmp_path / "demo", tmp_path) as found:
        plain = run("selftest", *places(found.folder))
        assert plain.returncode == 0, plain.stdout
        summary = plain.stdout.splitlines()[-1]
        assert summary.startswith("OPEN_CONDUIT_SELFTEST schema=1 contract=v1")
        assert "profile=basic " in summary
        assert summary.endswith("failed=0 exit=0")
        assert plain.stderr == ""
        report = selftest(found.folder, "--deep", "--files")
        assert sorted((found.folder / "folder").iterdir()) == []
    assert report.status == 0
    assert {row["level"] for row in report.rows} == {"ok"}
    assert found.token not in plain.stdout + report.text
    assert found.secret("files_password") not in report.text


def test_the_demo_with_photos_proves_that_it_got_the_picture(tmp_path: Path) -> None:
    with demo(tmp_path / "demo", tmp_path, "--photos") as found:
        report = selftest(found.folder, "--deep")
    assert report.codes == set()
    assert picture_of("012345").startswith(b"\x89PNG\r\n\x1a\n")


def test_an_engine_that_fails_is_told_once(tmp_path: Path) -> None:
    with running(tmp_path, stub(tmp_path, ["exit", 3]), files={"port": free_port()}):
        report = selftest(tmp_path, "--deep", "--files")
        done = run("selftest", *places(tmp_path))
    assert report.status == 1
    assert report.codes == {"chat_basic"}
    rows = {row["case"]: row for row in report.rows if row["verdict"] == "skipped"}
    assert rows.keys() == WITHOUT_ANSWERS | {"file_turn"}
    assert {row["detail"] for row in rows.values()} == {
        "no turn is answered, as chat_basic says"
    }
    assert {row["remedy"] for row in rows.values()} == {""}
    assert "→" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("exit=1")
    assert TOKEN not in report.text


def test_an_engine_that_passes_over_pictures_and_files_is_told(tmp_path: Path) -> None:
    images = {"mode": "argument", "flag": "--image"}
    engine = stub(tmp_path, ["obey"])
    with running(tmp_path, engine, files={"port": free_port()}, images=images):
        report = selftest(tmp_path, "--deep", "--files")
    assert report.codes == {"image_input", "file_turn"}


def test_a_picture_for_an_engine_that_fails_is_the_same_cause(tmp_path: Path) -> None:
    images = {"mode": "argument", "flag": "--image"}
    with running(tmp_path, stub(tmp_path, ["exit", 3]), images=images):
        report = selftest(tmp_path, "--deep")
    assert report.codes == {"chat_basic"}
    (row,) = [row for row in report.rows if row["case"] == "image_input"]
    assert row["verdict"] == "skipped"


def test_a_program_gets_an_object_when_it_cannot_begin(tmp_path: Path) -> None:
    household(tmp_path)
    report = selftest(tmp_path)
    assert report.status == 1
    assert report.rows == []
    (tmp_path / "config/config.json").unlink()
    done = run("selftest", "--json", *places(tmp_path))
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert answer["ok"] is False
    assert "the config cannot be used" in answer["refusal"]


def test_it_refuses_to_begin_without_service_lane_or_secret(tmp_path: Path) -> None:
    service = household(tmp_path)
    stopped = run("selftest", *places(tmp_path))
    assert stopped.returncode == 1
    assert "does not run" in stopped.stderr
    with started(service):
        write_private(tmp_path / "config/secrets.json", {})
        done = run("selftest", *places(tmp_path))
        assert done.returncode == 1
        assert "secret cannot be had" in done.stderr
    assert done.stdout == ""


def test_no_stranger_on_the_port_is_sent_the_token(tmp_path: Path) -> None:
    service = household(tmp_path)
    with started(service), socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        engine = binding(stub(tmp_path, ["obey"]))
        write_private(
            tmp_path / "config/config.json", document({"agent": engine}, port)
        )
        done = run("selftest", *places(tmp_path))
        assert done.returncode == 1
        assert f"port {port} is not the service's" in done.stderr
        stranger.settimeout(5)
        with stranger.accept()[0] as peer:
            heard = peer.recv(1 << 16)
    assert b"Authorization" not in heard
