"""What the program of an engine says to a small question; nothing of it stays."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from conduck_service.base.supervision.launch import MARKER
from conduck_service.base.supervision.sweep import kill_family
from conduck_service.secrets.bounded import TooMuchOutputError, run_bounded

SECONDS = 20.0
"""How long an engine may take to say its version; Node's need several at first."""

_MOST_BYTES = 1 << 16

_WITH_ERRORS = '"$0" "$@" 2>errors; status=$?; head -c 4096 errors; exit $status'
"""For the shell: some engines print their version where errors go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What came of a question.

    Attributes:
        why: Why there is no good answer; empty when there is one.
        status: Exit status; None when the program did not come to its end.
        text: What was printed.
    """

    why: str = ""
    status: int | None = None
    text: str = field(default="", repr=False)


def ask_program(argv: tuple[str, ...], environment: Mapping[str, str]) -> Said:
    """Run a program in an empty home; each is asked the same once.

    Args:
        argv: Its path and its arguments.
        environment: Its variables, without those of the home.
    """
    return _ask(argv, tuple(sorted(environment.items())))


@cache
def _ask(argv: tuple[str, ...], environment: tuple[tuple[str, str], ...]) -> Said:
    marker = f"doctor.{secrets.token_hex(16)}"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        own = {"HOME": home, "TMPDIR": home, MARKER: marker}
        try:
            finished = run_bounded(
                ("/bin/sh", "-c", _WITH_ERRORS, *argv),
                environment=dict(environment) | own,
                folder=Path(home),
                seconds=SECONDS,
                limit=_MOST_BYTES,
            )
        except TimeoutError:
            return Said(why=f"no answer within {SECONDS:.0f} s")
        except TooMuchOutputError:
            return Said(why="it prints too much")
        except (OSError, ValueError) as error:
            return Said(why=os.strerror(getattr(error, "errno", None) or 0))
        finally:
            # What has begun a session of its own is in no group that was ended.
            kill_family(MARKER, marker)
    why = f"exit status {finished.status}" if finished.status else ""
    text = finished.output.decode("utf-8", "replace")
    return Said(why=why, status=finished.status, text=text)
