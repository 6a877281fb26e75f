"""The three servers, each over its own copy of the same folder on the same disk."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.lane.raw import AHEAD_BYTES, PASSWORD, USER, Connection, head_of
from tests.support.dav_tools import lane_document
from tests.support.service import free_port, variables, wait_until, write_private

OURS, RCLONE, STOCK = "ours", "rclone", "stock"
LISTED, OUTPUTS = 1000, 20
MIB = 1 << 20
BALLAST = "ballast"


@dataclass(slots=True, kw_only=True)
class Server:
    """A running server.

    Attributes:
        name: Which of the three.
        port: Of 127.0.0.1.
        folder: What it serves.
        process: The program as it was started.
        highest: Largest peak that was forgotten by :meth:`forget_peak`, in bytes.
    """

    name: str
    port: int
    folder: Path
    process: subprocess.Popen[bytes]
    highest: int = 0

    @property
    def ballast(self) -> Path:
        """A file beside all servers, see :class:`tests.bench.lane.raw.Ballast`."""
        return self.folder.parents[1] / BALLAST

    @property
    def pids(self) -> tuple[int, ...]:
        """Its process and all that descend from it."""
        found, at = [self.process.pid], 0
        while at < len(found):
            for task in Path(f"/proc/{found[at]}/task").iterdir():
                children = (task / "children").read_text("ascii")
                found += [int(child) for child in children.split()]
            at += 1
        return tuple(found)

    def memory(self, field: str) -> int:
        """Return VmHWM (peak) or VmRSS (now) of all processes together in bytes."""
        total = 0
        for pid in self.pids:
            lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
            total += sum(int(line.split()[1]) for line in lines if field in line)
        return total * 1024

    @property
    def peak(self) -> int:
        """The most memory that it ever had, in bytes."""
        return max(self.highest, self.memory("VmHWM"))

    def forget_peak(self) -> None:
        """Begin a new peak; the old one stays in :attr:`highest`."""
        self.highest = self.peak
        for pid in self.pids:
            Path(f"/proc/{pid}/clear_refs").write_text("5", "ascii")


def fill(folder: Path) -> None:
    """Make the files that are asked for."""
    for name, number in (("d1000", LISTED), ("out", OUTPUTS)):
        (folder / name).mkdir()
        for index in range(number):
            (folder / name / f"report-{index:04}.txt").write_bytes(bytes(4096))
    for name in ("put", "fresh"):
        (folder / name).mkdir()
    (folder / "m1").write_bytes(bytes(MIB))
    with (folder / "m100").open("wb") as large:
        for _ in range(100):
            large.write(bytes(MIB))


@contextmanager
def started(root: Path, rclone: Path | None) -> Iterator[list[Server]]:
    """Run all servers for the block, in the order in which they take turns.

    Args:
        root: An empty folder on the disk that is measured.
        rclone: The program; None leaves it out.
    """
    with (root / BALLAST).open("wb") as ballast:
        for _ in range(1024 + AHEAD_BYTES // MIB):
            ballast.write(bytes(MIB))
    with ExitStack() as stack:
        names = [OURS, *([RCLONE] if rclone else []), STOCK]
        servers = []
        for name in names:
            (root / name / "folder").mkdir(parents=True)
            for folder in (root / name, root / name / "folder"):
                folder.chmod(0o700)
            fill(root / name / "folder")
            port = free_port()
            argv, more = _argv(name, root / name, port, rclone)
            server = _start(name, argv, root / name, port, more)
            stack.callback(_stop, server.process)
            wait_until(lambda server=server: _answers(server), 20)  # type: ignore[misc]
            servers.append(server)
        yield servers


def _argv(
    name: str, root: Path, port: int, rclone: Path | None
) -> tuple[list[str], dict[str, str]]:
    if name == OURS:
        return _our_argv(root, port), {}
    if name == STOCK:
        return _stock_argv(root, port), {}
    address = ["--addr", f"127.0.0.1:{port}", "--user", USER, "--pass", PASSWORD]
    command = [str(rclone), "serve", "webdav", str(root / "folder"), *address]
    return [*command, "--dir-cache-time", "1s"], {"RCLONE_CONFIG": "/dev/null"}


def _our_argv(root: Path, port: int) -> list[str]:
    for name in ("config", "state"):
        (root / name).mkdir(mode=0o700)
    config = root / "config/config.json"
    write_private(config, lane_document(port))
    write_private(root / "config/secrets.json", {"files_password": PASSWORD})
    program = Path(sys.executable).with_name("open-conduit")
    options = ["--config", str(config), "--data-dir", str(root / "state")]
    return [str(program), "serve", *options]


def _stock_argv(root: Path, port: int) -> list[str]:
    config = {
        "host": "127.0.0.1",
        "port": port,
        "provider_mapping": {"/": str(root / "folder")},
        "http_authenticator": {"accept_digest": False, "default_to_digest": False},
        "simple_dc": {"user_mapping": {"*": {USER: {"password": PASSWORD}}}},
    }
    path = root / "wsgidav.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return [str(Path(sys.executable).with_name("wsgidav")), "--config", str(path)]


def _start(
    name: str, argv: list[str], root: Path, port: int, more: Mapping[str, str]
) -> Server:
    with (root / "log").open("ab") as log:
        process = subprocess.Popen(
            argv,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            cwd=root,
            env=variables(more),
        )
    return Server(name=name, port=port, folder=root / "folder", process=process)


def _answers(server: Server) -> bool:
    log = (server.folder.parent / "log").read_text("utf-8", "replace")
    assert server.process.poll() is None, log
    request = head_of("PROPFIND", "/", {"Depth": "0"}, 0)
    try:
        return Connection(server.port).ask(request, keep=False).status == 207
    except ConnectionError:
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)
