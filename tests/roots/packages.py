"""The packages that are tried: made by scripts/deb before, as an ordinary user."""

from __future__ import annotations

from conduck_service import __version__
from tests.support.trace import ROOT

OLD = "0.0.1~test"
"""The version of a package of the same tree that counts as an older one."""

OLDER = ROOT / f"build/conduck_{OLD}_all.deb"
NEWER = ROOT / f"build/conduck_{__version__}_all.deb"
