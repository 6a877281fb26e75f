"""A Python of its own for a module of this program, wherever the program lies."""

from __future__ import annotations

import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_CODE = (
    "import runpy, sys; module = sys.argv.pop(1); sys.path.append(sys.argv.pop(1)); "
    "runpy.run_module(module, run_name='__main__', alter_sys=True)"
)


def module_argv(module: str, *, is_isolated: bool) -> tuple[str, ...]:
    """Return the words that run a module; arguments may follow.

    A package for a whole machine keeps program and libraries in a folder that no Python
    looks into of itself, so the folder is told.

    Args:
        module: Its whole name.
        is_isolated: Leave aside whatever the user or the environment adds to Python;
            else only the folder that the program happens to be called in. A program
            that is isolated itself gives that on in any case.
    """
    option = "-I" if is_isolated or sys.flags.isolated else "-P"
    return (sys.executable, option, "-c", _CODE, module, str(_ROOT))
