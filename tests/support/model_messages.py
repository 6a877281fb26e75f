"""The Anthropic Messages protocol of a scripted model server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.model_chat import in_pieces
from tests.support.model_reply import Reply

_FINISH = {"stop": "end_turn", "length": "max_tokens"}


class MessagesDialect:
    """``/v1/messages``, whole and as server-sent events; and its token counter."""

    def takes(self, path: str) -> bool:
        """Say whether a POST to the path is in this dialect."""
        return path.endswith(("/messages", "/messages/count_tokens"))

    def is_streamed(self, path: str, asked: Any) -> bool:
        """Say whether the answer is wanted in pieces."""
        return path.endswith("/messages") and bool(asked.get("stream"))

    def whole(self, reply: Reply, asked: Any) -> Any:
        """Return the body of an answer, with what a counter says in it too."""
        content: list[dict[str, Any]] = []
        if reply.reasoning is not None:
            content.append(_thought(reply.reasoning))
        if reply.text:
            content.append({"type": "text", "text": reply.text})
        content += [
            _call(call.id, call.name, json.loads(call.text)) for call in reply.calls
        ]
        counts = _usage(reply)
        return {
            **_head(asked),
            "content": content,
            "stop_reason": _finish(reply),
            "usage": counts,
            "input_tokens": counts["input_tokens"],
        }

    def events(self, reply: Reply, asked: Any) -> Iterator[bytes]:
        """Yield the answer block by block."""
        usage = _usage(reply)
        start = {**_head(asked), "content": [], "stop_reason": None}
        start["usage"] = {**usage, "output_tokens": 1}
        yield _event("message_start", message=start)
        for index, (block, deltas) in enumerate(_blocks(reply)):
            yield _event("content_block_start", index=index, content_block=block)
            for delta in deltas:
                yield _event("content_block_delta", index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        if reply.fault == "sse_error":
            error = {"type": "api_error", "message": "stub"}
            yield _event("error", error=error)
            return
        if reply.fault == "no_end":
            return
        delta = {"stop_reason": _finish(reply), "stop_sequence": None}
        counts = {"output_tokens": usage["output_tokens"]}
        yield _event("message_delta", delta=delta, usage=counts)
        yield _event("message_stop")

    def error(self, reply: Reply) -> Any:
        """Return the body of an error status."""
        error = {"type": "api_error", "message": "stub", **reply.error}
        return {"type": "error", "error": error}


def _head(asked: Any) -> dict[str, Any]:
    model = asked.get("model", "stub")
    return {"id": "msg_stub", "type": "message", "role": "assistant", "model": model}


def _finish(reply: Reply) -> str | None:
    if reply.calls and reply.finish == "stop":
        return "tool_use"
    return _FINISH.get(reply.finish or "", reply.finish)


def _usage(reply: Reply) -> dict[str, Any]:
    usage = reply.usage or {"input": 0, "output": 0}
    return {"input_tokens": usage["input"], "output_tokens": usage["output"]}


def _thought(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": "stub"}


def _call(number: str, name: str, given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": number, "name": name, "input": given}


def _blocks(reply: Reply) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if reply.fault == "no_choices":
        return
    if reply.reasoning is not None:
        delta = {"type": "thinking_delta", "thinking": reply.reasoning}
        yield _thought(""), [delta]
    if reply.text:
        pieces = in_pieces(reply.text, reply.pieces)
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
        yield {"type": "text", "text": ""}, deltas
    for call in reply.calls:
        delta = {"type": "input_json_delta", "partial_json": call.text}
        yield _call(call.id, call.name, {}), [delta]


def _event(kind: str, **values: Any) -> bytes:
    data = json.dumps({"type": kind, **values})
    return f"event: {kind}\ndata: {data}\n\n".encode()
