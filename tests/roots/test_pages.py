"""The pages whose commands want the package and systemd, followed in a machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.roots.packages import NEWER, OLDER
from tests.roots.person import HOME, NAME, Person
from tests.roots.product import Product, product
from tests.roots.root import Roots
from tests.support.reader import following
from tests.support.service import wait_until

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]

AGENT = '#!/bin/sh\nwords=$(wc -w)\necho "You sent $words words."\n'


@pytest.fixture(scope="module")
def it(roots: Roots, release: str) -> Iterator[Product]:
    with ExitStack() as stack:
        yield stack.enter_context(product(roots.copy(release, "pages")))


@pytest.fixture(scope="module")
def person(it: Product) -> Person:
    return Person(it.machine)


def test_the_package_is_installed(it: Product, person: Person) -> None:
    shutil.copy(OLDER, it.machine.path(HOME))
    with following(person, "docs/howto/install.md", "root"):
        pass
    assert it.listening() == set()


def test_it_is_kept_running(it: Product, person: Person) -> None:
    person.write("~/agent.sh", AGENT).chmod(0o755)
    person.run("sudo install -m 755 agent.sh /usr/local/bin/agent.sh")
    person.run("open-conduit init --yes --engine ~/agent.sh")
    with following(person, "docs/howto/service.md", "root") as page:
        page.do()
        assert it.ask("One two three", HOME) == "You sent 3 words."
        page.do()
        page.do()
        page.do()
        assert it.ask("One two three") == "You sent 3 words."
        assert it.status()["Uid"].split()[0] == it.machine.says("id", "-u", "conduck")
        person.run("sudo systemctl disable --now conduck")
        let_her_have_services(it)
        page.do()
        assert it.ask("One two three", HOME) == "You sent 3 words."
        page.do()
        assert it.listening() == set()
        person.run("sudo systemctl start conduck")
        assert "active" in page.do()


def let_her_have_services(it: Product) -> None:
    """Start the systemd of her logins, as her first login would."""
    # In these small roots nobody says so to it, as libpam-systemd does elsewhere.
    variable = "[Service]\nEnvironment=XDG_RUNTIME_DIR=/run/user/%i\n"
    it.put("/etc/systemd/system/user@.service.d/50-runtime.conf", variable)
    it.machine.says("systemctl", "daemon-reload")
    it.machine.says("loginctl", "enable-linger", NAME)
    socket = f"/run/user/{it.machine.says('id', '-u', NAME)}/systemd/private"
    test = ("test", "-S", socket)
    wait_until(lambda: it.machine.run(*test, check=False).returncode == 0)


def test_it_is_upgraded(it: Product, person: Person) -> None:
    it.machine.says("sh", "-c", f"rm {HOME}/conduck_*_all.deb")
    shutil.copy(NEWER, it.machine.path(HOME))
    with following(person, "docs/howto/upgrade.md", "root"):
        pass
    assert it.ask("One two three") == "You sent 3 words."
