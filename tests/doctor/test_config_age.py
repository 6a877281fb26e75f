"""When ``doctor`` may say that the running service has read the config."""

from __future__ import annotations

from pathlib import Path

import pytest

from conduck_service.base.redaction import Redactor
from conduck_service.doctor.areas import AREAS
from conduck_service.doctor.context import DoctorContext
from conduck_service.doctor.run import examine
from conduck_service.doctor.service import Service
from conduck_service.extension.registry import Registry


def code(config: Path, service: Service | None) -> str:
    """Return what doctor says of the age of a config."""
    context = DoctorContext(
        config=config,
        state=None,
        environment={},
        service=service,
        document=None,
        problems=(),
        registry=Registry.of(),
        redactor=Redactor(),
    )
    areas = [area for area in AREAS if area.name == "config"]
    (row,) = [row for row in examine(context, areas) if row.check == "config.age"]
    return row.code


@pytest.mark.parametrize(
    ("seconds", "wanted"),
    [(5.0, "ok"), (0.0, "not_made"), (-5.0, "not_made"), (-60.0, "config_newer")],
    ids=["started after", "at once", "shortly before", "long before"],
)
def test_a_change_after_the_start_is_never_told_as_none(
    tmp_path: Path, seconds: float, wanted: str
) -> None:
    config = tmp_path / "config.json"
    config.write_text("{}")
    touched = max(config.stat().st_mtime, config.stat().st_ctime)
    assert code(config, Service(pid=1, started=touched + seconds)) == wanted


def test_without_a_start_nothing_is_said(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text("{}")
    assert code(config, None) == "not_made"
    assert code(config, Service(started=0.0)) == "not_made"
    assert code(tmp_path / "none.json", Service(pid=1, started=1.0)) == "not_made"
