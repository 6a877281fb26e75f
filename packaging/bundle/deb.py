"""``scripts/deb``: make the package for Debian and its kin out of a clean copy."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from bundle import changelog
from bundle.pins import ROOT
from bundle.tree import copy_tracked, make_tree, settle, version

UNITS = ("service", "sysusers", "tmpfiles")
"""Files of ``systemd/``, which debhelper looks for beside its own."""


def main() -> None:
    """Make ``build/conduck_<version>_all.deb``."""
    parser = argparse.ArgumentParser(prog="scripts/deb", description=__doc__)
    parser.add_argument("--version", help="another version than that of this checkout")
    number = parser.parse_args().version or version()
    result = ROOT / f"build/conduck_{number}_all.deb"
    with tempfile.TemporaryDirectory() as scratch:
        staged = Path(scratch) / "conduck"
        _stage(staged, number)
        _build(staged)
        result.parent.mkdir(exist_ok=True)
        # Whole or absent: others may be reading what an earlier build made.
        half = result.with_name(f".{os.getpid()}.deb")
        shutil.copyfile(Path(scratch) / result.name, half)
        half.replace(result)
    print(f"made {result.relative_to(ROOT)}")


def _stage(staged: Path, number: str) -> None:
    """Lay out what debhelper packs."""
    make_tree(staged, number)
    debian = staged / "debian"
    copy_tracked("packaging/deb", debian)
    (debian / "changelog").write_text(changelog.text(number), encoding="utf-8")
    for kind in UNITS:
        shutil.copyfile(ROOT / f"systemd/conduck.{kind}", debian / f"conduck.{kind}")
    settle(staged, changelog.epoch())


def _build(staged: Path) -> None:
    # The system's own programs: a Perl or Python of somebody else fits no debhelper.
    environment = {
        **os.environ,
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "LC_ALL": "C.UTF-8",
        "SOURCE_DATE_EPOCH": str(changelog.epoch()),
        "DH_QUIET": "1",
    }
    os.umask(0o022)
    build = ("dpkg-buildpackage", "--build=binary", "--no-sign")
    log = subprocess.run(
        build,
        cwd=staged,
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if log.returncode:
        print(log.stdout)
        raise SystemExit("scripts/deb: dpkg-buildpackage failed; see above")


if __name__ == "__main__":
    main()
