"""What is measured in a root: how soon the service is ready, and how much it takes."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.roots.packages import NEWER
from tests.roots.product import UNIT, Product
from tests.support.trace import ROOT

FOLDER = ROOT / "build/roots"
STARTS = 5

_BARE = (
    "import subprocess, sys, time; began = time.monotonic();"
    "subprocess.run([sys.executable, '-I', '-c', 'pass'], check=True);"
    "print(time.monotonic() - began)"
)
_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was measured in one root.

    Attributes:
        release: Debian's.
        python: Version of its Python.
        version: Of the package.
        ready_seconds: From the start of the daemon's process until systemd was told.
        bare_seconds: Python, with nothing to do, from start to end.
        installed_mib: The files below /usr/lib/conduck, with the bytecode that the
            installation makes.
        package_mib: The package itself.
        python_mib: The release's own Python, installed.
    """

    release: str
    python: str
    version: str
    ready_seconds: list[float]
    bare_seconds: list[float]
    installed_mib: float
    package_mib: float
    python_mib: float

    @property
    def ready(self) -> float:
        """The median of the starts, in seconds."""
        return statistics.median(self.ready_seconds)

    @property
    def bare(self) -> float:
        """The median of Python alone, in seconds."""
        return statistics.median(self.bare_seconds)


def measure(product: Product, release: str) -> Figures:
    """Start the service a few times and look at what the package takes."""
    machine = product.machine
    ready, bare = [], []
    for _ in range(STARTS):
        machine.says("systemctl", "reset-failed", UNIT)  # it counts starts
        machine.says("systemctl", "restart", UNIT)
        began = int(product.unit("ExecMainStartTimestampMonotonic"))
        ready.append((int(product.unit("ActiveEnterTimestampMonotonic")) - began) / 1e6)
        bare.append(float(machine.says("python3", "-I", "-c", _BARE)))
    return Figures(
        release=release,
        python=machine.says("python3", "--version").removeprefix("Python "),
        version=product.version,
        ready_seconds=[round(value, 3) for value in ready],
        bare_seconds=[round(value, 4) for value in bare],
        installed_mib=_mib(machine.path("/usr/lib/conduck")),
        package_mib=round(NEWER.stat().st_size / _MIB, 1),
        python_mib=_mib(*machine.path("/usr/lib").glob("python3*")),
    )


def _mib(*folders: Path) -> float:
    files = (path for folder in folders for path in folder.rglob("*"))
    sizes = (path.lstat().st_size for path in files if not path.is_symlink())
    return round(sum(sizes) / _MIB, 1)


def save(figures: Figures) -> None:
    """Keep the figures for the page on performance."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(figures), indent=1) + "\n"
    (FOLDER / f"figures-{figures.release}.json").write_text(text, "ascii")


def read(release: str) -> Figures:
    """Return what was measured last.

    Raises:
        OSError: Nothing was.
    """
    text = (FOLDER / f"figures-{release}.json").read_text("ascii")
    return Figures(**json.loads(text))
