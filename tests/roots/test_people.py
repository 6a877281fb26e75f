"""The package's service as a person's, who has the engine's login; one story again."""

from __future__ import annotations

import pytest

from tests.roots.packages import NEWER, OLDER
from tests.roots.product import HOME, ROBOT, SHARED, UNIT, Product
from tests.support.service import wait_until

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]

HERS = "/home/alice"
ENGINE = f"{HERS}/.local/bin/her-robot"
DROP_IN = f"/etc/systemd/system/{UNIT}.service.d/10-run-as.conf"
WHO = "robot: id -un; umask; pwd; echo ~; command -v her-robot"
AS_ALICE = ["alice", "0007", SHARED, HERS, ENGINE]


def run_as(it: Product, *words: str) -> str:
    """Say whose service it is, and start it anew."""
    said = it.machine.says("open-conduit", "service", "run-as", *words)
    it.machine.says("systemctl", "restart", UNIT)
    return said


@pytest.fixture(scope="session")
def alice(it: Product) -> Product:
    """A machine in which the service is conduck's, and alice has an engine."""
    it.put_robot()
    it.install(OLDER)
    it.machine.says("useradd", "-m", "-s", "/bin/bash", "alice")
    it.put_robot(ENGINE)
    it.machine.says("chown", "-R", "alice:alice", HERS)
    it.machine.says("open-conduit", "init", "--yes", "--engine", ROBOT, user="conduck")
    it.machine.says("systemctl", "enable", "--now", UNIT)
    assert it.ask("robot: id -un; umask").split() == ["conduck", "0007"]
    return it


@pytest.mark.parametrize("name", ["root", "nobody-of-that-name"])
def test_it_runs_as_no_such_user(alice: Product, name: str) -> None:
    words = ("open-conduit", "service", "run-as", name)
    assert alice.machine.run(*words, check=False).returncode != 0
    assert not alice.machine.path(DROP_IN).exists()
    assert alice.unit("User") == "conduck"


@pytest.mark.req("P-40")
def test_it_runs_as_the_person_who_has_the_login(alice: Product) -> None:
    said = alice.machine.says("open-conduit", "service", "run-as", "alice")
    assert "systemctl restart conduck" in said
    assert "log in" in said or "login" in said
    assert "conduck" in alice.machine.says("id", "-Gn", "alice").split()
    text = alice.machine.path(DROP_IN).read_text("utf-8")
    assert "\nUser=alice\n" in text
    assert alice.ask("robot: id -un") == "conduck"  # until it is started anew
    init = ("open-conduit", "init", "--yes", "--engine", ENGINE, "--chat-port", "8480")
    ports = ("--files-port", "8481")
    alice.machine.says("systemctl", "stop", UNIT)
    alice.machine.says(*init, *ports, user="alice")
    alice.machine.says("systemctl", "start", UNIT)
    assert alice.ask(WHO, HERS).split() == AS_ALICE


def test_files_and_her_own_commands_work_as_before(alice: Product) -> None:
    alice.put("/root/in.txt", "for alice\n")
    alice.lane("-T", "/root/in.txt", path="in.txt", home=HERS)
    assert alice.ask("robot: cat in.txt; cp in.txt ~/mine.txt", HERS) == "for alice"
    modes = ("stat", "-c", "%a %U:%G")
    assert alice.machine.says(*modes, f"{SHARED}/in.txt") == "660 alice:conduck"
    # Not for the group of the shared folder: this is her home.
    assert alice.machine.says(*modes, f"{HERS}/mine.txt") == "660 alice:alice"
    said = alice.machine.says("open-conduit", "selftest", "--files", user="alice")
    assert "failed=0 exit=0" in said
    alice.machine.says("open-conduit", "doctor", "--check-secrets", user="alice")


@pytest.mark.req("P-27")
def test_an_upgrade_and_a_new_start_of_the_machine_keep_it_hers(alice: Product) -> None:
    text = alice.machine.path(DROP_IN).read_text("utf-8")
    alice.install(NEWER)
    assert alice.machine.path(DROP_IN).read_text("utf-8") == text
    assert alice.ask(WHO, HERS).split() == AS_ALICE
    alice.reboot()
    wait_until(lambda: alice.unit("ActiveState") == "active", 30)
    assert alice.ask(WHO, HERS).split() == AS_ALICE


def test_it_can_be_the_packages_own_again(alice: Product) -> None:
    run_as(alice, "--reset")
    assert not alice.machine.path(DROP_IN).parent.exists()
    assert alice.ask("robot: id -un; umask").split() == ["conduck", "0007"]
    run_as(alice, "alice")
    assert alice.ask(WHO, HERS).split() == AS_ALICE


@pytest.mark.req("P-28")
def test_a_purge_leaves_her_home_alone(alice: Product) -> None:
    def home() -> str:
        find = ("find", HERS, "-type", "f", "-exec", "sha256sum", "{}", "+")
        return alice.machine.says(*find)

    alice.machine.says("systemctl", "stop", UNIT)
    before = home()
    alice.machine.says("apt-get", "purge", "-y", "conduck")
    assert home() == before
    assert not alice.machine.path(HOME).exists()
    assert not alice.machine.path(DROP_IN).parent.exists()
    assert alice.machine.path(f"{SHARED}/in.txt").read_text("utf-8") == "for alice\n"
