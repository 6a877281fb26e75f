"""Several at once in a file lane, and what has to hold however they meet."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.lane import Row, rows_of
from tests.support.lane_faults import Box, again_and_again
from tests.support.service import wait_until

_RESERVED = re.compile(r"\.conduck-[0-9a-f]{32}")
_STRONG = re.compile(r'"[^"]+"')


def reserved_in(folder: Path) -> list[Path]:
    """Return everything below a folder that has a name of the service."""
    return [path for path in folder.rglob("*") if _RESERVED.fullmatch(path.name)]


def strong_etag(box: Box, name: str) -> str:
    """Return the entity tag of a file, once it stands for these bytes alone."""
    wait_until(lambda: _STRONG.fullmatch(box.etag(name)))
    return box.etag(name)


def together(*actions: Callable[[], Any]) -> list[Any]:
    """Start actions at the same moment and return what each of them returned."""
    start = threading.Barrier(len(actions))

    def go(action: Callable[[], Any]) -> Any:
        start.wait()
        return action()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(go, actions))


@contextmanager
def always(check: Callable[[], object]) -> Iterator[None]:
    """Check something over and over during the block; it raises when it fails."""
    rounds = itertools.count()
    begun = threading.Event()

    def look() -> None:
        check()
        next(rounds)
        begun.set()

    with again_and_again(look):
        begun.wait(20)
        yield
    assert next(rounds) > 0


def visible(box: Box, name: str) -> Row:
    """Return the one row of a Depth 0 listing, which there has to be."""
    answer = box.lane.propfind(box.at(name), "0")
    assert answer.status == 207, answer
    (row,) = rows_of(answer.body)
    return row
