"""A confined program touches its own files only, and so does what it starts."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conduck_service.base.processes import (
    MARKER,
    Confinement,
    Ended,
    Launch,
    LaunchError,
    Mechanism,
    Supervisor,
    find_mechanism,
)
from conduck_service.base.supervision import landlock
from conduck_service.base.supervision.grouped import GroupSupervisor
from conduck_service.base.supervision.kept import KeptSupervisor
from conduck_service.base.supervision.launch import Wrapper
from conduck_service.base.supervision.wrapping import Bubblewrap, SandboxExec
from conduck_service.executors.confinement.places import devices, system_paths
from conduck_service.executors.confinement.programs import program_paths
from tests.support.misbehaving import PATIENCE, python

CANARY = "canary-5d1f"
ABI = landlock.version()

if landlock.why_not(ABI) is not None and shutil.which("bwrap") is None:
    pytest.skip("this machine confines nothing", allow_module_level=True)


def wrapper_of(name: str) -> Wrapper | None:
    """Return the wrapper of a way to confine; skip when it is not here."""
    if name == "landlock":
        if (why := landlock.why_not(ABI)) is not None:
            pytest.skip(why)
        return None
    program = shutil.which("bwrap")
    if program is None:
        pytest.skip("bubblewrap is not installed")
    wrapper = Bubblewrap(program)
    if not wrapper.works():
        pytest.skip("bubblewrap may not do its work here")
    return wrapper


class Room:
    """A folder to work in, a home beside it, and a way to run commands."""

    def __init__(self, supervisor: Supervisor, root: Path, marker: str) -> None:
        self.root = root
        self.folder = root / "folder"
        self.secret = root / "home/.ssh/id"
        self.secret.parent.mkdir(parents=True)
        self.secret.write_text(CANARY)
        self.folder.mkdir()
        self.wrapper: Wrapper | None = None
        self._supervisor = supervisor
        self._marker = marker

    def run(
        self,
        *argv: str,
        is_confined: bool = True,
        read: tuple[Path, ...] = (),
        write: tuple[Path, ...] = (),
    ) -> tuple[Ended, str]:
        """Run a program to its end; return how it ended and what it printed."""
        own = program_paths(argv, os.environ["PATH"], str(self.root / "home"))
        confinement = Confinement(
            read=(*system_paths(), *own, *read),
            write=(self.folder, *write),
            use=devices(),
            wrapper=self.wrapper,
        )
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as given:
            launch = Launch(
                argv=argv,
                environment={"PATH": os.environ["PATH"], "HOME": str(self.root)},
                folder=self.folder,
                umask=0o077,
                stdin=given.fileno(),
                stdout=output.fileno(),
                stderr=output.fileno(),
                marker=(MARKER, self._marker),
                confinement=confinement if is_confined else None,
            )
            ended = self._supervisor.start(launch).wait(PATIENCE)
            assert ended is not None
            return ended, os.pread(output.fileno(), 1 << 20, 0).decode()

    def shell(self, source: str, *, is_confined: bool = True) -> str:
        """Return what a shell prints for a source."""
        return self.run("sh", "-c", source, is_confined=is_confined)[1]


@pytest.fixture(params=["landlock", "bubblewrap"])
def room(
    request: pytest.FixtureRequest, kept: KeptSupervisor, tmp_path: Path, marker: str
) -> Room:
    wrapper = wrapper_of(request.param)
    room = Room(kept, tmp_path, marker)
    room.wrapper = wrapper
    return room


@pytest.fixture
def landlocked(kept: KeptSupervisor, tmp_path: Path, marker: str) -> Room:
    wrapper_of("landlock")
    return Room(kept, tmp_path, marker)


def test_nothing_outside_is_read(room: Room) -> None:
    (room.folder / "link").symlink_to(room.secret)
    for source in (
        f"cat {room.secret}",
        "cat link",
        f"cat /proc/self/root{room.secret}",
        f"ls {room.root}/home/.ssh; ln {room.secret} hard; cat hard",
        f"mv {room.root}/home here; cat here/.ssh/id",
        f"(setsid --wait sh -c 'env -i cat {room.secret}')",
    ):
        printed = room.shell(source)
        assert CANARY not in printed
        assert "id\n" not in printed
    assert CANARY in room.shell("cat link", is_confined=False)


def test_nothing_outside_is_written(room: Room) -> None:
    (room.folder / "up").symlink_to("..")
    (room.folder / "mine").touch()
    room.shell(
        f"echo x > {room.root}/made; echo x >> {room.secret}; mkdir up/made; "
        f"mv mine ../made; ln mine ../made; rm -rf up/home; truncate -s 0 {room.secret}"
    )
    assert sorted(path.name for path in room.root.iterdir()) == ["folder", "home"]
    assert room.secret.read_text() == CANARY


def test_its_own_folder_is_as_always(room: Room) -> None:
    ended, printed = room.run(
        "sh",
        "-ec",
        "mkdir -p a/b c; echo one > a/one; mv a/one c/two; mv a/b c/d; mkfifo pipe; "
        "ln c/two three; ln -s three four; cat four; chmod 700 c/two; rm three; "
        "printf '#!/bin/sh\\necho ran' > c/two; c/two; : > c/two; rmdir c/d; "
        "cat /dev/null /proc/self/cmdline > /dev/null; head -c 3 /dev/urandom | wc -c",
    )
    assert (ended, printed.split()) == (Ended(0), ["one", "ran", "3"])


def test_what_is_named_may_be_read_and_written(room: Room) -> None:
    (room.root / "more").mkdir()
    more, secret = room.root / "more", room.secret
    source = f"cat {secret}; echo y > {more}/made; echo z > {secret}; cat {more}/made"
    missing = room.root / "missing"
    _, printed = room.run(
        "sh", "-c", source, read=(secret, missing), write=(more, missing / "x")
    )
    assert printed.startswith(CANARY)
    assert printed.endswith("y\n")
    assert secret.read_text() == CANARY


def test_paths_within_each_other_and_links_are_no_trouble(room: Room) -> None:
    tools, kept = room.root / "tools", room.root / "tools/kept"
    for path in (kept, tools / "bin", room.root / "far", tools / "real"):
        path.mkdir(parents=True)
    (tools / "bin/far").symlink_to(room.root / "far/program")
    (room.root / "far/program").write_text("far")
    (tools / "link").symlink_to("real")
    read = (tools, tools / "bin/far", room.root / "far/program", room.folder)
    source = f"cat {tools}/bin/far; echo x > {kept}/a; echo x > {tools}/link/b"
    source += f"; echo x > {tools}/c; echo x > mine"
    _, printed = room.run("sh", "-c", source, read=read, write=(kept, tools / "link"))
    assert printed.startswith("far")
    made = {kept / "a": True, tools / "real/b": True, tools / "c": False}
    assert {path: path.exists() for path in made} == made
    assert (room.folder / "mine").exists()


def test_status_and_signal_are_told(room: Room) -> None:
    assert room.run("sh", "-c", "exit 3")[0] == Ended(3)
    with pytest.raises(LaunchError) as caught:
        room.run("no-such-program")
    assert caught.value.reason == "not_found"


def test_its_tree_is_ended_as_always(room: Room) -> None:
    ended, printed = room.run(
        "sh", "-c", "(setsid sh -c 'sleep 60' &) ; env | grep -c ^CONDUCK_EXECUTION="
    )
    assert (ended.status, ended.leftovers, printed) == (0, 0, "1\n")


def test_it_stays_confined_whatever_it_becomes(landlocked: Room) -> None:
    # No privilege comes back by exec, and the limits are those of every thread.
    printed = landlocked.shell("grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status")
    assert printed.split()[1] == "1"
    source = f"""
import threading
def look():
    try:
        print(open({str(landlocked.secret)!r}).read())
    except OSError as error:
        print(error.strerror)
thread = threading.Thread(target=look)
thread.start()
thread.join()
"""
    assert landlocked.run(*python(source))[1] == "Permission denied\n"


def test_it_reads_nothing_of_other_processes(landlocked: Room) -> None:
    # What root could still do by its privileges is tried as well where it is root.
    look = f"cat /proc/{os.getpid()}/environ; readlink /proc/{os.getpid()}/cwd"
    assert "HOME" in landlocked.shell(look, is_confined=False)
    printed = landlocked.shell(look)
    assert "HOME" not in printed
    assert str(Path.cwd()) not in printed


@pytest.mark.skipif(ABI < 6, reason="signals came with a later version")
def test_it_signals_nobody_but_its_own(landlocked: Room) -> None:
    printed = landlocked.shell(
        f"kill -0 {os.getpid()}; kill -STOP $PPID; sleep 60 & kill $! && echo own"
    )
    assert printed.count("not permitted") == 2
    assert printed.endswith("own\n")


CONNECTS = """
import socket, sys
address = sys.argv[1].replace("@", chr(0))
try:
    with socket.socket(socket.AF_UNIX) as own:
        own.connect(address)
    print("connected")
except OSError as error:
    print(type(error).__name__)
"""


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Somebody who listens, as the session bus or a container engine does."""
    with (
        socket.socket(socket.AF_UNIX) as listener,
        tempfile.TemporaryDirectory() as short,
    ):
        at = f"@{tmp_path}"[:90] if request.param == "abstract" else f"{short}/bus"
        listener.bind(at.replace("@", "\0"))
        listener.listen()
        yield at


def test_it_reaches_no_socket_of_others(landlocked: Room, address: str) -> None:
    program = python(CONNECTS, address)
    assert landlocked.run(*program, is_confined=False)[1] == "connected\n"
    assert landlocked.run(*program)[1] == "PermissionError\n"


def test_it_speaks_with_its_own_children_and_the_network(landlocked: Room) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        source = f"""
import socket
first, second = socket.socketpair()
first.send(b"pair")
print(second.recv(9).decode())
socket.create_connection(("127.0.0.1", {port})).close()
print("connected")
"""
        assert landlocked.run(*python(source))[1] == "pair\nconnected\n"


@pytest.mark.skipif(ABI >= 9, reason="newer versions know sockets themselves")
def test_no_other_call_opens_a_socket(landlocked: Room) -> None:
    source = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(ctypes.c_long(425), ctypes.c_long(1), None)
print(errno.errorcode[ctypes.get_errno()])
"""
    assert landlocked.run(*python(source))[1] == "ENOSYS\n"


def test_the_next_turn_is_free_again(landlocked: Room) -> None:
    for _ in range(3):
        assert CANARY not in landlocked.shell(f"cat {landlocked.secret}")
        free = landlocked.shell(f"cat {landlocked.secret}", is_confined=False)
        assert free == CANARY


def test_who_cannot_confine_starts_nothing(tmp_path: Path, marker: str) -> None:
    room = Room(GroupSupervisor(), tmp_path, marker)
    with pytest.raises(LaunchError) as caught:
        room.run("sh", "-c", "echo > made")
    assert caught.value.reason == "confinement"
    assert list(room.folder.iterdir()) == []


def test_a_file_of_a_wrapper_is_found_like_any_program(
    tmp_path: Path, marker: str
) -> None:
    wrapper = wrapper_of("bubblewrap")
    room = Room(GroupSupervisor(), tmp_path, marker)
    room.wrapper = wrapper
    assert CANARY not in room.shell(f"cat {room.secret}")
    assert room.shell("echo x > made; cat made") == "x\n"


def test_a_profile_of_macos_names_every_path(tmp_path: Path) -> None:
    odd = tmp_path / 'a "b" (c)\\d'
    confinement = Confinement(read=(tmp_path,), write=(odd,), use=(Path("/dev/null"),))
    *_, option, profile = SandboxExec("/usr/bin/sandbox-exec")(confinement, tmp_path)
    real = str(tmp_path.resolve())
    assert option == "-p"
    assert f'(allow file-read-data (subpath "{real}"))' in profile
    assert f'file-write* (subpath "{real}/a \\"b\\" (c)\\\\d"))' in profile


def test_this_machine_is_asked_once() -> None:
    found = find_mechanism()
    assert isinstance(found, Mechanism)
    assert found is find_mechanism()
