"""The one body that a good turn is answered with."""

from __future__ import annotations

from typing import Any

from conduck_service.base.jsonio import dump
from conduck_service.domain.execution import Usage
from conduck_service.extension.ingress import TurnReply


def answer_body(reply: TurnReply) -> bytes:
    """Return the reply as strict JSON: one choice, and metadata that is known.

    Keeps: C-RESP-03, C-RESP-21, C-META-01, C-META-04.
    """
    choice: dict[str, Any] = {"message": {"role": "assistant", "content": reply.answer}}
    if reply.finish is not None:
        choice["finish_reason"] = reply.finish.value
    body: dict[str, Any] = {
        "id": reply.turn_id,
        "model": reply.model_id,
        "choices": [choice],
    }
    usage = _counts(reply.usage)
    if usage:
        body["usage"] = usage
    return dump(body)


def _counts(usage: Usage | None) -> dict[str, int]:
    if usage is None:
        return {}
    counts = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None}
