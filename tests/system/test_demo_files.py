"""``demo`` with its file lane: a file in, a turn, a file out."""

from __future__ import annotations

import json
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.demo.lane import CONVERSATION, FOLDER, OUTBOUND, listing
from tests.support.commands import run
from tests.support.demo import demo
from tests.support.service import free_port

OLDER = [
    Path(__file__).with_name(name)
    for name in ("demo_before_the_lane.json", "demo_before_the_lane_photos.json")
]
"""What the command wrote without and with --photos, with chat on port 48480."""

CONTENT = bytes(range(256)) * 4096


@pytest.mark.req("F-CWD-02", "F-IN-05", "F-OUT-03", "F-OUT-04", "F-OUT-07", "F-PERM-10")
def test_a_whole_turn_with_a_file_in_and_a_file_out(tmp_path: Path) -> None:
    saved = f"{CONVERSATION}/0badcafe__scan.bin"
    message = "Store the upload as twin.bin, nothing changed.\n\n"
    message += f"{listing(('scan.bin', saved))}\n\n{OUTBOUND}"
    with demo(tmp_path / "demo", tmp_path) as found:
        assert found.lane("MKCOL", CONVERSATION).status_code == 201
        assert found.lane("PUT", saved, data=CONTENT).status_code == 201
        assert found.lane("PROPFIND", FOLDER, headers={"Depth": "0"}).status_code == 404
        found.answer(message)
        rows = found.lane("PROPFIND", FOLDER, headers={"Depth": "1"})
        assert rows.status_code == 207
        assert f"/{FOLDER}/twin.bin" in rows.text
        assert str(len(CONTENT)) in rows.text
        assert found.lane("GET", f"{FOLDER}/twin.bin").content == CONTENT
        root = found.folder / "folder"
        made = (root, root / CONVERSATION, root / saved)
        modes = [stat.S_IMODE(path.stat().st_mode) for path in made]
        assert modes == [0o700, 0o700, 0o600]
        assert found.lane("DELETE", f"{FOLDER}/").status_code == 204
        assert not (root / FOLDER).exists()


def older_config(chat_port: int, *, photos: bool) -> dict[str, Any]:
    """Return the config as the command made it before it had a lane."""
    text = OLDER[photos].read_text("utf-8")
    config: dict[str, Any] = json.loads(text.replace("48480", str(chat_port)))
    return config


def put_config(folder: Path, config: dict[str, Any]) -> Path:
    (folder / "config").mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    file = folder / "config/config.json"
    file.write_text(json.dumps(config, indent=2) + "\n")
    file.chmod(0o600)
    return file


@pytest.mark.parametrize("photos", [False, True])
def test_a_config_from_before_the_lane_gets_one(tmp_path: Path, photos: bool) -> None:
    folder, port = tmp_path / "demo", free_port()
    file = put_config(folder, older_config(port, photos=photos))
    with demo(folder, tmp_path, port=port) as found:
        assert found.lane("PUT", "a.txt", data=b"a").status_code == 201
        assert "changed by hand" not in found.err.read_text()
    config = json.loads(file.read_text())
    assert "cwd" not in json.dumps(config)
    assert ("demo-photos" in json.dumps(config)) == photos


def test_one_that_was_changed_by_hand_is_kept_without_a_lane(tmp_path: Path) -> None:
    folder, port = tmp_path / "demo", free_port()
    config = older_config(port, photos=False)
    config["scopes"][0]["name"] = "Mine"
    file = put_config(folder, config)
    before = file.read_bytes()
    with demo(folder, tmp_path, port=port) as found:
        assert found.answer("Reply with exactly: mine") == "mine"
        assert f"http://127.0.0.1:{port}" in found.out.read_text()
    assert file.read_bytes() == before


def test_equal_ports_are_refused_and_forgotten(tmp_path: Path) -> None:
    port = str(free_port())
    folder = tmp_path / "demo"
    done = run(
        "demo",
        *("--dir", str(folder)),
        *("--chat-port", port),
        *("--files-port", port),
    )
    assert done.returncode == 2
    assert "chat and files need a port each" in done.stderr
    assert not (folder / "config/config.json").exists()


def test_options_that_do_not_work_are_forgotten(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    with demo(folder, tmp_path):
        pass
    file = folder / "config/config.json"
    before = file.read_bytes()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run("demo", "--dir", str(folder), "--files-port", port)
    assert done.returncode == 1
    assert f"port {port} on 127.0.0.1 is taken" in done.stderr
    assert file.read_bytes() == before
