"""The texts of the packages say the same as the program that they pack."""

from __future__ import annotations

import ast
import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bundle import changelog
from bundle.formula import FILE as FORMULA
from bundle.formula import formula
from bundle.pins import FILE, SECTIONS, SOURCES, WHEELS, read_pins, written
from bundle.vendor import UNUSED
from conduck_service import __version__
from tests.support.trace import ROOT

DEB = ROOT / "packaging/deb"
SCRIPTS = ("postinst", "prerm", "postrm")
PINS = read_pins(FILE.read_text(encoding="utf-8"))
BUNDLED = [pin.name for section in (WHEELS, SOURCES) for pin in PINS[section]]
MODULES = {"Jinja2": "jinja2", "MarkupSafe": "markupsafe"}


def test_the_list_of_libraries_is_as_it_was_written() -> None:
    assert written(PINS) == FILE.read_text(encoding="utf-8")
    assert all(PINS[section] for section in SECTIONS)


def test_a_line_that_is_no_pin_is_refused() -> None:
    with pytest.raises(ValueError, match="not a pin"):
        read_pins("# [wheels] Some.\nclick>=8\n")


def test_every_dependency_is_bundled_or_known_to_be_unused() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = {
        re.split(r"[^\w.-]", line)[0] for line in project["project"]["dependencies"]
    }
    assert wanted - set(BUNDLED) <= UNUSED
    assert not UNUSED & {name.lower() for name in BUNDLED}


def test_the_program_imports_nothing_that_is_not_bundled() -> None:
    bundled = {MODULES.get(name, name).split(".")[0] for name in BUNDLED}
    known = bundled | sys.stdlib_module_names | {"conduck_service"}
    elsewhere = {"keyring", "_typeshed"}
    for path in sorted((ROOT / "conduck_service").rglob("*.py")):
        assert imported(path) <= known | elsewhere, path


def test_what_is_printed_needs_none_of_what_rich_has_for_code() -> None:
    blocked = "import sys; sys.modules.update(pygments=None, markdown_it=None)\n"
    printing = """
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text
console = Console(force_terminal=True)
table = Table("a", "b")
table.add_row(escape("[1]"), Text("2"))
console.print(table)
with Live(Spinner("dots"), console=console):
    pass
"""
    words = [sys.executable, "-c", blocked + printing]
    subprocess.run(words, check=True, capture_output=True)


def imported(path: Path) -> set[str]:
    """Return the first part of every module that a file imports."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [item.name for item in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
    return {name.split(".")[0] for name in names}


def test_the_package_has_the_version_of_the_program() -> None:
    assert changelog.version() == __version__


def test_the_copyright_names_every_library_that_is_bundled() -> None:
    text = (DEB / "copyright").read_text(encoding="utf-8")
    named = re.findall(r"^Comment: (\S+)$", text, re.MULTILINE)
    assert sorted(named) == sorted(BUNDLED)
    licences = set(re.findall(r"^License: (.+)$", text, re.MULTILINE))
    single = {part for licence in licences for part in licence.split(" and ")}
    for licence in single:
        assert f"\nLicense: {licence}\n " in text, licence


def test_nothing_recommended_keeps_an_offline_machine_from_installing() -> None:
    control = (DEB / "control").read_text(encoding="utf-8")
    assert "Recommends" not in control
    depends = control.split("\nDepends: ")[1].split("\nSuggests")[0]
    assert re.split(r",\s*", depends) == [
        "python3 (>= 3.11)",
        "systemd | systemd-standalone-sysusers | systemd-sysusers",
        "${misc:Depends}",
        "${python3:Depends}",
    ]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_maintainer_script_is_sound_and_starts_nothing(name: str) -> None:
    script = DEB / name
    subprocess.run(["sh", "-n", script], check=True)
    text = script.read_text(encoding="utf-8")
    assert text.startswith("#!/bin/sh\nset -e\n")
    assert not re.search(
        r"^\s*(deb-systemd-invoke|systemctl) (enable|start|restart)\b", text, re.M
    )
    assert "#DEBHELPER#" in text


@pytest.mark.req("P-03")
def test_the_formula_installs_the_tarball_of_this_version(tmp_path: Path) -> None:
    text = FORMULA.read_text(encoding="utf-8")
    assert f'version "{__version__}"' in text
    assert f'conduck-{__version__}-bundle.tar.xz"' in text
    tarball = tmp_path / "bundle"
    tarball.write_bytes(b"bundle")
    digest = hashlib.sha256(b"bundle").hexdigest()
    assert re.findall(r'sha256 "(\w+)"', formula(tarball)) == [digest]
    if shutil.which("ruby"):
        subprocess.run(["ruby", "-c", FORMULA], check=True, capture_output=True)


@pytest.mark.req("P-09")
def test_the_tests_need_pytest_and_the_service_does_not() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extra = project["optional-dependencies"]["test"]
    assert any(item.startswith("pytest>=") for item in extra)
    assert not any(item.startswith("pytest") for item in project["dependencies"])
