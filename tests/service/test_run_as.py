"""``run-as`` in a root of the test's, with a systemd that only notes things."""

from __future__ import annotations

import grp
from pathlib import Path

import pytest

from conduck_service.service.programs import Ran
from conduck_service.service.refusal import RefusedError
from conduck_service.service.run_as import RunAs
from conduck_service.service.unit import MARK
from tests.service.fakes import FakePrograms, account

NO_OWN = {"test -e": Ran(1)}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "usr/lib/systemd/system").mkdir(parents=True)
    (root / "usr/lib/systemd/system/conduck.service").touch()
    (tmp_path / "alice").mkdir()
    return root


@pytest.fixture
def members(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The members of the group conduck, which the machine need not have."""
    names: list[str] = []
    entry = grp.struct_group(("conduck", "x", 999, names))
    monkeypatch.setattr(grp, "getgrnam", lambda _name: entry)
    return names


def test_one_file_says_whose_service_it_is(root: Path, members: list[str]) -> None:
    programs = FakePrograms(
        {**NO_OWN, "/bin/sh -c for": Ran(0, "/opt/node/bin/claude\n" + "\n" * 20)}
    )
    alice = account(root.parent / "alice")
    run_as = RunAs(root, programs)
    plan = run_as.plan(alice, folders=["/data"], gpu=True)
    assert not run_as.file.exists()
    assert plan.found.engines == {"claude": Path("/opt/node/bin/claude")}
    run_as.apply(plan)
    text = run_as.file.read_text()
    assert run_as.file == root / "etc/systemd/system/conduck.service.d/10-run-as.conf"
    assert text.startswith(MARK)
    assert "User=alice\n" in text
    assert f"ReadWritePaths={alice.home}\n" in text
    assert "ReadWritePaths=-/data\n" in text
    assert "/opt/node/bin:/usr/local/bin" in text
    assert "PrivateDevices=no" in text
    assert "usermod -aG conduck alice" in programs.asked
    assert run_as.file.stat().st_mode & 0o777 == 0o644
    assert run_as.file.parent.stat().st_mode & 0o777 == 0o755
    members.append("alice")
    programs.asked.clear()
    run_as.apply(run_as.plan(alice, path="/only:/these"))
    assert "PATH=/only:/these\n" in run_as.file.read_text()
    assert "PrivateDevices" not in run_as.file.read_text()
    assert not [line for line in programs.asked if line.startswith("usermod")]


def test_it_is_undone_and_the_operators_own_stays(root: Path) -> None:
    run_as = RunAs(root, FakePrograms())
    assert run_as.reset() is False
    run_as.file.parent.mkdir(parents=True)
    run_as.file.write_text("")
    other = run_as.file.with_name("override.conf")
    other.write_text("[Service]\n")
    assert run_as.reset() is True
    assert [file.name for file in run_as.file.parent.iterdir()] == ["override.conf"]
    run_as.file.write_text("")
    other.unlink()
    assert run_as.reset() is True
    assert not run_as.file.parent.exists()


@pytest.mark.usefixtures("members")
def test_who_it_can_be(root: Path) -> None:
    home = root.parent / "alice"
    run_as = RunAs(root, FakePrograms(dict(NO_OWN)))
    with pytest.raises(RefusedError, match="as root"):
        run_as.plan(account(home, name="toor", uid=0))
    for bad in (root / "nowhere", Path("relative")):
        with pytest.raises(RefusedError, match="no home folder"):
            run_as.plan(account(bad))
    with pytest.raises(RefusedError, match="--folder"):
        run_as.plan(account(home), folders=["data"])
    with pytest.raises(RefusedError, match="--path"):
        run_as.plan(account(home), path="data")
    with pytest.raises(RefusedError, match="service uninstall"):
        RunAs(root, FakePrograms()).plan(account(home))
    assert not (root / "etc").exists()


def test_there_has_to_be_a_service_and_its_group(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr(grp, "getgrnam", missing)
    alice = account(root.parent / "alice")
    with pytest.raises(RefusedError, match="systemd-sysusers"):
        RunAs(root, FakePrograms(dict(NO_OWN))).plan(alice)
    with pytest.raises(RefusedError, match="no system service"):
        RunAs(root.parent, FakePrograms(dict(NO_OWN))).plan(alice)


@pytest.mark.usefixtures("members")
def test_a_group_that_cannot_be_joined_is_told(root: Path) -> None:
    run_as = RunAs(root, FakePrograms({**NO_OWN, "usermod": Ran(127, "", "No such")}))
    plan = run_as.plan(account(root.parent / "alice"))
    with pytest.raises(RefusedError, match="usermod -aG conduck alice: No such"):
        run_as.apply(plan)
    assert not run_as.file.exists()


def test_what_is_known_of_the_persons_config(root: Path) -> None:
    alice = account(root.parent / "alice")
    good = RunAs(root, FakePrograms())
    assert good.has_config(alice)
    assert good.needs_keyring(alice)
    bad = RunAs(root, FakePrograms({"/bin/sh": Ran(1), "grep": Ran(1)}))
    assert not bad.has_config(alice)
    assert not bad.needs_keyring(alice)
