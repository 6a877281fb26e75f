"""Packages that are installed beside the service."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conduck_service.extension.installed import GROUP, find_installed
from conduck_service.extension.registry import (
    Package,
    RegistrationError,
    Registry,
)
from tests.support import sample_package
from tests.support.sample_package import install, sample_environment

OTHER = """
from conduck_service.extension.registry import Package
PACKAGE = Package(name={name!r})
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder into which distributions can be installed for the test."""
    (tmp_path / "site").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.partition(".")[0] != "conduck_service":
            del sys.modules[name]


def test_the_tests_use_the_group_of_the_service() -> None:
    assert sample_package.GROUP == GROUP


def test_a_package_is_found_by_its_name(site: Path) -> None:
    sample_environment(site)
    package = find_installed("sample")
    assert package is not None
    assert package.name == "sample"
    assert "able" in Registry.of(package).executors


def test_what_is_not_installed_is_not_found(site: Path) -> None:
    sample_environment(site)
    assert find_installed("sampl") is None
    assert find_installed("conduck_sample") is None


def test_nothing_else_is_imported(site: Path) -> None:
    install(site, "loud", "raise RuntimeError")
    install(site, "calm", OTHER.format(name="calm"))
    assert find_installed("calm") == Package(name="calm")
    assert "conduck_calm" in sys.modules
    assert "conduck_loud" not in sys.modules


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("raise KeyError('canary')", KeyError),
        ("import no_such_module", ImportError),
        ("PACKAGE = (", SyntaxError),
        ("", AttributeError),
        ("raise SystemExit(3)", RegistrationError),
        ("PACKAGE = 'canary'", RegistrationError),
        (OTHER.format(name="canary"), RegistrationError),
    ],
)
def test_faulty_code_raises_an_ordinary_error(
    site: Path, source: str, error: type[Exception]
) -> None:
    install(site, "faulty", source)
    with pytest.raises(error) as raised:
        find_installed("faulty")
    if raised.type is RegistrationError:
        assert "canary" not in str(raised.value)


def test_one_name_in_two_distributions_is_an_error(site: Path) -> None:
    install(site, "twin", OTHER.format(name="twin"))
    info = site / "site" / "another-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: another\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\ntwin = conduck_twin:PACKAGE\n")
    with pytest.raises(RegistrationError):
        find_installed("twin")
