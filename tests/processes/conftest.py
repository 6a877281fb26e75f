"""A bench for each way of supervision."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from conduck_service.base.processes import Supervisor
from conduck_service.base.supervision.grouped import GroupSupervisor
from conduck_service.base.supervision.kept import KeptSupervisor
from tests.support.misbehaving import Bench

IS_LINUX = os.uname().sysname == "Linux"


@pytest.fixture
def marker() -> str:
    return f"test{secrets.token_hex(4)}.{secrets.token_hex(8)}"


@pytest.fixture(scope="session")
def kept() -> Iterator[KeptSupervisor]:
    if not IS_LINUX:
        pytest.skip("wardens are for Linux")
    supervisor = KeptSupervisor("test")
    yield supervisor
    supervisor.close()


@pytest.fixture(params=["kept", "grouped"])
def supervisor(request: pytest.FixtureRequest) -> Supervisor:
    if request.param == "grouped":
        return GroupSupervisor()
    kept: KeptSupervisor = request.getfixturevalue("kept")
    return kept


@pytest.fixture
def bench(supervisor: Supervisor, tmp_path: Path, marker: str) -> Iterator[Bench]:
    bench = Bench(supervisor, tmp_path, marker)
    yield bench
    bench.close()


@pytest.fixture
def kept_bench(kept: KeptSupervisor, tmp_path: Path, marker: str) -> Iterator[Bench]:
    bench = Bench(kept, tmp_path, marker)
    yield bench
    bench.close()
