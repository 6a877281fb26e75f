"""Files of the working folder that an engine would run, whatever it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from conduck_service.executors.presets import PRESETS
from tests.presets.fake import golden, serving_fake
from tests.support.service import user

BARRED = [(preset.name, place) for preset in PRESETS for place in preset.barred]


@pytest.mark.req("C-SEC-07")
@pytest.mark.parametrize(("engine", "place"), BARRED)
def test_no_turn_starts_while_one_is_there(
    engine: str, place: str, tmp_path: Path
) -> None:
    pong = golden(engine, "pong")
    with serving_fake(tmp_path, engine, [pong]) as fake:
        path = fake.service.folder / place
        path.parent.mkdir(exist_ok=True)
        path.symlink_to("nowhere")
        assert fake.service.turn(user("ping")).status_code == 502
        assert fake.runs == []
        path.unlink()
        fake.service.turn(user("ping"))
        assert len(fake.runs) == 1
