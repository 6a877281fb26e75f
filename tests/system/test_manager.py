"""What systemd hears of a daemon that it runs, and what its unit says."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conduck_service.base.notify import ServiceManager
from tests.support.documents import document
from tests.support.service import (
    PROGRAM,
    Stub,
    prepared,
    running,
    stub,
    variables,
)

UNIT = Path(__file__).parents[2] / "systemd/conduck.service"


class Manager:
    """Stands where systemd listens."""

    def __init__(self, sock: socket.socket, address: str) -> None:
        self._sock = sock
        self.address = address

    def hear(self, seconds: float = 20) -> dict[str, str]:
        """Return the next notification."""
        self._sock.settimeout(seconds)
        lines = self._sock.recv(65536).decode().split("\n")
        return dict(line.split("=", 1) for line in lines)

    def hears_nothing(self, seconds: float) -> bool:
        """Say whether it stays silent for so long."""
        try:
            self.hear(seconds)
        except TimeoutError:
            return True
        return False


@contextmanager
def listening(*, abstract: bool = False) -> Iterator[Manager]:
    folder = tempfile.mkdtemp(prefix="notify")  # short: addresses have a limit
    name = f"{folder}/socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(f"\0{name}" if abstract else name)
        yield Manager(sock, f"@{name}" if abstract else name)
    shutil.rmtree(folder)


@pytest.fixture
def manager() -> Iterator[Manager]:
    with listening() as manager:
        yield manager


@pytest.mark.parametrize(
    "abstract",
    [
        False,
        pytest.param(
            True,
            marks=pytest.mark.skipif(sys.platform != "linux", reason="Linux has them"),
        ),
    ],
)
def test_it_says_when_it_is_ready_and_when_it_stops(
    tmp_path: Path, abstract: bool
) -> None:
    with listening(abstract=abstract) as manager:
        environment = {"NOTIFY_SOCKET": manager.address}
        engine = stub(tmp_path, ["obey"])
        with running(tmp_path, engine=engine, environment=environment) as service:
            told = manager.hear()
            assert told["READY"] == "1"
            assert told["STATUS"] == f"serving at {service.url}"
            service.process.send_signal(signal.SIGTERM)
            assert manager.hear()["STOPPING"] == "1"
            assert service.process.wait(20) == 0


def test_no_engine_can_speak_in_its_name(tmp_path: Path, manager: Manager) -> None:
    names = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS"]
    environment = dict.fromkeys(names, "1") | {"NOTIFY_SOCKET": manager.address}
    binding = {
        "name": "engine",
        "executor": "command",
        "config": {"argv": ["sh", "-c", "cat >/dev/null; env"], "cwd": "../folder"},
        "pass_env": names,
    }
    with running(
        tmp_path, bindings={"agent": binding}, environment=environment
    ) as service:
        answer = service.chat("hello")
        assert "PATH=" in answer
        for name in names:
            assert name not in answer


def test_the_reason_of_a_failed_start_is_told(tmp_path: Path, manager: Manager) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        service = prepared(
            tmp_path,
            document({"agent": _binding()}, port),
            environment={"NOTIFY_SOCKET": manager.address},
        )
        assert _end_of(service.environment, tmp_path) == 1  # tried again later
        assert str(port) in manager.hear()["STATUS"]
    (tmp_path / "config/config.json").write_text("{")
    assert _end_of(service.environment, tmp_path) == 78  # not before it is mended
    assert "the config cannot be used" in manager.hear()["STATUS"]


def _binding() -> dict[str, object]:
    return {
        "name": "engine",
        "executor": "command",
        "config": {"argv": ["cat"], "cwd": "../folder"},
    }


def _end_of(environment: dict[str, str], root: Path) -> int:
    argv = [*PROGRAM, "serve", "--config", str(root / "config/config.json")]
    return subprocess.run(
        [*argv, "--data-dir", str(root / "state")],
        env=environment,
        capture_output=True,
        timeout=30,
        check=False,
    ).returncode


def test_it_beats_while_it_is_well(tmp_path: Path, manager: Manager) -> None:
    environment = {"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "300000"}
    engine = stub(tmp_path, ["obey"])
    with running(tmp_path, engine=engine, environment=environment) as service:
        assert manager.hear()["READY"] == "1"
        for _ in range(3):
            assert manager.hear() == {"WATCHDOG": "1"}
        service.process.send_signal(signal.SIGSTOP)
        while not manager.hears_nothing(1):
            pass
        service.process.send_signal(signal.SIGCONT)
        assert manager.hear() == {"WATCHDOG": "1"}


@pytest.mark.parametrize(
    ("pid", "microseconds", "seconds"),
    [("", "2000000", 2.0), ("1", "2000000", None), ("", "0", None), ("", "x", None)],
)
def test_who_wants_a_beat(pid: str, microseconds: str, seconds: float | None) -> None:
    names = {"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": microseconds, "HOME": "/"}
    environment = names | ({"WATCHDOG_PID": pid} if pid else {})
    assert ServiceManager.take(environment).watch_seconds == seconds
    assert environment == {"HOME": "/"}
    names = {"WATCHDOG_PID": str(os.getpid()), "WATCHDOG_USEC": "500000"}
    assert ServiceManager.take({**names, "NOTIFY_SOCKET": "@x"}).watch_seconds == 0.5
    assert ServiceManager.take(names).watch_seconds is None


def test_what_is_not_well_does_not_beat(manager: Manager) -> None:
    ServiceManager(manager.address, 0.03).watch(lambda _seconds: False)
    assert manager.hears_nothing(0.3)


def test_nobody_has_to_listen(tmp_path: Path) -> None:
    environment = {"NOTIFY_SOCKET": str(tmp_path / "nobody"), "WATCHDOG_USEC": "90000"}
    engine = Stub(("sh", "-c", "cat >/dev/null; echo pong"), tmp_path)
    with running(tmp_path, engine=engine, environment=environment) as service:
        assert service.chat("ping") == "pong"


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze"
)
def test_the_unit_is_a_good_one(tmp_path: Path) -> None:
    text = UNIT.read_text("utf-8").replace("%h/.local/bin/open-conduit", PROGRAM[0])
    unit = tmp_path / "conduck.service"
    unit.write_text(text, "utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", str(unit)],
        env=variables() | {"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_unit_waits_longer_than_a_stop_takes() -> None:
    lines = UNIT.read_text("utf-8").splitlines()
    pairs = (line.split("=", 1) for line in lines if line[:1] not in "#[")
    values = dict(pairs)
    assert int(values["TimeoutStopSec"]) >= 10 + 40
    assert values["RestartPreventExitStatus"] == "78"
    assert values["KillMode"] == "mixed"
    assert values["Type"] == "notify"
