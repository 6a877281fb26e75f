"""What a person sees while a command works, and words that are safe to print."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text


@contextmanager
def progress(*, is_quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Give what is told each step; a terminal shows the present one.

    It goes to standard error, and nowhere when that is no terminal.

    Args:
        is_quiet: Show nothing.
    """
    console = Console(stderr=True, highlight=False)
    if is_quiet or not console.is_terminal:
        yield lambda _step: None
        return
    spinner = Spinner("dots")
    # What is printed meanwhile has to make way for it only on the same terminal;
    # elsewhere it would not arrive where it was sent.
    is_shared = sys.stdout.isatty()
    with Live(
        spinner,
        console=console,
        transient=True,
        redirect_stdout=is_shared,
        redirect_stderr=is_shared,
    ):
        yield lambda step: spinner.update(text=Text(safe(step)))


def safe(text: str) -> str:
    """Return a text without anything that would move a cursor."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)
