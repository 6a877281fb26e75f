"""What the service adds to a turn of each engine that is installed.

An engine takes seconds and varies by more than what is measured, so two runs of it
cannot be compared. Its own time is taken within the turn, by a shell script that
stands in its place: it notes the time, runs the engine, and notes the time again. What
is left of the turn is ours, the start of the script's shell included.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from pathlib import Path

from tests.bench.round import Row
from tests.bench.turns import seconds, send_turn
from tests.engines.serving import Bench, serving
from tests.presets.recording import BY_NAME, program_of
from tests.support.trace import REFERENCE

FOLDER = REFERENCE / "bench" / "engines"

BOUND = 25.0
ROUNDS = 11
_LOG = "bench-times"
_TIMED = """\
#!/bin/bash
printf '%s ' "$EPOCHREALTIME" >>{log}
{program} "$@"
status=$?
printf '%s\\n' "$EPOCHREALTIME" >>{log}
exit $status
"""


def installed() -> list[str]:
    """Return the engines that are installed on this machine."""
    return [name for name in BY_NAME if program_of(name).exists()]


def share(engine: str) -> Callable[[Path], Row]:
    """Return what measures our share of a turn of an engine."""
    return lambda root: _share(engine, root)


def _share(engine: str, root: Path) -> Row:
    # Beside the engine, so that it is held and found just as the engine is.
    script = program_of(engine).with_name(f"bench-{os.getpid()}")
    script.write_text(_TIMED.format(log=_LOG, program=program_of(engine)), "utf-8")
    script.chmod(0o755)
    try:
        reads = _environment_of(script)
        with serving(engine, root, program=str(script), confine_read=reads) as bench:
            for _ in range(2):
                _turn(bench)
            turns = [_turn(bench) for _ in range(ROUNDS)]
    finally:
        script.unlink()
    ours = statistics.median(turn - own for turn, own in turns)
    own = statistics.median(own for _, own in turns)
    return Row(
        name=f"share_{engine}",
        what=f"a turn of {BY_NAME[engine].label}, less the engine's own time",
        ours=round(ours * 1000, 1),
        peer=round(own * 1000, 1),
        peer_name="the engine's own time in the same turns",
        unit="ms, median",
        ratio=round(ours / own, 5),
        bound=BOUND,
        samples=ROUNDS,
        notes={"worst_ms": round(max(turn - own for turn, own in turns) * 1000, 1)},
    )


def _environment_of(script: Path) -> list[str]:
    """Return the places of Python that an engine in Python is found with."""
    python = script.with_name("python")
    if not python.exists():
        return []
    return [str(script.parent.parent), str(python.resolve().parent.parent)]


def _turn(bench: Bench) -> tuple[float, float]:
    """Take a turn; return its seconds, and those of the engine alone."""
    log = bench.service.folder / _LOG
    log.unlink(missing_ok=True)
    whole = seconds(lambda: send_turn(bench.service))
    began, ended = (float(word) for word in log.read_text("utf-8").split())
    return whole, ended - began


MEASUREMENTS = {f"share_{name}": share(name) for name in installed()}
