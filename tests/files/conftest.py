"""One daemon with a lane for the tests of a module, and a folder in it for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.lane import Lane, serving_files
from tests.support.lane_faults import ORDINARY, Box, new_box, serving_through
from tests.support.service import Service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A daemon that runs as the tests do."""
    with serving_files(tmp_path_factory.mktemp("lane")) as running:
        yield running


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A daemon to which modes apply, even if root runs the tests."""
    with serving_through(tmp_path_factory.mktemp("lane"), ORDINARY) as running:
        yield running


@pytest.fixture
def lane(service: Service) -> Lane:
    return Lane.of(service)


@pytest.fixture
def box(service: Service) -> Box:
    return new_box(service)


@pytest.fixture
def plain_box(ordinary: Service) -> Box:
    """A folder where modes apply."""
    return new_box(ordinary)
