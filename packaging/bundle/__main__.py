"""``scripts/bundle``: make the tarball that packages are made of."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bundle.archive import pack
from bundle.changelog import epoch
from bundle.formula import formula
from bundle.pins import ROOT
from bundle.tree import make_tree, version


def main() -> None:
    """Make ``build/conduck-<version>-bundle.tar.xz``, and the formula for it."""
    number = version()
    file = ROOT / f"build/conduck-{number}-bundle.tar.xz"
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / f"conduck-{number}"
        make_tree(tree, number)
        pack(tree, file, epoch())
    (ROOT / "build/conduck.rb").write_text(formula(file), encoding="utf-8")
    print(f"made {file.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
