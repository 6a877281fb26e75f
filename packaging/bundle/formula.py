"""The formula for Homebrew, with the digest of the tarball that it installs."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from bundle.pins import PACKAGING

FILE = PACKAGING / "homebrew/conduck.rb"


def formula(tarball: Path) -> str:
    """Return the formula for a tarball.

    Args:
        tarball: What ``scripts/bundle`` made.
    """
    digest = hashlib.sha256(tarball.read_bytes()).hexdigest()
    text = FILE.read_text(encoding="utf-8")
    return re.sub(r'sha256 "\w+"', f'sha256 "{digest}"', text)
