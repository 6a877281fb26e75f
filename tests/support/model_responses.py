"""The OpenAI Responses protocol of a scripted model server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.model_chat import in_pieces
from tests.support.model_reply import Reply


class ResponsesDialect:
    """``/responses``, whole and as server-sent events."""

    def takes(self, path: str) -> bool:
        """Say whether a POST to the path is in this dialect."""
        return path.endswith("/responses")

    def is_streamed(self, path: str, asked: Any) -> bool:
        """Say whether the answer is wanted in pieces."""
        del path
        return bool(asked.get("stream"))

    def whole(self, reply: Reply, asked: Any) -> Any:
        """Return the body of an answer."""
        return _response(reply, asked, _items(reply))

    def events(self, reply: Reply, asked: Any) -> Iterator[bytes]:
        """Yield the answer item by item."""
        started = {**_response(reply, asked, []), "status": "in_progress"}
        yield _event("response.created", response=started)
        items = _items(reply)
        for index, item in enumerate(items):
            yield _event("response.output_item.added", output_index=index, item=item)
            if item["type"] == "message":
                for piece in in_pieces(reply.text or "", reply.pieces):
                    yield _event(
                        "response.output_text.delta",
                        item_id=item["id"],
                        output_index=index,
                        content_index=0,
                        delta=piece,
                    )
            yield _event("response.output_item.done", output_index=index, item=item)
        if reply.fault == "no_end":
            return
        response = _response(reply, asked, items)
        if reply.fault == "sse_error":
            error = {"code": "server_error", "message": "stub", **reply.error}
            yield _event(
                "response.failed",
                response={**response, "status": "failed", "error": error},
            )
            return
        kind = "incomplete" if response["incomplete_details"] else "completed"
        yield _event(f"response.{kind}", response=response)

    def error(self, reply: Reply) -> Any:
        """Return the body of an error status."""
        return {"error": {"message": "stub", "type": "server_error", **reply.error}}


def _items(reply: Reply) -> list[dict[str, Any]]:
    if reply.fault == "no_choices":
        return []
    items: list[dict[str, Any]] = []
    if reply.text is not None:
        text = {"type": "output_text", "text": reply.text, "annotations": []}
        items.append(
            {
                "type": "message",
                "id": "msg_stub",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }
        )
    for call in reply.calls:
        items.append(
            {
                "type": "function_call",
                "id": f"fc_{call.id}",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.text,
                "status": "completed",
            }
        )
    return items


def _response(reply: Reply, asked: Any, items: list[dict[str, Any]]) -> dict[str, Any]:
    is_cut = reply.finish == "length"
    usage = reply.usage or {"input": 0, "output": 0}
    return {
        "id": "resp_stub",
        "object": "response",
        "created_at": 1,
        "model": asked.get("model", "stub"),
        "status": "incomplete" if is_cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "error": None,
        "output": items,
        "usage": {
            "input_tokens": usage["input"],
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": usage["output"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage["input"] + usage["output"],
        },
    }


def _event(kind: str, **values: Any) -> bytes:
    data = json.dumps({"type": kind, **values})
    return f"event: {kind}\ndata: {data}\n\n".encode()
