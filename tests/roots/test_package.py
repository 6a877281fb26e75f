"""The package from its installation to its end, told once for each release.

The tests of a release are one story: each goes on where the one before it ended.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from conduck_service import __version__
from tests.roots.figures import measure, save
from tests.roots.packages import NEWER, OLD, OLDER
from tests.roots.product import (
    HOME,
    ROBOT,
    SHARED,
    UNIT,
    Product,
    processes,
)
from tests.support.service import wait_until

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]

CONFIG = f"{HOME}/.config/open-conduit/config.json"
STATE = f"{HOME}/.local/state/open-conduit"
DROP_IN = f"/etc/systemd/system/{UNIT}.service.d/50-mine.conf"


@pytest.fixture(scope="session")
def before(it: Product) -> set[str]:
    """Every file of the machine, as it was without the package."""
    it.put_robot()
    return it.files()


def owner(product: Product, inside: str) -> str:
    """Return mode, owner and group of a file."""
    return product.machine.says("stat", "-c", "%a %U:%G", inside)


def state_of(product: Product) -> tuple[str, str]:
    """Say whether the service runs, and whether it is enabled."""
    enabled = product.machine.run("systemctl", "is-enabled", UNIT, check=False)
    return product.unit("ActiveState"), enabled.stdout.strip()


@pytest.mark.req("P-18", "P-23", "P-29")
def test_it_installs_without_a_network_and_starts_nothing(
    it: Product, before: set[str]
) -> None:
    assert before
    it.install(OLDER)
    assert it.version == OLD
    assert state_of(it) == ("inactive", "disabled")
    assert it.listening() == set()
    assert owner(it, HOME) == "700 conduck:conduck"
    assert owner(it, SHARED) == "2770 root:conduck"
    assert it.machine.says("open-conduit", "--version").endswith(OLD)
    assert it.machine.says("conduck", "--version").endswith(OLD)
    assert not it.machine.path("/usr/bin/os").exists()
    assert it.machine.says("dpkg-query", "-W", "-f", "${Conffiles}", "conduck") == ""


def test_root_is_told_how_to_set_it_up(it: Product) -> None:
    said = it.machine.run("open-conduit", "init", "--engine", ROBOT, check=False)
    assert said.returncode != 0
    assert "run-as" in said.stdout
    assert "sudo -u conduck -H open-conduit init" in said.stdout


@pytest.mark.req("P-19", "P-26", "P-29")
def test_it_is_set_up_enabled_and_ready(it: Product) -> None:
    it.machine.says("open-conduit", "init", "--yes", "--engine", ROBOT, user="conduck")
    it.machine.says("systemctl", "enable", "--now", UNIT)
    assert state_of(it) == ("active", "enabled")
    assert "8480" in it.unit("StatusText")
    assert it.listening() == {"0100007F:2120", "0100007F:2121"}


@pytest.mark.req("P-04")
def test_systemd_finds_no_fault_in_the_unit_and_little_exposed(it: Product) -> None:
    analyze = ("systemd-analyze", "--no-pager")
    unit = f"{UNIT}.service"
    assert it.machine.says(*analyze, "verify", "--man=no", unit) == ""
    security = ("security", "--offline=yes", "--threshold=30", unit)
    print(it.machine.says(*analyze, *security).splitlines()[-1])


@pytest.mark.req("P-24")
def test_it_runs_as_its_user_with_its_umask(it: Product) -> None:
    status = it.status()
    user = it.machine.says("id", "-u", "conduck")
    assert status["Uid"].split() == [user] * 4
    assert status["Umask"] == "0007"
    assert status["NoNewPrivs"] == "1"
    for inside in (f"{HOME}/.config/open-conduit", STATE):
        assert owner(it, inside) == "700 conduck:conduck"
    for inside in (CONFIG, f"{HOME}/.config/open-conduit/secrets.json"):
        assert owner(it, inside) == "600 conduck:conduck"
    assert owner(it, HOME) == "700 conduck:conduck"
    assert owner(it, SHARED) == "2770 root:conduck"


@pytest.mark.req("P-14", "P-17", "P-21")
def test_a_turn_is_answered_and_files_go_both_ways(it: Product) -> None:
    assert it.ask("Reply with exactly: pong") == "pong"
    assert it.ask("robot: pwd; umask").split() == [SHARED, "0007"]
    it.put("/root/in.txt", "a file that goes in\n")
    it.lane("-T", "/root/in.txt", path="in.txt")
    assert it.ask("robot: cat in.txt; mkdir out; cp in.txt out/back.txt") == (
        "a file that goes in"
    )
    assert it.lane(path="out/back.txt") == "a file that goes in"
    assert "back.txt" in it.lane("-X", "PROPFIND", "-H", "Depth: 1", path="out")
    assert owner(it, f"{SHARED}/in.txt") == "660 conduck:conduck"
    assert owner(it, f"{SHARED}/out") == "2770 conduck:conduck"


def test_selftest_and_doctor_find_nothing_wrong(it: Product) -> None:
    said = it.machine.says("open-conduit", "selftest", "--files", user="conduck")
    assert "failed=0 exit=0" in said
    it.machine.says("open-conduit", "doctor", "--check-secrets", user="conduck")


def test_kinds_of_engines_survive_the_hardening(it: Product) -> None:
    """Node allocates memory as few programs do; bubblewrap makes namespaces."""
    held = "bwrap --ro-bind / / --dev /dev --proc /proc --unshare-all echo held"
    assert it.ask(f"robot: {held}") == "held"
    if not it.has_node:
        pytest.skip("node is not on this machine")
    script = "console.log(require('os').cpus().length > 0, [1, 2].map((n) => n * 2))"
    assert it.ask(f'robot: node -e "{script}"') == "true [ 2, 4 ]"


@pytest.mark.req("P-25")
def test_the_whole_tree_of_an_engine_ends_with_the_service(it: Product) -> None:
    sleep = (
        "sleep",
        f"98765.{it.machine.leader}",
    )  # all machines are seen from outside
    stubborn = f"(trap '' TERM HUP; {' '.join(sleep)}) & "
    order = f"robot: setsid sh -c {stubborn!r} & {stubborn} {' '.join(sleep)}"
    it.machine.says("systemd-run", "--unit=asking", *it.asking(order))
    wait_until(lambda: len(processes(*sleep)) >= 3, 30)
    it.machine.says("systemctl", "stop", UNIT)
    assert processes(*sleep) == []
    assert it.unit("Result") == "success"


def test_a_config_that_cannot_be_used_fails_once(it: Product) -> None:
    good = it.machine.path(CONFIG).read_bytes()
    it.machine.path(CONFIG).write_bytes(b"{")
    assert it.machine.run("systemctl", "start", UNIT, check=False).returncode != 0
    assert it.unit("ActiveState") == "failed"
    assert it.unit("ExecMainStatus") == "78"
    assert it.unit("NRestarts") == "0"
    assert "config" in it.unit("StatusText")
    it.machine.path(CONFIG).write_bytes(good)
    it.machine.says("systemctl", "start", UNIT)
    assert it.ask("Reply with exactly: pong") == "pong"


@pytest.mark.req("P-27")
def test_an_upgrade_keeps_everything_and_starts_a_running_service_anew(
    it: Product,
) -> None:
    it.put(DROP_IN, "[Service]\nEnvironment=MINE=1\n")
    it.machine.says("systemctl", "daemon-reload")
    change = ("config", "set", "scopes/home/bindings/agent/timeout_seconds", "77")
    it.machine.says("open-conduit", *change, user="conduck")
    kept = {path: content(it, path) for path in (CONFIG, DROP_IN)}
    secrets = it.secret("chat_token"), it.secret("files_password")
    before = it.process
    it.install(NEWER)
    assert it.version == __version__
    assert state_of(it) == ("active", "enabled")
    assert it.process not in (0, before)
    assert {path: content(it, path) for path in kept} == kept
    assert (it.secret("chat_token"), it.secret("files_password")) == secrets
    assert "MINE=1" in it.unit("Environment")
    assert it.ask("Reply with exactly: pong") == "pong"
    assert it.lane(path="in.txt") == "a file that goes in"
    assert owner(it, SHARED) == "2770 root:conduck"


def content(product: Product, inside: str) -> tuple[bytes, int]:
    """Return a file's content and mode."""
    path = product.machine.path(inside)
    return path.read_bytes(), stat.S_IMODE(path.stat().st_mode)


def test_what_it_takes_is_measured(it: Product, release: str) -> None:
    found = measure(it, release)
    print(f"{release}: ready in {found.ready} s, {found.installed_mib} MiB installed")
    save(found)
    assert it.ask("Reply with exactly: pong") == "pong"


@pytest.mark.req("P-27")
def test_a_service_that_was_stopped_stays_stopped(it: Product) -> None:
    """From the one version to the other and back: both have the same scripts."""
    it.machine.says("systemctl", "stop", UNIT)
    for word, package in (("enable", OLDER), ("mask", NEWER)):
        it.machine.says("systemctl", word, UNIT)
        before = state_of(it)
        it.install(package)
        assert before[0] == "inactive"
        assert state_of(it) == before, word
    it.machine.says("systemctl", "unmask", UNIT)
    it.machine.says("systemctl", "disable", UNIT)


@pytest.mark.req("P-27")
def test_a_service_that_runs_without_being_enabled_is_started_anew(
    it: Product,
) -> None:
    it.machine.says("systemctl", "start", UNIT)
    for _ in range(9):  # by hand, as often as systemd allows in a row
        it.machine.says("systemctl", "restart", UNIT)
    before = it.process
    it.install(OLDER)
    assert it.process not in (0, before)
    assert state_of(it) == ("active", "disabled")
    it.machine.says("systemctl", "enable", UNIT)


def test_it_is_back_when_the_machine_was_started_anew(it: Product) -> None:
    it.machine.says("chmod", "2775", SHARED)
    it.reboot()
    wait_until(lambda: it.unit("ActiveState") == "active", 30)
    assert it.ask("Reply with exactly: pong") == "pong"
    assert it.lane(path="in.txt") == "a file that goes in"
    assert owner(it, SHARED) == "2775 root:conduck"  # an operator's word is kept


@pytest.mark.req("P-28")
def test_removal_stops_it_and_keeps_the_data(it: Product) -> None:
    it.machine.says("apt-get", "remove", "-y", "conduck")
    assert it.listening() == set()
    assert it.machine.path(CONFIG).exists()
    assert it.machine.path(f"{SHARED}/in.txt").exists()
    assert not it.machine.path("/usr/lib/conduck").exists()
    said = it.install(NEWER)
    assert "systemctl start conduck" in said
    it.machine.says("systemctl", "start", UNIT)
    assert it.ask("Reply with exactly: pong") == "pong"


@pytest.mark.req("P-28")
def test_a_purge_asks_for_nothing_and_keeps_the_shared_files(
    it: Product, before: set[str]
) -> None:
    it.machine.says("mkdir", f"{HOME}/work")
    it.machine.path(f"{HOME}/work/mine.txt").write_text("precious")
    said = it.machine.says("apt-get", "purge", "-y", "conduck")
    assert SHARED in said
    assert HOME in said
    assert os.listdir(it.machine.path(HOME)) == ["work"]  # noqa: PTH208
    assert it.machine.path(f"{HOME}/work/mine.txt").read_text() == "precious"
    assert it.machine.path(f"{SHARED}/in.txt").read_text() == "a file that goes in\n"
    left = {line.split(" ", 3)[3] for line in it.files() - before}
    assert {path for path in left if not path.startswith((SHARED, HOME))} == {
        str(Path(DROP_IN).parent),
        DROP_IN,
    }


@pytest.mark.req("P-28")
def test_without_files_nothing_at_all_is_left(it: Product, before: set[str]) -> None:
    it.machine.says("rm", "-r", f"{SHARED}/in.txt", f"{SHARED}/out", f"{HOME}/work")
    it.machine.says("rm", "-r", str(Path(DROP_IN).parent))
    it.install(NEWER)
    assert state_of(it) == ("inactive", "disabled")
    it.machine.says("apt-get", "purge", "-y", "conduck")
    assert it.files() == before
    assert it.machine.run("getent", "passwd", "conduck", check=False).stdout == ""
    assert it.machine.run("getent", "group", "conduck", check=False).stdout == ""
