"""The steps that make a bundle, each by itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import click
import pytest

from bundle import changelog
from bundle.archive import pack
from bundle.manual import manual
from bundle.trim import CompiledError, trim
from conduck_service.cli.main import group
from tests.support.trace import ROOT


@pytest.fixture
def lib(tmp_path: Path) -> Path:
    """Unpacked libraries in small."""
    lib = tmp_path / "lib"
    files = {
        "jaraco/functools.py": "",
        "one/tool.py": "#!/usr/bin/env python\nprint()\n",
        "one-1.dist-info/METADATA": "Name: one\n",
        "one-1.dist-info/licenses/LICENSE": "MIT\n",
        "one-1.dist-info/RECORD": "",
        "one-1.dist-info/WHEEL": "Generator: another each time\n",
        "falcon/bench/bench.py": "",
    }
    for name, text in files.items():
        (lib / name).parent.mkdir(parents=True, exist_ok=True)
        (lib / name).write_text(text, encoding="utf-8")
        (lib / name).chmod(0o755)
    return lib


def test_what_no_program_needs_is_left_out_and_licences_stay(lib: Path) -> None:
    trim(lib)
    files = {str(path.relative_to(lib)) for path in lib.rglob("*") if path.is_file()}
    assert files == {
        "jaraco/__init__.py",
        "jaraco/functools.py",
        "one/tool.py",
        "one-1.dist-info/METADATA",
        "one-1.dist-info/licenses/LICENSE",
    }
    assert (lib / "one/tool.py").read_text("utf-8") == "#\nprint()\n"
    assert {path.stat().st_mode & 0o777 for path in lib.rglob("*.py")} == {0o644}


@pytest.mark.parametrize("name", ["fast.so", "fast.cpython-311-darwin.so", "fast.pyd"])
def test_a_compiled_file_stops_the_build(lib: Path, name: str) -> None:
    (lib / "one" / name).touch()
    with pytest.raises(CompiledError, match="one/fast"):
        trim(lib)


def test_a_tarball_depends_on_nothing_but_the_files(tmp_path: Path) -> None:
    made = []
    for number, mask in enumerate((0o022, 0o077)):
        before = os.umask(mask)
        folder = tmp_path / str(number) / "conduck"
        folder.mkdir(parents=True)
        names = ["b", "a"] if number else ["a", "b"]
        for name in names:
            (folder / name).write_text(name, encoding="utf-8")
            os.utime(folder / name, (number, number))
        pack(folder, tmp_path / f"{number}.tar.xz", 1_700_000_000)
        made.append((tmp_path / f"{number}.tar.xz").read_bytes())
        os.umask(before)
    assert made[0] == made[1]
    with tarfile.open(tmp_path / "0.tar.xz") as archive:
        assert archive.getnames() == ["conduck", "conduck/a", "conduck/b"]
        assert {item.uid for item in archive} == {0}


def commands(inner: click.Group, context: click.Context, before: str = "") -> list[str]:
    """Return every command by its whole name."""
    found = []
    for name in inner.list_commands(context):
        command = inner.get_command(context, name)
        if isinstance(command, click.Group):
            found += commands(command, context, f"{before}{name} ")
        elif command is not None and not command.hidden:
            found.append(before + name)
    return found


def test_the_manual_page_tells_every_command() -> None:
    page = manual(group, "1.2.3", "2026-01-02")
    told = [line.replace("\\-", "-") for line in re.findall(r"^\.SS (.*)", page, re.M)]
    every = commands(group, click.Context(group))
    assert [words.split(" [")[0].split(" {")[0] for words in told] == every
    assert page == manual(group, "1.2.3", "2026-01-02")
    assert '.TH OPEN-CONDUIT 1 "2026-01-02" "conduck 1.2.3"' in page


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_the_manual_page_is_well_formed(tmp_path: Path) -> None:
    page = tmp_path / "page.1"
    page.write_text(manual(group, "1.2.3", "2026-01-02"), encoding="utf-8")
    groff = ["groff", "-man", "-Tutf8", "-ww", "-z", str(page)]
    assert not subprocess.run(groff, check=True, capture_output=True).stderr


def test_another_version_takes_the_place_of_the_newest() -> None:
    assert changelog.text("0.0.1~test").startswith("conduck (0.0.1~test) ")
    assert changelog.text().count("\n -- ") == changelog.text("9").count("\n -- ")


@pytest.fixture
def postrm(tmp_path: Path) -> Path:
    """The script that runs after a removal, on folders of this test."""
    text = (ROOT / "packaging/deb/postrm").read_text(encoding="utf-8")
    for place in ("/var/lib/conduck", "/srv/conduck", "/etc/systemd"):
        text = text.replace(place, f"{tmp_path}{place}")
        (tmp_path / place[1:]).mkdir(parents=True)
    (tmp_path / "var/lib/conduck/.config").mkdir()
    script = tmp_path / "postrm"
    script.write_text(text, encoding="utf-8")
    return script


def run_postrm(script: Path, word: str) -> str:
    """Run it in a root that has none of the programs that change users."""
    path = script.parent / "bin"
    path.mkdir()
    for program in ("rm", "rmdir", "find"):
        (path / program).symlink_to(shutil.which(program) or program)
    shell = shutil.which("sh") or "/bin/sh"
    done = subprocess.run(
        [shell, script, word],
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": str(path)},
    )
    return done.stderr


def test_a_purge_leaves_nothing_where_nothing_is_shared(postrm: Path) -> None:
    assert run_postrm(postrm, "purge") == ""
    assert not (postrm.parent / "var/lib/conduck").exists()
    assert not (postrm.parent / "srv/conduck").exists()


@pytest.mark.parametrize("place", ["srv/conduck", "var/lib/conduck/Conduck"])
def test_a_purge_keeps_the_files_of_a_working_folder(postrm: Path, place: str) -> None:
    folder = postrm.parent / place
    folder.mkdir(exist_ok=True)
    (folder / "report").touch()
    assert "has files and stays" in run_postrm(postrm, "purge")
    assert (folder / "report").exists()
    assert not (postrm.parent / "var/lib/conduck/.config").exists()


def test_a_purge_takes_our_drop_in_and_keeps_those_of_others(postrm: Path) -> None:
    folder = postrm.parent / "etc/systemd/system/conduck.service.d"
    folder.mkdir(parents=True)
    for name in ("10-run-as.conf", "20-mine.conf"):
        (folder / name).touch()
    run_postrm(postrm, "purge")
    assert [path.name for path in folder.iterdir()] == ["20-mine.conf"]


def test_a_removal_keeps_everything(postrm: Path) -> None:
    run_postrm(postrm, "remove")
    assert (postrm.parent / "var/lib/conduck/.config").exists()
    assert (postrm.parent / "srv/conduck").exists()
