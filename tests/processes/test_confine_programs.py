"""A confined engine may read what it is made of, and no folder of a person."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from conduck_service.executors.confinement.places import devices, system_paths
from conduck_service.executors.confinement.programs import program_paths


def program(path: Path, head: str = "\x7fELF") -> Path:
    """Make a program that begins so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head, "latin-1")
    path.chmod(0o700)
    return path


def of(home: Path, *argv: str, path: str = "/nowhere") -> set[Path]:
    return program_paths(argv, path, str(home))


def test_a_program_alone_is_only_its_file(tmp_path: Path) -> None:
    alone = program(tmp_path / "bin/tool")
    assert of(tmp_path, str(alone)) == {alone}
    (tmp_path / "lib").mkdir()
    assert of(tmp_path / "other", str(alone)) == {alone}


def test_it_is_found_in_path_and_by_its_link(tmp_path: Path) -> None:
    real = program(tmp_path / "share/tool/1.2")
    link = tmp_path / "bin/tool"
    link.parent.mkdir()
    link.symlink_to(real)
    assert of(tmp_path, "tool", path=f"relative:{link.parent}") == {link, real}
    assert of(tmp_path, "missing", path=str(link.parent)) == set()


def test_a_package_of_node_comes_with_its_neighbours_and_node(tmp_path: Path) -> None:
    prefix = tmp_path / ".nvm/versions/node/v22"
    node = program(prefix / "bin/node")
    modules = prefix / "lib/node_modules"
    script = program(modules / "cli/node_modules/x/run.js", "#!/usr/bin/env -S node\n")
    link = prefix / "bin/cli"
    link.symlink_to(script)
    found = of(tmp_path, str(link), path=str(node.parent))
    assert {prefix, modules, node} <= found
    assert tmp_path not in found
    assert not any(path in tmp_path.parents for path in found)


def test_a_virtual_environment_comes_whole_and_with_its_python(tmp_path: Path) -> None:
    base = tmp_path / "pythons/3.12"
    python = program(base / "bin/python3.12")
    (base / "lib/python3.12").mkdir(parents=True)
    venv = tmp_path / "venv"
    inner = venv / "bin/python"
    tool = program(venv / "bin/tool", f"#!{inner}\n")
    inner.symlink_to(python)
    (venv / "pyvenv.cfg").touch()
    assert {venv, base, tool, inner, python} <= of(tmp_path, str(tool))
    long = program(
        venv / "bin/long", f"#!/bin/sh\n'''exec' \"{inner}\" \"$0\"\n' '''\n"
    )
    assert {venv, base} <= of(tmp_path, str(long))


@pytest.mark.parametrize("prefix", [".local", "."])
def test_of_a_home_only_the_libraries_are_read(tmp_path: Path, prefix: str) -> None:
    tool = program(tmp_path / prefix / "bin/tool")
    libraries = tmp_path / prefix / "lib/python3.11"
    libraries.mkdir(parents=True)
    (tmp_path / prefix / "pyvenv.cfg").touch()
    assert of(tmp_path, str(tool)) == {tool, libraries}


def test_what_the_engine_may_replace_says_nothing(tmp_path: Path) -> None:
    folder, secret = tmp_path / "folder", program(tmp_path / ".ssh/id")
    folder.mkdir()
    for name in ("script", "tool"):
        (folder / name).symlink_to(secret)
    other = program(tmp_path / "other", f"#!{folder / 'tool'}\n")
    chain = tmp_path / "chain"
    chain.symlink_to(folder / "script")
    words = ("sh", str(folder / "script"), str(other), str(chain))
    found = program_paths(words, "/bin", str(tmp_path), {folder})
    assert {path for path in found if tmp_path in path.parents} == {other}
    assert secret in program_paths(words, "/bin", str(tmp_path))


def test_files_that_argv_names_are_read_but_folders_are_not(tmp_path: Path) -> None:
    script = program(tmp_path / "agent/run.py", "#! /bin/sh -e\n")
    found = of(tmp_path, "sh", str(script), str(tmp_path), "run.py", "/no/such")
    assert {path for path in found if tmp_path in path.parents} == {script}
    assert tmp_path not in found


@pytest.mark.parametrize(
    "head", ["#!", "#!\n", "#!  \n", "#!/usr/bin/env\n", "", "#!/x"]
)
def test_odd_first_lines_hurt_nobody(tmp_path: Path, head: str) -> None:
    odd = program(tmp_path / "odd", head)
    assert odd in of(tmp_path, str(odd))
    ring = program(tmp_path / "ring", f"#!{tmp_path / 'ring'}\n")
    assert of(tmp_path, str(ring)) == {ring}


def test_this_python_can_be_run(tmp_path: Path) -> None:
    found = {os.path.realpath(path) for path in of(tmp_path, sys.executable)}
    own = {*found, *map(os.path.realpath, system_paths())}
    for needed in (sys.base_prefix + "/lib", sys.prefix):
        real = os.path.realpath(needed)
        assert any(real == path or real.startswith(path + "/") for path in own)


def test_the_system_is_no_place_of_persons_or_keys() -> None:
    places = {str(path) for path in system_paths()}
    for private in ("/", "/etc", "/home", "/root", "/var", "/run", "/tmp", "/etc/ssl"):
        assert private not in places
    for private in ("/etc/shadow", "/etc/sudoers", "/etc/ssl/private", "/etc/ssh"):
        assert private not in places
    assert Path("/dev/null") in devices()
    assert Path("/dev/pts") not in devices()
