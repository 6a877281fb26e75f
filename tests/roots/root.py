"""Fresh roots of Debian releases, as small as people have them, with systemd."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RELEASES = ("bookworm", "trixie")
"""Debian 12 and 13."""

MIRROR = "http://deb.debian.org/debian"
INCLUDED = (
    *("systemd", "libpam-systemd", "dbus", "python3", "curl", "sudo"),
    "bubblewrap",
)
"""What a small server has, the last for one kind of engine."""

PROGRAMS = ("mmdebstrap", "systemd-nspawn", "nsenter")


class RootError(Exception):
    """A root could not be made, with what the program said."""


class Roots:
    """Makes one root a release, and copies of it.

    Args:
        folder: Where, best in memory.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def copy(self, release: str, name: str) -> Path:
        """Return a new copy of a root, for one story.

        Raises:
            RootError: It could not be made.
        """
        base, copy = self._folder / release, self._folder / f"{release}-{name}"
        if not base.exists():
            self._make(release)
        subprocess.run(["cp", "-a", str(base), str(copy)], check=True)
        return copy

    def _make(self, release: str) -> None:
        root = self._folder / release
        included = f"--include={','.join(INCLUDED)}"
        words = ["mmdebstrap", "--variant=minbase", included, release, str(root)]
        done = subprocess.run(
            [*words, MIRROR],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode != 0:
            raise RootError(done.stdout.decode("utf-8", "replace"))
        # Made here, it has the name of this machine, which nothing in it can look up.
        (root / "etc/hostname").write_text("root\n", "ascii")
        (root / "etc/hosts").write_text("127.0.0.1 localhost root\n", "ascii")


@contextmanager
def in_memory() -> Iterator[Path]:
    """Yield a folder in memory, or on the disk where it cannot be mounted."""
    folder = Path(tempfile.mkdtemp(prefix="conduck-roots."))
    mount = ["mount", "-t", "tmpfs", "-o", "size=6G,mode=755", "conduck-roots"]
    done = subprocess.run([*mount, str(folder)], capture_output=True, check=False)
    try:
        yield folder
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", str(folder)], check=True)
        shutil.rmtree(folder)
