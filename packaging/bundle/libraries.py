"""The libraries of the bundle: fetched by hash, built where need be, and trimmed."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from bundle.pins import BUILDERS, FILE, ROOT, SOURCES, WHEELS, Pin, read_pins
from bundle.pip import UNIVERSAL, pip
from bundle.trim import trim

BUILD = ROOT / "build/bundle"
LIB = BUILD / "lib"
_STAMP = BUILD / "made-of"


def make_libraries() -> None:
    """Make ``build/bundle/lib``, unless it is made of these very versions already.

    Raises:
        CompiledError: There is a compiled file among them.
        subprocess.CalledProcessError: pip could not fetch or build one.
    """
    made_of = _made_of()
    if LIB.is_dir() and _STAMP.is_file() and _STAMP.read_text("utf-8") == made_of:
        return
    BUILD.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD.parent) as scratch:
        made = Path(scratch) / BUILD.name
        for wheel in _wheels(Path(scratch)):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(made / LIB.name)
        trim(made / LIB.name)
        (made / _STAMP.name).write_text(made_of, encoding="utf-8")
        # What is there is whole at any time: another build may be reading it.
        if BUILD.exists():
            BUILD.rename(Path(scratch) / "old")
        made.rename(BUILD)


def _made_of() -> str:
    """Return a digest of the list and of the code that makes something of it."""
    here = Path(__file__).parent
    sources = [FILE, *(here / f"{name}.py" for name in ("libraries", "pip", "trim"))]
    parts = b"".join(hashlib.sha256(path.read_bytes()).digest() for path in sources)
    return hashlib.sha256(parts).hexdigest()


def _wheels(scratch: Path) -> list[Path]:
    pins = read_pins(FILE.read_text(encoding="utf-8"))
    wheels = scratch / "wheels"
    _fetch(pins[WHEELS], wheels, UNIVERSAL)
    tools = scratch / "tools"
    wanted = _requirements(pins[BUILDERS], scratch / "builders.txt")
    pip("install", "--target", tools, "--no-deps", *wanted, *UNIVERSAL)
    # Without a compiler MarkupSafe builds as plain Python.
    more = {"PYTHONPATH": str(tools), "CC": "/bin/false"}
    wanted = _requirements(pins[SOURCES], scratch / "sources.txt")
    options = ("--no-deps", "--no-build-isolation", "--no-binary", ":all:")
    pip("wheel", "--wheel-dir", wheels, *options, *wanted, more=more)
    return sorted(wheels.glob("*.whl"))


def _fetch(pins: Sequence[Pin], folder: Path, options: Sequence[str]) -> None:
    folder.mkdir()
    wanted = _requirements(pins, folder.with_suffix(".txt"))
    pip("download", "--dest", folder, "--no-deps", *options, *wanted)


def _requirements(pins: Sequence[Pin], file: Path) -> tuple[str, str, str]:
    file.write_text("".join(f"{pin.line}\n" for pin in pins), encoding="utf-8")
    return "--require-hashes", "-r", str(file)
