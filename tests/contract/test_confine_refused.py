"""A start is refused without a confinement that was asked for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from conduck_service.base.processes import Mechanism, Missing, find_mechanism
from conduck_service.base.supervision.wrapping import find_wrapper
from conduck_service.executors.confinement.policy import what_is_in_force
from tests.support import checking, service
from tests.support.checking import check_config
from tests.support.documents import document
from tests.support.service import binding, free_port, running, stub, user

# What a container does that knows no Landlock: one system call of it is missing.
WITHOUT = """
import ctypes, runpy, struct, sys
number = int(sys.argv.pop(1))
load, equal, answer = 0x20, 0x15, 6
lines = [(load, 0, 0, 0), (equal, 0, 1, number)]
lines += [(answer, 0, 0, 0x50026), (answer, 0, 0, 0x7FFF0000)]
code = b"".join(struct.pack("=HBBI", *line) for line in lines)
code = ctypes.create_string_buffer(code)
prctl = ctypes.CDLL(None).prctl
zero = ctypes.c_ulong(0)
prctl(38, ctypes.c_ulong(1), zero, zero, zero)
prctl(22, ctypes.c_ulong(2), struct.pack("HP", 4, ctypes.addressof(code)), zero, zero)
sys.argv[0] = "open-conduit"
runpy.run_module("conduck_service", run_name="__main__", alter_sys=True)
"""
CREATE, RESTRICT, NOTHING = "444", "446", "9999"

FOUND = find_mechanism()
HAS_LANDLOCK = isinstance(FOUND, Mechanism) and FOUND.wrapper is None
needs_landlock = pytest.mark.skipif(
    not HAS_LANDLOCK or find_wrapper("bwrap") is not None,
    reason="needs Landlock to take away, and nothing that stands in for it",
)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what takes a system call from the services to come."""

    def take(number: str) -> None:
        program = (sys.executable, "-c", WITHOUT, number)
        monkeypatch.setattr(service, "PROGRAM", program)
        monkeypatch.setattr(checking, "PROGRAM", program)

    return take


def ask(root: Path, confine: str) -> tuple[int, int, str]:
    """Return the status of a turn, how many engines ran, and the log."""
    engine = stub(root, ["print", "hello"])
    config: dict[str, Any] = {"confine": confine}
    config["confine_write"] = [str(engine.folder)]
    with running(root, engine, **config) as running_service:
        status = running_service.turn(user("hi")).status_code
        return status, len(engine.records), running_service.log


@needs_landlock
def test_required_without_a_way_is_refused_by_the_check(
    tmp_path: Path, without: Any
) -> None:
    engine = stub(tmp_path)
    place = "scopes/0/bindings/0/config/confine"
    without(CREATE)
    for confine, errors in (
        ("required", {place: "unsupported_capability"}),
        ("auto", {}),
    ):
        config = document({"agent": binding(engine, confine=confine)}, free_port())
        assert check_config(tmp_path, config).errors == errors
    without(NOTHING)
    config = document({"agent": binding(engine, confine="required")}, free_port())
    assert check_config(tmp_path, config).errors == {}


@needs_landlock
def test_auto_without_a_way_runs_and_says_so(tmp_path: Path, without: Any) -> None:
    without(CREATE)
    status, runs, log = ask(tmp_path, "auto")
    assert (status, runs) == (200, 1)
    assert " warning confine engines run unconfined" in log


@needs_landlock
@pytest.mark.parametrize("confine", ["auto", "required"])
def test_a_confinement_that_fails_later_is_a_failed_turn(
    tmp_path: Path, without: Any, confine: str
) -> None:
    without(RESTRICT)
    status, runs, log = ask(tmp_path, confine)
    assert (status, runs) == (502, 0)
    assert "(confinement)" in log


def test_folders_that_hold_our_config_are_not_given(tmp_path: Path) -> None:
    engine = stub(tmp_path)
    lists: dict[str, Any] = {
        "confine_read": [".", "..", "../folder", "secrets.json", "../state/private"],
        "confine_write": ["/", "../state"],
    }
    config = document({"agent": binding(engine, confine="auto", **lists)}, free_port())
    base = "scopes/0/bindings/0/config"
    state = str(tmp_path / "state")
    assert check_config(tmp_path, config, OPEN_CONDUIT_DATA_DIR=state).errors == {
        f"{base}/confine_read/0": "invalid_config",
        f"{base}/confine_read/1": "invalid_config",
        f"{base}/confine_read/3": "invalid_config",
        f"{base}/confine_read/4": "invalid_config",
        f"{base}/confine_write/0": "invalid_config",
        f"{base}/confine_write/1": "invalid_config",
    }
    config = document({"agent": binding(engine, **lists)}, free_port())
    assert check_config(tmp_path, config).errors == {}
    work = binding(engine, confine="auto")
    work["config"]["cwd"] = ".."
    verdict = check_config(tmp_path, document({"agent": work}, free_port()))
    assert verdict.errors == {f"{base}/cwd": "invalid_config"}


def test_what_is_in_force_is_told_in_words() -> None:
    assert what_is_in_force("off") == "none: it is off"
    told = what_is_in_force("required")
    if isinstance(FOUND, Missing):
        assert told == f"none: {FOUND.why}"
    else:
        assert told == FOUND.name
        assert told.startswith(("landlock (ABI ", "bubblewrap", "sandbox-exec"))
