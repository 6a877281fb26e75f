"""The public checker against real engines, with a model that does as it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from conduck_service.executors.preset.frame import Channel
from tests.engines.brain import brain
from tests.engines.installed import EACH
from tests.engines.serving import serving
from tests.presets.recording import BY_NAME
from tests.support.checker import run_checker, script_at_hand
from tests.support.service import PASSWORD, TOKEN

pytestmark = [pytest.mark.slow, pytest.mark.timeout(590)]


@pytest.mark.parametrize("engine", EACH)
def test_the_checker_is_green(engine: str, tmp_path: Path) -> None:
    scripts = script_at_hand()
    if not scripts:
        pytest.skip("$CONDUCK_CHECKER names no checker")
    with serving(engine, tmp_path) as bench:
        folder = bench.service.folder
        bench.model.play(
            brain(
                folder,
                lambda path, content: bench.write("I copy it.", path, content),
            )
        )
        home = tmp_path / "checker"
        home.mkdir()
        for profile in ([], ["--deep"], ["--files"]):
            summary, shown = run_checker(
                scripts[0],
                bench.service.url,
                TOKEN,
                home,
                *profile,
                CONDUCK_FILES_URL=f"http://127.0.0.1:{bench.service.files_port}",
                CONDUCK_FILES_DIR=str(folder),
                CONDUCK_FILES_PASS=PASSWORD,
                CONDUCK_FILES_USER="conduck",
            )
            assert summary.exit == 0, shown
            if profile == ["--deep"]:
                sees = BY_NAME[engine].photos.channel is not Channel.NONE
                wanted = "VERIFIED" if sees else "DECLINED"
                assert summary.fields["image_input"] == wanted
