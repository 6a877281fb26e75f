"""The Gemini protocol of a scripted model server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.model_chat import in_pieces
from tests.support.model_reply import Reply

_FINISH = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}


class GeminiDialect:
    """``/models/…:generateContent``, whole and as server-sent events."""

    def takes(self, path: str) -> bool:
        """Say whether a POST to the path is in this dialect."""
        return path.endswith((":generateContent", ":streamGenerateContent"))

    def is_streamed(self, path: str, asked: Any) -> bool:
        """Say whether the answer is wanted in pieces."""
        del asked
        return path.endswith(":streamGenerateContent")

    def whole(self, reply: Reply, asked: Any) -> Any:
        """Return the body of an answer."""
        del asked
        if reply.fault == "no_choices":
            return {"candidates": []}
        return _piece([*_texts(reply, 1), *_calls(reply)], reply)

    def events(self, reply: Reply, asked: Any) -> Iterator[bytes]:
        """Yield the answer in pieces; the last one says why it ends."""
        if reply.fault in ("no_choices", "sse_error"):
            whole = self.whole(reply, asked)
            yield _event(self.error(reply) if reply.fault == "sse_error" else whole)
            return
        for part in _texts(reply, reply.pieces):
            yield _event(_piece([part]))
        if reply.fault != "no_end":
            yield _event(_piece(_calls(reply) or [{"text": ""}], reply))

    def error(self, reply: Reply) -> Any:
        """Return the body of an error status."""
        status = reply.status if reply.status != 200 else 500
        error = {"code": status, "message": "stub", "status": "INTERNAL"}
        return {"error": {**error, **reply.error}}


def _texts(reply: Reply, pieces: int) -> list[dict[str, Any]]:
    texts = [{"text": piece} for piece in in_pieces(reply.text or "", pieces)]
    if reply.reasoning is not None:
        return [{"text": reply.reasoning, "thought": True}, *texts]
    return texts


def _calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {
            "functionCall": {
                "id": call.id,
                "name": call.name,
                "args": json.loads(call.text),
            }
        }
        for call in reply.calls
    ]


def _piece(parts: list[dict[str, Any]], ends: Reply | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {
        "content": {"role": "model", "parts": parts},
        "index": 0,
    }
    body: dict[str, Any] = {
        "candidates": [candidate],
        "modelVersion": "stub",
        "responseId": "stub",
    }
    if ends is None:
        return body
    candidate["finishReason"] = _FINISH.get(ends.finish or "", "STOP")
    if ends.usage is not None:
        read, written = ends.usage["input"], ends.usage["output"]
        body["usageMetadata"] = {
            "promptTokenCount": read,
            "candidatesTokenCount": written,
            "totalTokenCount": read + written,
        }
    return body


def _event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
