"""What the package takes: read from figures that scripts/roots took as root."""

from __future__ import annotations

import contextlib

from tests.bench.round import Row
from tests.roots.figures import Figures, read
from tests.roots.root import RELEASES
from tests.support.trace import REFERENCE

FOLDER = REFERENCE / "bench" / "package"

READY_SECONDS = 1.5
INSTALLED_MIB = 40.0


def ready(found: Figures) -> Row:
    """How soon the service tells systemd that it is ready, beside bare Python."""
    return Row(
        name=f"ready_{found.release}",
        what=f"start of the service until it is ready, in a root of {found.release} "
        f"with Python {found.python}",
        ours=round(found.ready, 3),
        peer=round(found.bare, 4),
        peer_name="`python3 -I -c pass` in the same root",
        unit="s, median",
        ratio=round(found.ready / found.bare, 2),
        bound=READY_SECONDS,
        samples=len(found.ready_seconds),
        notes={"worst_s": max(found.ready_seconds)},
    )


def installed(found: Figures) -> Row:
    """How much is installed, beside the Python that it needs."""
    return Row(
        name=f"installed_{found.release}",
        what=f"the package, installed in a root of {found.release}, with its bytecode",
        ours=found.installed_mib,
        peer=found.python_mib,
        peer_name="the Python of the same root",
        unit="MiB",
        ratio=round(found.installed_mib / found.python_mib, 3),
        bound=INSTALLED_MIB,
        samples=1,
        notes={"package_mib": found.package_mib},
    )


def measured() -> list[Figures]:
    """Return the figures that there are, in the order of the releases."""
    found = []
    for release in RELEASES:
        with contextlib.suppress(FileNotFoundError):
            found.append(read(release))
    return found


def rows(found: list[Figures]) -> list[Row]:
    """Return the rows of the page."""
    return [*map(ready, found), *map(installed, found)]
