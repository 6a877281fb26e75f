"""The chat completions protocol of a scripted model server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.model_reply import Reply


def in_pieces(text: str, count: int) -> list[str]:
    """Return a text in at most so many pieces of about one length."""
    step = max(1, -(-len(text) // count))
    return [text[start : start + step] for start in range(0, len(text), step)]


class ChatDialect:
    """``/chat/completions``, whole and as server-sent events."""

    def takes(self, path: str) -> bool:
        """Say whether a POST to the path is in this dialect."""
        return path.endswith("/chat/completions")

    def is_streamed(self, path: str, asked: Any) -> bool:
        """Say whether the answer is wanted in pieces."""
        del path
        return bool(asked.get("stream"))

    def whole(self, reply: Reply, asked: Any) -> Any:
        """Return the body of an answer."""
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if reply.reasoning is not None:
            message["reasoning_content"] = reply.reasoning
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.text},
                }
                for call in reply.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
        choices = [] if reply.fault == "no_choices" else [choice]
        return {**_head("chat.completion", asked), "choices": choices, **_usage(reply)}

    def events(self, reply: Reply, asked: Any) -> Iterator[bytes]:
        """Yield the answer as deltas, then the mark of the end."""
        head = _head("chat.completion.chunk", asked)
        for delta in _deltas(reply):
            choice = {"index": 0, "delta": delta, "finish_reason": None}
            yield _event({**head, "choices": [choice]})
        if reply.fault == "sse_error":
            yield _event({"error": {"message": "stub", "type": "server_error"}})
            return
        if reply.fault == "no_end":
            return
        last = {"index": 0, "delta": {}, "finish_reason": _finish(reply)}
        yield _event({**head, "choices": [last]})
        if reply.usage is not None:
            yield _event({**head, "choices": [], **_usage(reply)})
        yield b"data: [DONE]\n\n"

    def error(self, reply: Reply) -> Any:
        """Return the body of an error status."""
        return {"error": {"message": "stub", "type": "stub_error", **reply.error}}


def _head(kind: str, asked: Any) -> dict[str, Any]:
    model = asked.get("model", "stub")
    return {"id": "chatcmpl-stub", "object": kind, "created": 1, "model": model}


def _finish(reply: Reply) -> str | None:
    return "tool_calls" if reply.calls and reply.finish == "stop" else reply.finish


def _usage(reply: Reply) -> dict[str, Any]:
    if reply.usage is None:
        return {}
    read, written = reply.usage.get("input"), reply.usage.get("output")
    counts = {"prompt_tokens": read, "completion_tokens": written}
    if isinstance(read, int) and isinstance(written, int):
        counts["total_tokens"] = read + written
    return {"usage": counts}


def _deltas(reply: Reply) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant"}
    if reply.reasoning is not None:
        yield {"reasoning_content": reply.reasoning}
    for piece in in_pieces(reply.text or "", reply.pieces):
        yield {"content": piece}
    for index, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        started = {"index": index, "id": call.id, "type": "function"}
        yield {"tool_calls": [{**started, "function": function}]}
        for piece in in_pieces(call.text, reply.pieces):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
