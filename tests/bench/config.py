"""What ``config check`` costs beside parsing the same file, and how that grows."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.round import Row
from tests.bench.turns import seconds
from tests.support.trace import REFERENCE

FOLDER = REFERENCE / "bench" / "config"

PROGRAM = (str(Path(sys.executable).with_name("open-conduit")),)
BRANCHES = 10
OWN = 5
"""Bindings, and as many routes, that each scope has of its own."""

_PARSE = "import json, sys; json.load(open(sys.argv[1], encoding='utf-8'))"
_MEASURED = (
    "import os, sys; pid = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:]);"
    "_, status, used = os.wait4(pid, 0);"
    "print(used.ru_utime + used.ru_stime, used.ru_maxrss); sys.exit(status != 0)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a command took: processor seconds, and its peak memory in MiB."""

    cpu: float
    peak: float


def tree(count: int, folder: str) -> dict[str, Any]:
    """Return a document of scopes in a tree, each with entries of its own."""
    return {"version": 1, "scopes": [_scope(number, folder) for number in range(count)]}


def _scope(number: int, folder: str) -> dict[str, Any]:
    names = [f"{number}_{own}" for own in range(OWN)]
    scope: dict[str, Any] = {
        "id": f"s{number}",
        "name": f"Scope {number}",
        "bindings": [
            {
                "name": f"b{name}",
                "executor": "command",
                "config": {"argv": ["sh", "-c", "echo hi"], "cwd": folder},
            }
            for name in names
        ],
        "routes": [
            {
                "name": f"r{name}",
                "handler": "chat",
                "binding": f"b{name}",
                "active_policy": "queue",
                "config": {"models": [f"m{name}"]},
            }
            for name in names
        ],
    }
    if number:
        scope["parent"] = f"s{(number - 1) // BRANCHES}"
    return scope


def effective_entries(count: int) -> int:
    """Return how many bindings and routes are in force in all scopes together."""
    depths = [1] * count
    for number in range(1, count):
        depths[number] = depths[(number - 1) // BRANCHES] + 1
    return sum(depths) * OWN * 2


def written(root: Path, count: int) -> Path:
    """Write such a document where a check takes it."""
    folder = root / "config"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{count}.json"
    path.write_text(json.dumps(tree(count, str(root))), encoding="utf-8")
    path.chmod(0o600)
    return path


def cost_of(argv: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run a command that must succeed, and return what it took."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, *argv],
        env=dict(environment),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    cpu, peak = done.stdout.split()[-2:]
    kib = int(peak) if sys.platform == "linux" else int(peak) // 1024
    return Cost(cpu=float(cpu), peak=kib / 1024)


def time_of(argv: Sequence[str], environment: Mapping[str, str]) -> float:
    """Run a command that must succeed, and return the seconds that passed."""

    def run() -> None:
        subprocess.run(argv, env=dict(environment), capture_output=True, check=True)

    return seconds(run)


def environment_of(root: Path) -> dict[str, str]:
    """Return variables under which no config but ours is found."""
    return {"PATH": os.environ["PATH"], "HOME": str(root)}


def check_seconds(root: Path) -> Row:
    """A check of 1,000 scopes, by the clock, beside parsing the file."""
    path, environment = written(root, 1000), environment_of(root)
    check = [*PROGRAM, "config", "check", str(path)]
    parse = [sys.executable, "-c", _PARSE, str(path)]
    ours: list[float] = []
    peer: list[float] = []
    peaks = []
    for _ in range(7):
        ours.append(time_of(check, environment))
        peer.append(time_of(parse, environment))
        peaks.append(cost_of(check, environment).peak)
    median, median_peer = statistics.median(ours), statistics.median(peer)
    return Row(
        name="check_1000",
        what="`config check` of 1,000 scopes in a tree of depth 4, with 5 bindings and "
        "5 routes of their own each",
        ours=round(median, 3),
        peer=round(median_peer, 3),
        peer_name="`json.load` of the file in a new Python",
        unit="s, median",
        ratio=round(median / median_peer, 3),
        bound=2.0,
        samples=len(ours),
        notes={"peak_mib": round(max(peaks), 1)},
    )


def check_memory(root: Path) -> Row:
    """The peak memory of that check beside that of parsing the file."""
    path, environment = written(root, 1000), environment_of(root)
    ours = cost_of([*PROGRAM, "config", "check", str(path)], environment).peak
    peer = cost_of([sys.executable, "-c", _PARSE, str(path)], environment).peak
    return Row(
        name="check_1000_memory",
        what="peak memory of that check",
        ours=round(ours, 1),
        peer=round(peer, 1),
        peer_name="`json.load` of the file in a new Python",
        unit="MiB",
        ratio=round(ours / peer, 3),
        bound=300.0,
        samples=1,
        notes={},
    )


def growth(root: Path, count: int) -> Row:
    """Processor time for an effective entry, beside that of a tenth of the scopes."""
    environment = environment_of(root)
    nothing = [*PROGRAM, "config", "check", str(written(root, 1))]
    start = min(cost_of(nothing, environment).cpu for _ in range(5))

    def each(scopes: int, rounds: int) -> float:
        argv = [*PROGRAM, "config", "check", str(written(root, scopes))]
        least = min(cost_of(argv, environment).cpu for _ in range(rounds))
        return (least - start) / effective_entries(scopes) * 1e6

    peer, ours = each(count // 10, 5), each(count, 2 if count > 1000 else 5)
    return Row(
        name=f"check_{count}_each",
        what=f"processor time of `config check` for each effective entry of {count:,} "
        "scopes, less that of starting",
        ours=round(ours, 1),
        peer=round(peer, 1),
        peer_name=f"the same for {count // 10:,} scopes",
        unit="µs",
        ratio=round(ours / peer, 3),
        limit=1.3,
        samples=2,
        notes={"effective_entries": effective_entries(count)},
    )


def version(root: Path) -> Row:
    """How soon the command is there, beside Python itself."""
    environment = environment_of(root)
    ours: list[float] = []
    peer: list[float] = []
    for _ in range(31):
        for argv, times in (
            ([*PROGRAM, "--version"], ours),
            ([sys.executable, "-c", "pass"], peer),
        ):
            times.append(cost_of(argv, environment).cpu)
    median, median_peer = statistics.median(ours), statistics.median(peer)
    return Row(
        name="version",
        what="`open-conduit --version`, processor time",
        ours=round(median * 1000, 1),
        peer=round(median_peer * 1000, 1),
        peer_name="`python -c pass`",
        unit="ms, median",
        ratio=round(median / median_peer, 3),
        limit=8.0,
        samples=len(ours),
        notes={},
    )


MEASUREMENTS = {
    "check_1000": check_seconds,
    "check_1000_memory": check_memory,
    "check_1000_each": lambda root: growth(root, 1000),
    "check_10000_each": lambda root: growth(root, 10_000),
    "version": version,
}
