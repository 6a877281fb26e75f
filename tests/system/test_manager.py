"""What systemd hears of a daemon that it runs."""

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
)
from tests.support.stopping import NotAllowedError, stopped, threads_in

LISTEN = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")


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
    names = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", *LISTEN]
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


@pytest.mark.parametrize(
    ("job", "status"),
    [
        ("local.conduck", 0),
        ("homebrew.mxcl.conduck", 0),
        ("application.com.apple.Terminal.1", 78),
        ("0", 78),
    ],
)
def test_launchd_does_not_start_it_anew_for_nothing(
    tmp_path: Path, job: str, status: int
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        service = prepared(
            tmp_path,
            document({"agent": _binding()}, other.getsockname()[1]),
            environment={"XPC_SERVICE_NAME": job},
        )
        assert _end_of(service.environment, tmp_path) == 1  # that may pass
    (tmp_path / "config/config.json").write_text("{")
    done = _ended(service.environment, tmp_path)
    assert done.returncode == status
    assert b"the config cannot be used" in done.stderr
    # Without a place for the state nothing has begun that could be told.
    homeless = {**service.environment, "HOME": "", "XDG_STATE_HOME": ""}
    argv = [*PROGRAM, "serve", "--config", "/nowhere/config.json"]
    done = subprocess.run(
        argv, env=homeless, capture_output=True, timeout=30, check=False
    )
    assert done.returncode == status
    assert b"HOME" in done.stderr


def _binding() -> dict[str, object]:
    return {
        "name": "engine",
        "executor": "command",
        "config": {"argv": ["cat"], "cwd": "../folder"},
    }


def _end_of(environment: dict[str, str], root: Path) -> int:
    return _ended(environment, root).returncode


def _ended(
    environment: dict[str, str], root: Path
) -> subprocess.CompletedProcess[bytes]:
    argv = [*PROGRAM, "serve", "--config", str(root / "config/config.json")]
    return subprocess.run(
        [*argv, "--data-dir", str(root / "state")],
        env=environment,
        capture_output=True,
        timeout=30,
        check=False,
    )


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


@pytest.mark.skipif(sys.platform != "linux", reason="it is about systemd")
def test_it_does_not_beat_while_a_listener_is_stuck(
    tmp_path: Path, manager: Manager
) -> None:
    environment = {"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "300000"}
    engine = stub(tmp_path, ["obey"])
    with running(tmp_path, engine=engine, environment=environment) as service:
        assert manager.hear()["READY"] == "1"
        loops = threads_in(service.process.pid, "ep_poll", "do_epoll_wait")
        if not loops:
            pytest.skip("this machine does not show where threads wait")
        try:
            with stopped(loops[0]):
                # All the other threads run, the one that beats among them.
                assert any(manager.hears_nothing(1) for _ in range(9))
        except NotAllowedError as error:
            pytest.skip(f"no thread can be stopped here: {error}")
        assert manager.hear() == {"WATCHDOG": "1"}
        assert service.chat("Reply with exactly: pong") == "pong"


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
