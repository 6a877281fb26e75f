"""What of the unpacked libraries is left out, and what none of them may hold."""

from __future__ import annotations

import shutil
from pathlib import Path

UNWANTED = (
    *("falcon/bench", "falcon/cmd", "certifi/tests", "wsgidav/samples"),
    *("*.dist-info/RECORD", "*.dist-info/INSTALLER", "*.dist-info/direct_url.json"),
    # WHEEL names the version of what built it, which differs from build to build.
    *("*.dist-info/REQUESTED", "*.dist-info/WHEEL", "*.data", "**/__pycache__"),
    *("*.dist-info/entry_points.txt", "*.dist-info/top_level.txt"),
)
COMPILED = ("**/*.so", "**/*.pyd", "**/*.dll", "**/*.dylib")
_SHARED = """\
__path__ = __import__("pkgutil").extend_path(__path__, __name__)
"""


class CompiledError(Exception):
    """Raised when a library brings machine code, which no package for all can hold."""


def trim(lib: Path) -> None:
    """Make unpacked libraries into what the bundle holds.

    Args:
        lib: The folder that they were unpacked into.

    Raises:
        CompiledError: There is a compiled file among them.
    """
    for pattern in UNWANTED:
        for path in sorted(lib.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    _refuse_compiled(lib)
    # Another jaraco/__init__.py anywhere on the machine would hide ours altogether.
    (lib / "jaraco/__init__.py").write_text(_SHARED, encoding="utf-8")
    for path in sorted(lib.rglob("*")):
        if path.is_file():
            _without_shebang(path)
        path.chmod(0o755 if path.is_dir() else 0o644)


def _refuse_compiled(lib: Path) -> None:
    found = [path for pattern in COMPILED for path in sorted(lib.glob(pattern))]
    if found:
        names = ", ".join(str(path.relative_to(lib)) for path in found)
        raise CompiledError(f"compiled files are not for every machine: {names}")


def _without_shebang(path: Path) -> None:
    """Take the first line off a module that says it is a program; none of them is."""
    if path.suffix != ".py":
        return
    content = path.read_bytes()
    if content.startswith(b"#!"):
        path.write_bytes(b"#" + content[content.index(b"\n") :])
