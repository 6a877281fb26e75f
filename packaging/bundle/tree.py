"""The tree that every package unpacks: libraries, program, pages, completions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bundle.libraries import LIB, make_libraries
from bundle.pins import PACKAGING, ROOT

PROGRAM = "conduck_service"
_PROGRAMS = tuple(Path("debian", name) for name in ("open-conduit", "os", "rules"))
_VERSION = Path(PROGRAM) / "__init__.py"


def version() -> str:
    """Return the version of the program in this checkout."""
    names: dict[str, str] = {}
    exec((ROOT / _VERSION).read_text(encoding="utf-8"), names)  # noqa: S102
    return names["__version__"]


def tracked(*places: str) -> list[Path]:
    """Return the files below these places, relative to the checkout.

    It is what git knows, and what it would know of if it were asked now: nothing that
    was built or is ignored.
    """
    words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    git = ("git", "-c", "safe.directory=*", *words, "--", *places)
    listed = subprocess.run(git, cwd=ROOT, check=True, capture_output=True).stdout
    paths = [Path(name) for name in listed.decode().split("\0") if name]
    return [path for path in sorted(paths) if (ROOT / path).is_file()]


def copy_tracked(source: str, destination: Path) -> None:
    """Copy the files below a folder of the checkout."""
    for path in tracked(source):
        target = destination / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, target)


def make_tree(destination: Path, number: str) -> None:
    """Make the tree.

    Args:
        destination: A folder that is not there yet.
        number: The version that the program is to tell.
    """
    make_libraries()
    lib = destination / "lib"
    shutil.copytree(LIB, lib)
    copy_tracked(PROGRAM, lib / PROGRAM)
    module = lib / _VERSION
    text = module.read_text(encoding="utf-8")
    module.write_text(text.replace(version(), number), encoding="utf-8")
    shutil.copyfile(ROOT / "LICENSE", destination / "LICENSE")
    shutil.copyfile(PACKAGING / "deb/copyright", destination / "COPYRIGHT")
    _make_pages(lib, destination / "share")


def _make_pages(lib: Path, share: Path) -> None:
    """Make pages with the very libraries that are shipped, whatever is installed."""
    _python(lib, "-m", "bundle.pages", str(share))


def _python(lib: Path, *words: str) -> None:
    command: Sequence[str] = (sys.executable, "-S", "-P", "-B", *words)
    places = {"PYTHONPATH": f"{lib}:{PACKAGING}", "LC_ALL": "C.UTF-8"}
    subprocess.run(command, check=True, env=places)


def settle(folder: Path, epoch: int) -> None:
    """Give everything in a folder the modes and times that it has on every machine.

    Args:
        folder: What is settled, itself included.
        epoch: Seconds since 1970.
    """
    for path in [*sorted(folder.rglob("*")), folder]:
        is_program = path.relative_to(folder) in _PROGRAMS
        path.chmod(0o755 if path.is_dir() or is_program else 0o644)
        os.utime(path, (epoch, epoch))
