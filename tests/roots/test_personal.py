"""A person's own service, on a machine to which nobody logs in: one more story."""

from __future__ import annotations

import json

import pytest

from tests.roots.packages import NEWER
from tests.roots.product import UNIT, Product
from tests.support.service import wait_until

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]

HIS = "/home/bob"
ENGINE = f"{HIS}/.local/bin/his-robot"
FILE = f"{HIS}/.config/systemd/user/{UNIT}.service"
WHO = "robot: id -un; umask; pwd; command -v his-robot"
AS_BOB = ["bob", "0007", f"{HIS}/Conduck", ENGINE]
SERVICE = ("open-conduit", "service")


@pytest.fixture(scope="session")
def bob(it: Product) -> Product:
    """A machine with the package, whose service nobody enabled, and with bob."""
    it.install(NEWER)
    it.machine.says("useradd", "-m", "-s", "/bin/bash", "bob")
    it.put_robot(ENGINE)
    it.machine.says("chown", "-R", "bob:bob", HIS)
    return it


def says(it: Product, *words: str, status: int = 0) -> str:
    """Run a ``service`` command as bob, who has not logged in."""
    done = it.machine.run(*SERVICE, *words, user="bob", check=False)
    assert done.returncode == status, done.stdout
    return done.stdout


def test_it_needs_a_config_and_a_systemd_of_his(bob: Product) -> None:
    assert "enable-linger" in says(bob, "install", status=1)
    bob.machine.says("loginctl", "enable-linger", "bob")
    bus = f"/run/user/{bob.machine.says('id', '-u', 'bob')}/systemd/private"
    wait_until(lambda: bob.machine.run("test", "-e", bus, check=False).returncode == 0)
    assert "open-conduit init" in says(bob, "install", status=1)
    assert not bob.machine.path(FILE).exists()


def test_it_is_his_in_everything(bob: Product) -> None:
    init = ("open-conduit", "init", "--yes", "--engine", ENGINE)
    bob.machine.says(*init, user="bob")
    assert "Note" not in says(bob, "install")
    assert bob.ask(WHO, HIS).split() == AS_BOB
    bob.put("/root/in.txt", "for bob\n")
    bob.lane("-T", "/root/in.txt", path="in.txt", home=HIS)
    assert bob.ask("robot: cat in.txt", HIS) == "for bob"
    (one, system) = json.loads(says(bob, "status", "--json"))["services"]
    assert (one["whose"], one["state"], one["starts_itself"]) == ("own", "active", True)
    assert "127.0.0.1:8480" in one["text"]
    assert (system["whose"], system["state"]) == ("system", "inactive")


def test_it_is_back_after_a_new_start_of_the_machine(bob: Product) -> None:
    bob.reboot()

    def is_back() -> bool:
        words = (*SERVICE, "status")
        return bob.machine.run(*words, user="bob", check=False).returncode == 0

    wait_until(is_back, 30)
    assert bob.ask(WHO, HIS).split() == AS_BOB


def test_no_two_at_once(bob: Product) -> None:
    done = bob.machine.run(*SERVICE, "run-as", "bob", check=False)
    assert done.returncode == 1
    assert "service uninstall" in done.stdout
    bob.machine.says("systemctl", "enable", UNIT)
    assert "disable --now" in says(bob, "install", status=1)
    bob.machine.says("systemctl", "disable", UNIT)


def test_nothing_of_it_stays_but_his(bob: Product) -> None:
    says(bob, "uninstall")
    assert not bob.machine.path(FILE).exists()
    assert "0100007F:2120" not in bob.listening()  # 8480
    assert bob.machine.path(f"{HIS}/Conduck/in.txt").exists()
    says(bob, "status", status=1)
    assert bob.machine.path(f"{HIS}/.config/open-conduit/config.json").exists()
    bob.machine.says("loginctl", "disable-linger", "bob")
    bob.machine.says("apt-get", "purge", "-y", "conduck")
