"""F-CHECK: the checker's probes of a lane, its own run where it is at hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.checker import run_checker, script_at_hand
from tests.support.demo import demo
from tests.support.file_probes import FileProbes, entries
from tests.support.lane import Lane, serving_files
from tests.support.probes import Probes
from tests.support.service import PASSWORD, TOKEN, free_port, stub

req = pytest.mark.req


@pytest.fixture
def probes(tmp_path: Path) -> Iterator[FileProbes]:
    """The lane of the demo, whose engine takes files and hands some back."""
    folder = tmp_path / "demo"
    with demo(folder, tmp_path) as found:
        lane = Lane(
            found.files_port,
            folder / "folder",
            password=found.secret("files_password"),
        )
        yield FileProbes(Probes(f"http://127.0.0.1:{found.port}", found.token), lane)


@req("F-CHECK-01", "F-CHECK-02")
def test_the_file_profile_is_green_and_leaves_nothing(
    probes: FileProbes, tmp_path: Path
) -> None:
    (probes.lane.folder / "mine").mkdir()
    (probes.lane.folder / "mine" / "own.txt").write_text("mine")
    probes.everything()  # F-CHECK-01
    assert entries(probes.lane.folder) == ["mine", "mine/own.txt"]  # F-CHECK-02
    home = tmp_path / "home"
    home.mkdir()
    for script in script_at_hand():
        url, token = probes.chat.url, probes.chat.token
        summary, shown = run_checker(
            script, url, token, home, "--files", **checker_variables(probes.lane)
        )
        assert summary.exit == 0, shown  # F-CHECK-01
        assert entries(probes.lane.folder) == ["mine", "mine/own.txt"]  # F-CHECK-02


def checker_variables(lane: Lane) -> dict[str, str]:
    return {
        "CONDUCK_FILES_URL": f"http://127.0.0.1:{lane.port}",
        "CONDUCK_FILES_DIR": str(lane.folder),
        "CONDUCK_FILES_PASS": lane.password,
    }


def test_the_file_turn_is_red_for_an_engine_that_makes_nothing(tmp_path: Path) -> None:
    with serving_files(tmp_path, stub(tmp_path, ["print", "Done."])) as service:
        probes = FileProbes(Probes(service.url, TOKEN), Lane.of(service))
        probes.chat.models_envelope()
        with pytest.raises(AssertionError):
            probes.copy_bytes()


def test_the_probes_are_red_for_another_password(tmp_path: Path) -> None:
    port = free_port()
    with serving_files(tmp_path, files={"port": port}) as service:
        lane = Lane(port, service.folder, password=PASSWORD + "x")
        with pytest.raises(AssertionError):
            FileProbes(Probes(service.url, TOKEN), lane).write_through()
