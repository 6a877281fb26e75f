"""F-PERM: a service and an engine that are two users with one group.

Needs root, to become either of them; see the other modules for one user.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import service as services
from tests.support.documents import document
from tests.support.lane import Lane, new_outbound
from tests.support.service import binding, free_port, prepared, started, stub

req = pytest.mark.req
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users"),
]

SERVER, ENGINE, GROUP = 64_101, 64_102, 64_103
SHARED = 0o2770
LOOK = (
    "import conduck_service.daemon.daemon, subprocess, sys;"
    "sys.exit(subprocess.call([sys.executable, '-I', '-S', '-c', 'pass']))"
)
"""Fails where another user cannot run the service."""


def become(user: int) -> tuple[str, ...]:
    """Return the beginning of an argv that runs the rest as another user."""
    program = shutil.which("setpriv")
    if program is None:
        pytest.skip("there is no setpriv")
    return (program, f"--reuid={user}", f"--regid={GROUP}", "--clear-groups")


@dataclass(frozen=True, slots=True)
class Pair:
    """A lane of one user and the folder where another one's engine works."""

    lane: Lane

    def engine(self, script: str, umask: str = "007") -> str:
        """Run a script as the engine's user; return what it printed."""
        done = subprocess.run(
            [*become(ENGINE), "sh", "-euc", f"umask {umask}; {script}"],
            cwd=self.lane.folder,
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
        return done.stdout


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    look = [*become(SERVER), sys.executable, "-c", LOOK]
    if subprocess.run(look, capture_output=True, check=False).returncode:
        pytest.skip("other users may not read the interpreter or the code")
    argv = (*become(SERVER), *services.PROGRAM)
    monkeypatch.setattr(services, "PROGRAM", argv)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o711)
        engine = binding(stub(root, ["obey"]))
        files = {"port": free_port(), "mode": "2770"}
        config = document({"agent": engine}, free_port(), files=files)
        service = prepared(root, config, environment={"HOME": name})
        for path in root.rglob("*"):
            os.chown(path, SERVER, GROUP)
        service.folder.chmod(SHARED)
        with started(service):
            yield Pair(Lane.of(service))


@req("F-PERM-07", "F-PERM-08", "F-PERM-09")
def test_two_users_of_one_group_share_the_folder(pair: Pair) -> None:
    lane, path = pair.lane, new_outbound()
    conversation = path.partition("/")[0]
    assert lane.mkcol(conversation).status == 201
    assert lane.put(f"{conversation}/in.txt", b"sent").status == 201
    assert pair.engine(f"cat {conversation}/in.txt") == "sent"  # F-PERM-07
    pair.engine(f"mkdir -p {path}/below; echo back >{path}/a.txt; :>{path}/below/b")
    assert lane.at(path).stat().st_uid == ENGINE
    assert lane.seen_by_app(path) == ["a.txt"]  # F-PERM-08
    assert lane.get(f"{path}/a.txt").body == b"back\n"
    assert lane.put(f"{path}/a.txt", b"replaced").status == 204
    assert lane.delete(f"{path}/a.txt").status == 204  # F-PERM-09
    assert lane.delete(path).status == 204  # F-PERM-09
    assert not lane.at(path).exists()
    pair.engine(f"echo more >>{conversation}/in.txt; rm {conversation}/in.txt")
    assert lane.delete(conversation).status == 204


@req("F-PERM-08")
def test_an_engine_that_lets_its_group_write_nothing_is_told_apart(pair: Pair) -> None:
    lane, path = pair.lane, new_outbound()
    pair.engine(f"mkdir -p {path}; echo x >{path}/a.txt", umask="022")
    assert lane.names(path) == ["a.txt"]
    assert lane.get(f"{path}/a.txt").status == 200
    for answer in (
        lane.delete(f"{path}/a.txt"),
        lane.delete(path),
        lane.put(f"{path}/a.txt", b"y"),
        lane.put(f"{path}/new.txt", b"y"),
        lane.mkcol(f"{path}/new"),
        lane.move(f"{path}/a.txt", "/taken"),
    ):
        assert answer.status == 403
    assert lane.get(f"{path}/a.txt").body == b"x\n"


@req("F-PROP-02", "F-PROP-04")
def test_what_may_not_be_looked_at_is_no_miss(pair: Pair) -> None:
    lane, path = pair.lane, new_outbound()
    conversation = path.partition("/")[0]
    pair.engine(f"mkdir -p {path}; echo x >{path}/a.txt", umask="077")
    for depth in ("0", "1"):
        # The app would take a miss for a fresh folder, or for no files.
        assert lane.propfind(path, depth).status == 403
        assert lane.propfind(f"{conversation}/none", depth).status == 403
    assert lane.propfind(conversation, "0").status == 207
    assert lane.propfind(conversation, "1").status == 403
    for method in ("GET", "HEAD", "DELETE"):
        assert lane.send(method, f"/{path}/a.txt").status == 403
    assert lane.delete(conversation).status == 403
    assert lane.at(f"{path}/a.txt").read_bytes() == b"x\n"
