from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from conduck_service.base.safefiles import (
    OWN_FOLDER,
    Fault,
    SafeFileError,
    atomic_write,
    check_file_there,
    check_private_dir,
    make_private_dir,
    read_private,
)


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make everything look like somebody else's."""
    stranger = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: stranger)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def private_file(path: Path, data: bytes = b"data", bits: int = 0o600) -> Path:
    path.write_bytes(data)
    path.chmod(bits)
    return path


def refusal(path: Path, limit: int = 100) -> SafeFileError:
    with pytest.raises(SafeFileError) as caught:
        read_private(path, limit)
    assert caught.value.remedy
    return caught.value


def test_a_private_folder_is_made_for_its_owner_alone(
    tmp_path: Path, umask: int
) -> None:
    make_private_dir(tmp_path / "a" / "b")
    assert mode(tmp_path / "a" / "b") == 0o700
    assert mode(tmp_path / "a") == 0o700


def test_a_private_folder_may_be_there_already(tmp_path: Path) -> None:
    make_private_dir(tmp_path / "a")
    (tmp_path / "a" / "file").touch()
    make_private_dir(tmp_path / "a")
    assert (tmp_path / "a" / "file").exists()


@pytest.mark.parametrize("bits", [0o710, 0o750, 0o701, 0o777])
def test_a_folder_open_to_others_is_refused_and_left_alone(
    tmp_path: Path, bits: int
) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(bits)
    for refuse in (make_private_dir, check_private_dir):
        with pytest.raises(SafeFileError) as caught:
            refuse(folder)
        assert caught.value.fault is Fault.MODE
        assert caught.value.remedy == f"chmod 700 {folder}"
    assert mode(folder) == bits


def test_a_link_a_file_and_nothing_are_no_private_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(0o700)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("gone")
    (tmp_path / "file").touch()
    found = {}
    for name in ("link", "dangling", "file", "nothing"):
        with pytest.raises(SafeFileError) as caught:
            check_private_dir(tmp_path / name)
        found[name] = caught.value.fault
    assert found == {
        "link": Fault.LINK,
        "dangling": Fault.LINK,
        "file": Fault.KIND,
        "nothing": Fault.MISSING,
    }


def test_a_folder_below_a_file_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SafeFileError) as caught:
        make_private_dir(tmp_path / "file" / "a")
    assert caught.value.remedy == "make every step of the path a folder"


@pytest.mark.usefixtures("foreign")
@pytest.mark.req("B-PERM-16")
def test_what_belongs_to_another_user_is_refused(tmp_path: Path) -> None:
    file = private_file(tmp_path / "file")
    faults = []
    for refuse in (
        lambda: check_private_dir(tmp_path),
        lambda: read_private(file, 100),
        lambda: atomic_write(file, b"new"),
    ):
        with pytest.raises(SafeFileError) as caught:
            refuse()
        faults.append(caught.value.fault)
    assert faults == [Fault.OWNER] * 3
    assert file.read_bytes() == b"data"


def test_nobody_is_told_to_change_a_folder_that_serves_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    sticky = tmp_path / "sticky"
    for folder, bits in ((home, 0o755), (sticky, 0o1777)):
        folder.mkdir()
        folder.chmod(bits)
    monkeypatch.setenv("HOME", str(home))
    for folder in (home, sticky, Path("/"), Path("/tmp"), Path("/etc"), Path("/usr")):
        with pytest.raises(SafeFileError) as caught:
            check_private_dir(folder)
        assert caught.value.remedy == OWN_FOLDER, folder


def test_roots_own_folders_are_not_taken_for_the_systems(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root owns what the system owns")
    tmp_path.chmod(0o755)
    for folder, remedy in (
        (Path("/usr/bin"), OWN_FOLDER),
        (Path("/var/lib"), OWN_FOLDER),
        (tmp_path, f"chmod 700 {tmp_path}"),
    ):
        with pytest.raises(SafeFileError) as caught:
            check_private_dir(folder)
        assert caught.value.remedy == remedy


@pytest.mark.usefixtures("foreign")
def test_nobody_is_told_to_take_a_folder_from_its_owner(tmp_path: Path) -> None:
    with pytest.raises(SafeFileError) as caught:
        check_private_dir(tmp_path)
    assert caught.value.remedy == OWN_FOLDER


def test_a_path_that_leads_to_no_file_is_told_as_such(tmp_path: Path) -> None:
    private_file(tmp_path / "file", bits=0o644)
    (tmp_path / "link").symlink_to("file")
    check_file_there(tmp_path / "file")
    found = {}
    for name in ("nothing", "", "link", "file/below"):
        with pytest.raises(SafeFileError) as caught:
            check_file_there(tmp_path / name)
        found[name] = (caught.value.fault, caught.value.reason)
    assert found == {
        "nothing": (Fault.MISSING, "there is no such file"),
        "": (Fault.KIND, "it is a folder, not a regular file"),
        "link": (Fault.LINK, "it is a symbolic link"),
        "file/below": (Fault.SYSTEM, "Not a directory"),
    }


@pytest.mark.parametrize("bits", [0o600, 0o400])
def test_a_private_file_is_read_up_to_its_limit(tmp_path: Path, bits: int) -> None:
    file = private_file(tmp_path / "file", b"x" * 100, bits)
    assert read_private(file, 100) == b"x" * 100
    assert refusal(file, 99).fault is Fault.SIZE


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o620, 0o610])
@pytest.mark.req("B-PERM-19")
def test_a_file_open_to_others_is_refused_and_left_alone(
    tmp_path: Path, bits: int
) -> None:
    file = private_file(tmp_path / "a file", bits=bits)
    error = refusal(file)
    assert error.fault is Fault.MODE
    assert error.remedy == f"chmod 600 '{file}'"
    with pytest.raises(SafeFileError):
        atomic_write(file, b"new")
    assert mode(file) == bits
    assert file.read_bytes() == b"data"


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    private_file(tmp_path / "file")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").mkdir(0o700)
    os.mkfifo(tmp_path / "pipe", 0o600)
    with socket.socket(socket.AF_UNIX) as unix:
        here = Path.cwd()
        os.chdir(tmp_path)  # the path of a socket is short
        unix.bind("socket")
        os.chdir(here)
        faults = {
            name: refusal(tmp_path / name).fault
            for name in ("link", "folder", "pipe", "socket", "nothing")
        }
    assert faults == {
        "link": Fault.LINK,
        "folder": Fault.KIND,
        "pipe": Fault.KIND,
        "socket": Fault.KIND,
        "nothing": Fault.MISSING,
    }


def test_a_refusal_holds_nothing_of_the_file(tmp_path: Path) -> None:
    error = refusal(private_file(tmp_path / "file", b"canary", 0o644))
    assert "canary" not in f"{error} {error!r} {error.reason} {error.remedy}"


@pytest.mark.parametrize("bits", [0o600, 0o640, 0o400])
def test_a_written_file_has_exactly_its_mode(
    tmp_path: Path, umask: int, bits: int
) -> None:
    atomic_write(tmp_path / "file", b"new", bits)
    assert mode(tmp_path / "file") == bits
    assert (tmp_path / "file").read_bytes() == b"new"
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_writing_puts_another_file_in_the_place_of_the_old_one(tmp_path: Path) -> None:
    file = private_file(tmp_path / "file", b"old")
    with file.open("rb") as old:
        atomic_write(file, b"new")
        assert old.read() == b"old"
    assert file.read_bytes() == b"new"


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_only_a_regular_file_is_replaced(tmp_path: Path, kind: str) -> None:
    target = private_file(tmp_path / "target", b"old")
    place = tmp_path / "place"
    if kind == "link":
        place.symlink_to(target)
    if kind == "folder":
        place.mkdir()
    if kind == "pipe":
        os.mkfifo(place, 0o600)
    before = place.lstat()
    with pytest.raises(SafeFileError) as caught:
        atomic_write(place, b"new")
    assert caught.value.fault is (Fault.LINK if kind == "link" else Fault.KIND)
    assert place.lstat().st_ino == before.st_ino
    assert target.read_bytes() == b"old"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = private_file(tmp_path / "file", b"old")

    def fail(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(SafeFileError) as caught:
        atomic_write(file, b"new")
    assert caught.value.remedy == "make room on the disk"
    assert file.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_data_and_name_are_on_the_disk_before_a_write_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        steps.append("folder" if is_folder else "file")
        fsync(descriptor)

    def note_replace(
        source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int
    ) -> None:
        steps.append("rename")
        replace(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    atomic_write(tmp_path / "file", b"new")
    assert steps == ["file", "rename", "folder"]


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    file = private_file(tmp_path / "file")
    loose = private_file(tmp_path / "loose", bits=0o644)
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        read_private(file, 10)
        refusal(loose)
        refusal(tmp_path)
        atomic_write(file, b"data")
        check_private_dir(tmp_path)
    assert len(list(Path("/dev/fd").iterdir())) == before
