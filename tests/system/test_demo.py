"""``demo``: from nothing to a service that answers, by one command."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest
import requests

from tests.support.commands import run, tree
from tests.support.demo import demo
from tests.support.service import free_port, image, text, variables


def test_it_makes_what_it_needs_and_nobody_else_can_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    before = os.umask(0)
    try:
        with demo(folder, tmp_path) as found:
            token = found.token
            assert re.fullmatch("[0-9a-f]{64}", token)
            assert found.answer("Reply with exactly: pong") == "pong"
            assert token not in found.out.read_text() + found.err.read_text()
    finally:
        os.umask(before)
    for path in (folder, *folder.rglob("*")):
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path
    names = {str(path.relative_to(folder)) for path in folder.rglob("*")}
    assert names == {
        "config", "config/config.json", "config/secrets.json",
        "folder", "state", "state/instance", "state/lock", "state/scratch",
    }  # fmt: skip
    assert token not in (folder / "config/config.json").read_text()


def test_two_demos_have_different_tokens(tmp_path: Path) -> None:
    tokens = set()
    for name in ("one", "two"):
        with demo(tmp_path / name, tmp_path) as found:
            tokens.add(found.token)
    assert len(tokens) == 2


def test_a_second_run_uses_what_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    with demo(folder, tmp_path) as first:
        token, port, files_port = first.token, first.port, first.files_port
    (folder / "folder/mine.txt").write_text("mine")
    before = tree(folder / "config") | tree(folder / "folder")
    with demo(folder, tmp_path, port=port, files_port=files_port) as second:
        assert second.token == token
        assert second.answer("Reply with exactly: again") == "again"
        assert "changed by hand" not in second.err.read_text()
    assert tree(folder / "config") | tree(folder / "folder") == before


def test_a_config_that_the_command_made_follows_its_options(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    with demo(folder, tmp_path, "--photos") as first:
        token = first.token
    with demo(folder, tmp_path, port=free_port()) as second:
        assert second.token == token
        assert second.answer("Reply with exactly: moved") == "moved"
    models = json.loads((folder / "config/config.json").read_text())
    assert "demo-photos" in json.dumps(models)


def test_a_config_of_ones_own_is_used_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    with demo(folder, tmp_path) as first:
        port = first.port
    file = folder / "config/config.json"
    file.write_text(file.read_text() + "\n")
    before = tree(folder / "config")
    other = free_port()
    with demo(folder, tmp_path, port=other) as second:
        assert "was changed by hand and is used as it is" in second.err.read_text()
        assert str(port) in second.out.read_text()
        assert str(other) not in second.out.read_text()
        second.port = port
        assert second.answer("Reply with exactly: mine") == "mine"
    assert tree(folder / "config") == before


def test_photos_adds_a_model_that_takes_them(tmp_path: Path) -> None:
    with demo(tmp_path / "with", tmp_path, "--photos") as found:
        listed = requests.get(
            f"http://127.0.0.1:{found.port}/v1/models",
            headers={"Authorization": f"Bearer {found.token}"},
            timeout=30,
        ).json()["data"]
        assert [item["id"] for item in listed] == ["demo", "demo-photos"]
        assert [item["conduck"]["input_modalities"] for item in listed] == [
            ["text"],
            ["text", "image"],
        ]
        photo = [text("What is this?"), image()]
        assert "image/png" in found.answer(photo, model="demo-photos")
        blind = found.ask(photo, model="demo")
        assert blind.status_code == 400
        assert blind.json()["error"]["code"] == "image_unsupported"


def test_without_photos_there_is_one_model(tmp_path: Path) -> None:
    with demo(tmp_path / "without", tmp_path) as found:
        config = json.loads((found.folder / "config/config.json").read_text())
        chat, _ = config["scopes"][0]["extensions"]
        assert [item["id"] for item in chat["config"]["models"]] == ["demo"]


@pytest.mark.parametrize(
    "name", ["plain", "two words", 'it\'s "quoted"', "$HOME `id` \\ * ; &", "ünïcode"]
)
def test_the_printed_commands_work(tmp_path: Path, name: str) -> None:
    # The folder is relative, and the commands are pasted somewhere else.
    with demo(Path(name), tmp_path, cwd=tmp_path) as found:
        script = "\n".join(["set -eu", *found.commands()])
        done = subprocess.run(
            ["sh", "-c", script],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env=variables(),
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        first, rest = done.stdout.split("}]}", 1)
        assert '"id":"demo"' in first
        status, answer, rest = rest.strip().split("\n", 2)
        listing, file = rest.rsplit("\n", 1)
        assert status == "401"
        message = json.loads(answer)["choices"][0]["message"]
        assert message == {"role": "assistant", "content": "pong"}
        assert "/hello.txt" in listing
        assert file == "hello"
        assert found.secret("files_password") not in found.out.read_text()


def test_what_others_can_read_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    with demo(folder, tmp_path):
        pass
    for name, mode in (("config/config.json", 0o644), ("config", 0o755), ("", 0o755)):
        path = folder / name
        proper = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode)
        done = run("demo", "--dir", str(folder), "--chat-port", str(free_port()))
        assert done.returncode == 78
        assert f"chmod {proper:o} " in done.stderr
        assert "Traceback" not in done.stderr
        assert stat.S_IMODE(path.stat().st_mode) == mode
        path.chmod(proper)


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    done = run("demo", "--dir", str(file), "--chat-port", str(free_port()))
    assert done.returncode == 78
    assert "it is not a folder" in done.stderr
    assert file.read_text() == "mine"


@pytest.mark.parametrize("port", ["0", "65536", "-1", "web"])
def test_a_port_that_is_none_is_wrong_usage(tmp_path: Path, port: str) -> None:
    done = run("demo", "--dir", str(tmp_path / "demo"), "--chat-port", port)
    assert done.returncode == 2
    assert not (tmp_path / "demo").exists()
