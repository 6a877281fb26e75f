"""Turns of a model without tools: it says what to do with files, and we do it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from conduck_service.domain.execution import FailureCode, Usage
from conduck_service.executors.file_actions import DONE, WRITE, FileActions
from conduck_service.executors.preset.blocks import INSTRUCTIONS, split_reply
from conduck_service.extension.executor import Completed, Failed, RunResult

MOST_ROUNDS = 8
"""How often the model is asked in one turn."""

MOST_ACTIONS = 50
"""Blocks that are carried out in one turn (C-SEC-14)."""

_GO_ON = "Go on with the message above, and do not repeat what is done."
_WANT_WORDS = "Reply to the message above in words now, without a block."


def act(
    ask: Callable[[str], RunResult], message: str, actions: FileActions
) -> RunResult:
    """Return the words of a turn once its blocks are carried out.

    The model has no session, so it is shown the whole turn each time.

    Args:
        ask: Runs the engine once with a prompt.
        message: The prompt of the turn.
        actions: Carries out what the blocks say.
    """
    prompt = INSTRUCTIONS + message
    usages: list[Usage | None] = []
    done = 0
    for _ in range(MOST_ROUNDS):
        result = ask(prompt)
        if not isinstance(result, Completed):
            return result
        usages.append(result.usage)
        words, blocks = split_reply(result.answer)
        done += len(blocks)
        if done > MOST_ACTIONS:
            return Failed(FailureCode.ENGINE_ERROR, "too many files in one turn")
        told = [actions.run(block.name, block.arguments) for block in blocks]
        is_done = all(
            block.name == WRITE and answer.startswith(DONE)
            for block, answer in zip(blocks, told, strict=True)
        )
        if is_done and words.strip():
            return replace(result, answer=words, usage=_total(usages))
        prompt = "\n\n".join(
            (
                prompt,
                "Your reply to that:",
                result.answer,
                "What came of it:",
                *told,
                _WANT_WORDS if is_done else _GO_ON,
            )
        )
    return Failed(FailureCode.NO_ANSWER, "the model only asked for files")


def _total(usages: Sequence[Usage | None]) -> Usage | None:
    """Return the usage of the turn; what is unknown of a round is unknown of it."""
    known = [usage for usage in usages if usage is not None]
    if len(known) < len(usages):
        return None
    return Usage(
        prompt_tokens=_sum([usage.prompt_tokens for usage in known]),
        completion_tokens=_sum([usage.completion_tokens for usage in known]),
        total_tokens=_sum([usage.total_tokens for usage in known]),
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
