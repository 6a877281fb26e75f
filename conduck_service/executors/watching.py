"""Watches over a running engine until nothing of it is left."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from conduck_service.base.processes import Ended, ProcessTree
from conduck_service.domain.execution import FailureCode
from conduck_service.executors.answer_files import answer_size
from conduck_service.executors.command_settings import CommandConfig
from conduck_service.executors.streams import EngineFile
from conduck_service.extension.executor import ExecutionContext, Failed

TICK_SECONDS = 0.025
"""Between looks at deadline, peer and output of a running engine.

Short, because an engine that prints without end fills memory in between.
"""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What an engine reads and writes."""

    stdin: EngineFile
    stdout: EngineFile
    stderr: EngineFile
    answer_file: Path | None


def supervise(
    tree: ProcessTree, files: Files, config: CommandConfig, context: ExecutionContext
) -> Failed | None:
    """Wait until the tree is gone; return why the turn failed, if it did.

    Whatever is raised in here, the tree is gone first.
    """
    try:
        cut, ended = _watch(tree, files, config, context)
    except BaseException:
        tree.end(0)
        while tree.wait(TICK_SECONDS) is None:
            pass
        raise
    if ended.leftovers:
        _LOG.warning(
            "processes of a turn could not be ended",
            extra={
                "action": "leftovers",
                "execution": context.execution_id,
                "count": ended.leftovers,
            },
        )
    if cut is not None:
        return Failed(cut)
    if ended.status:
        kind = FailureCode.EXIT if ended.status > 0 else FailureCode.CRASH
        return Failed(kind, f"exit status {ended.status}")
    return None


def _watch(
    tree: ProcessTree, files: Files, config: CommandConfig, context: ExecutionContext
) -> tuple[FailureCode | None, Ended]:
    """Return why the engine was cut short, if it was, and how its tree ended."""
    cut: FailureCode | None = None
    while (ended := tree.wait(TICK_SECONDS)) is None:
        if _is_over(files, config):
            cut = cut or FailureCode.OUTPUT_LIMIT
            _end_flood(tree, files)
        elif cut is None and (cut := context.interrupted()):
            tree.end(config.kill_grace_seconds)
    # What was printed between the last look and the end counts as well.
    if cut is None and _is_over(files, config):
        cut = FailureCode.OUTPUT_LIMIT
    return cut, ended


def _is_over(files: Files, config: CommandConfig) -> bool:
    size = max(files.stdout.size(), files.stderr.size())
    if files.answer_file is not None:
        size = max(size, answer_size(files.answer_file))
    return size > config.max_output_bytes


def _end_flood(tree: ProcessTree, files: Files) -> None:
    """End who floods us, in its grace as well: at once and with no more room."""
    files.stdout.close_writing()
    files.stderr.close_writing()
    tree.end(0)
