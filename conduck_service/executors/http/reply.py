"""What an OpenAI-style server answered, or why that is no answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from conduck_service.base.jsonio import JsonValue
from conduck_service.domain.execution import FailureCode, Finish, Usage
from conduck_service.executors.http.exchange import Response
from conduck_service.executors.http.stream import StreamError, assemble, tells_failure
from conduck_service.executors.results import LENIENT
from conduck_service.extension.executor import Failed

_OVERFLOW = re.compile(
    r"context_length_exceeded|maximum context length|ContextWindowExceeded"
    r"|exceed_context_size|exceeds the available context size",
    re.IGNORECASE,
)
"""Words of the usual servers for a conversation that is too long for the model."""

_FAILED_FINISHES = frozenset({"error", "content_filter"})
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of the model.

    Attributes:
        text: What it said; empty when it said nothing.
        calls: Its calls of tools, as it wrote them.
        finish: Why it stopped, as far as that is passed on (C-META-12).
        usage: What the server counted, unchecked.
    """

    text: str = field(repr=False)
    calls: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    finish: Finish | None = None
    usage: JsonValue = None


def read_reply(response: Response) -> Reply | Failed:
    """Return the answer in a response.

    Only 200 with a usable choice is one: servers tell errors as success too
    (C-RESP-15 to C-RESP-17).
    """
    if response.status != 200:
        return _refused(response)
    try:
        body = _body_of(response.body)
    except (StreamError, ValueError, RecursionError):
        return Failed(FailureCode.ENGINE_ERROR, "the response cannot be read")
    if not isinstance(body, dict):
        return Failed(FailureCode.ENGINE_ERROR, "the response is no object")
    if tells_failure(body):
        if _is_overflow(body):
            return Failed(FailureCode.CONTEXT_TOO_LONG)
        return Failed(FailureCode.ENGINE_ERROR, "an error with status 200")
    return _choice_of(body)


def _body_of(data: bytes) -> JsonValue:
    """Return the JSON of a body; some servers stream without being asked to."""
    start = data[:64].lstrip()
    if start.startswith((b"data:", b"event:", b"id:", b"retry:", b":")):
        return assemble(data)
    return LENIENT.decode(data.decode("utf-8", "replace").removeprefix("\ufeff"))


def _refused(response: Response) -> Failed:
    # C-ERR-07: other statuses may come from anything in between.
    if response.status == 400:
        try:
            body = LENIENT.decode(response.body.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            body = None
        if _is_overflow(body):
            return Failed(FailureCode.CONTEXT_TOO_LONG)
    return Failed(FailureCode.ENGINE_ERROR, f"status {response.status}")


def _is_overflow(body: JsonValue) -> bool:
    """Say whether an error is about the length of the conversation."""
    if not isinstance(body, dict):
        return False
    inner = body.get("error")
    told = [inner, body.get("message"), body.get("code"), body.get("detail")]
    if isinstance(inner, dict):
        told += [inner.get(key) for key in ("code", "type", "message")]
    return any(isinstance(words, str) and _OVERFLOW.search(words) for words in told)


def _choice_of(body: dict[str, Any]) -> Reply | Failed:
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return Failed(FailureCode.ENGINE_ERROR, "there is no choice in the response")
    finish = choice.get("finish_reason")
    if isinstance(finish, str) and finish in _FAILED_FINISHES:
        return Failed(FailureCode.ENGINE_ERROR, f"finish reason {finish}")
    content = message.get("content")
    calls = message.get("tool_calls")
    return Reply(
        text=content if isinstance(content, str) else "",
        calls=tuple(
            call
            for call in (calls if isinstance(calls, list) else ())
            if isinstance(call, dict)
        ),
        finish=Finish(finish) if finish in tuple(Finish) else None,
        usage=body.get("usage"),
    )


def total_usage(usages: Sequence[JsonValue]) -> Usage | None:
    """Return what all calls of the model in one turn used together (C-META-07).

    A count that is malformed or missing in one of them is left out: a part would be
    less than the truth (C-META-06, C-META-08).
    """
    counts = {name: _sum([_count(usage, name) for usage in usages]) for name in _COUNTS}
    return Usage(**counts) if any(counts.values()) else None


def _count(usage: JsonValue, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, dict) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    # A zero is a placeholder: no answer comes from nothing (C-META-04).
    return value if 0 < value < 2**63 else None


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    total = sum(known)
    return total if len(known) == len(values) and 0 < total < 2**63 else None
