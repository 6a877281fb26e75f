"""What lies in the working folder is a file, and never a setting of the next turn."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.engines.installed import EACH
from tests.engines.plants import COMMON, OF_ENGINE
from tests.engines.serving import serving
from tests.presets.recording import BY_NAME
from tests.support.model_reply import Reply
from tests.support.model_server import model_server
from tests.support.service import user

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def plant(folder: Path, name: str, text: str, thief: str) -> None:
    """Write one of the files."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = text.replace("{folder}", str(folder)).replace("{thief}", thief)
    path.write_text(text, "utf-8")


def plant_repository(folder: Path, variables: Mapping[str, str]) -> None:
    """Make a repository that runs a program whenever git compares a file."""
    runs = f"touch {folder}/ran-git"

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=folder, env=variables, check=True)

    git("init", "-q")
    (folder / ".gitattributes").write_text("*.tracked filter=x diff=x\n")
    (folder / "a.tracked").write_text("one")
    git("add", "a.tracked", ".gitattributes")
    (folder / "a.tracked").write_text("two")
    for name in ("clean", "smudge", "process"):
        git("config", f"filter.x.{name}", f"{runs}-{name}; cat")
    git("config", "diff.x.textconv", f"{runs}-textconv; cat")
    git("config", "diff.external", f"{runs}-diff")
    git("config", "core.fsmonitor", f"{runs}-fsmonitor")
    git("config", "core.hooksPath", str(folder / "hooks"))
    hook = folder / "hooks/post-index-change"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\n{runs}-hook\n")
    hook.chmod(0o755)


@pytest.mark.req("C-SEC-07")
@pytest.mark.parametrize("engine", EACH)
def test_no_file_of_the_folder_runs_or_steers_the_engine(
    engine: str, tmp_path: Path
) -> None:
    """Confinement is off: it would hide what the engine itself starts."""
    barred = BY_NAME[engine].barred
    plants = {**COMMON, **OF_ENGINE.get(engine, {})}
    with (
        model_server(Reply("stolen")) as thief,
        serving(engine, tmp_path, confine="off") as bench,
    ):
        folder = bench.service.folder
        plant_repository(folder, bench.service.environment)
        for name, text in plants.items():
            if not name.startswith(barred or ("\0",)):
                plant(folder, name, text, thief.url)
        written = folder / "n.txt"
        bench.model.play(lambda _asked: bench.write("Done.", written, "x\n"))
        response = bench.service.turn(user("Write n.txt."))
        assert response.status_code == 200, response.text
        assert sorted(path.name for path in folder.glob("ran-*")) == []
        assert thief.asked == []
        for name, text in plants.items():
            if name in barred:
                plant(folder, name, text, thief.url)
                bench.model.play(Reply("pong"))
                assert bench.service.turn(user("ping")).status_code == 502
                assert bench.asked == []
                (folder / name).unlink()
        assert sorted(path.name for path in folder.glob("ran-*")) == []
