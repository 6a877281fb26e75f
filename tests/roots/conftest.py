"""Roots for stories, and a loud word where none can be had.

All tests of a release run in one process and in the order of their modules, so that a
machine which one of them leaves is there for the next.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NoReturn

import pytest

from tests.roots.machine import MachineError
from tests.roots.packages import NEWER, OLDER
from tests.roots.product import Product, product
from tests.roots.root import PROGRAMS, RELEASES, RootError, Roots, in_memory


@pytest.fixture(scope="session")
def roots(request: pytest.FixtureRequest) -> Iterator[Roots]:
    """Yield what makes roots, unless they cannot be had here."""
    if os.geteuid() != 0:
        pytest.skip("roots are made by root")
    if "PYTEST_XDIST_WORKER" in os.environ:
        pytest.skip("a story is told in order, by one process: scripts/roots")
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        _give_up(request, f"these programs are missing: {', '.join(missing)}")
    if absent := [path.name for path in (OLDER, NEWER) if not path.exists()]:
        _give_up(request, f"not built in build/ (scripts/deb): {', '.join(absent)}")
    with in_memory() as folder:
        yield Roots(folder)


@pytest.fixture(scope="session", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    """The release that the story is of."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def it(request: pytest.FixtureRequest, roots: Roots, release: str) -> Iterator[Product]:
    """A machine of the release, which the package is not installed in at first."""
    yield from _booted(request, roots, release, "package")


@pytest.fixture(scope="session")
def newcomer(
    request: pytest.FixtureRequest, roots: Roots, release: str
) -> Iterator[Product]:
    """Another one."""
    yield from _booted(request, roots, release, "newcomer")


def _booted(
    request: pytest.FixtureRequest, roots: Roots, release: str, name: str
) -> Iterator[Product]:
    with ExitStack() as stack:
        # Nothing of ours is in it yet, so it is not our fault if it does not come up.
        try:
            machine = stack.enter_context(product(roots.copy(release, name)))
        except (RootError, MachineError) as error:
            _give_up(request, str(error))
        yield machine


def _give_up(request: pytest.FixtureRequest, why: str) -> NoReturn:
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\n*** THE PACKAGE WAS NOT TRIED IN ROOTS: {why}", flush=True)
    pytest.skip(f"no roots here: {why}")
