"""Server-sent events of a chat completion, put together to the whole it stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from conduck_service.base.jsonio import JsonValue
from conduck_service.executors.results import LENIENT

END = re.compile(rb"(?:^|[\r\n])data: ?\[DONE\][ \t]*[\r\n]")
"""The mark behind the last event; a server may keep the connection open after it.

Inside an event it cannot stand: JSON has no raw line breaks.
"""

_LINE_END = re.compile(r"\r\n|\n|\r")


class StreamError(Exception):
    """Raised when a stream is broken or has no end (C-STREAM-06)."""


def assemble(data: bytes) -> JsonValue:
    """Return the body that a whole answer would have had (C-STREAM-05).

    The end is the mark, or the reason for which the model stopped; a stream with
    neither was cut short, whatever it holds.

    Args:
        data: Everything that came.

    Raises:
        StreamError: It is no stream of a chat completion, or breaks off.
    """
    answer = _Answer()
    for name, event in _events(data.decode("utf-8", "replace")):
        if event == "[DONE]":
            return answer.body()
        try:
            value = LENIENT.decode(event)
        except (ValueError, RecursionError):
            raise StreamError("an event is not JSON") from None
        if not isinstance(value, dict):
            raise StreamError("an event is no object")
        if name == "error" or tells_failure(value):
            return {**value, "error": value.get("error") or value}
        answer.add(value)
    if answer.finish is None:
        raise StreamError("the stream has no end")
    return answer.body()


def tells_failure(body: Mapping[str, JsonValue]) -> bool:
    """Say whether an object tells an error, in any of the usual ways.

    Servers put it under ``error``, mark an object as one, say ``failed`` on top or in
    a part of its own, or send a bare message in the place of choices.
    """
    parts = [body, *(part for part in body.values() if isinstance(part, Mapping))]
    return (
        body.get("error") is not None
        or "error" in (body.get("object"), body.get("type"))
        or any(bool(part.get("failed")) for part in parts)
        or ("choices" not in body and not {"message", "detail"}.isdisjoint(body))
    )


def _events(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and data of each event; one that no blank line ends is none."""
    name, data = "", list[str]()
    for line in _LINE_END.split(text):
        if not line:
            if data:
                yield name, "\n".join(data)
            name, data = "", []
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif line.startswith("event:"):
            name = line[6:].strip()
    if data == ["[DONE]"]:
        yield name, "[DONE]"


class _Answer:
    """An answer that grows."""

    def __init__(self) -> None:
        self.finish: JsonValue = None
        self._texts: list[str] = []
        self._calls: dict[Any, dict[str, Any]] = {}
        self._usage: JsonValue = None

    def add(self, event: dict[str, Any]) -> None:
        """Take what an event brings."""
        self._usage = event.get("usage") or self._usage
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and not choice.get("index"):
                self._add_choice(choice)

    def body(self) -> JsonValue:
        """Return the whole."""
        message: dict[str, JsonValue] = {"content": "".join(self._texts)}
        if self._calls:
            message["tool_calls"] = list(self._calls.values())
        choice = {"message": message, "finish_reason": self.finish}
        return {"choices": [choice], "usage": self._usage}

    def _add_choice(self, choice: dict[str, Any]) -> None:
        self.finish = choice.get("finish_reason") or self.finish
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return
        if isinstance(delta.get("content"), str):
            self._texts.append(delta["content"])
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                self._add_call(call)

    def _add_call(self, call: dict[str, Any]) -> None:
        """Take a piece of a call; pieces of one have one index."""
        index = call.get("index")
        key = len(self._calls) if not isinstance(index, int) else index
        whole = self._calls.setdefault(
            key, {"type": "function", "function": {"name": "", "arguments": ""}}
        )
        if isinstance(call.get("id"), str):
            whole["id"] = call["id"]
        found = call.get("function")
        function = found if isinstance(found, dict) else {}
        for name in ("name", "arguments"):
            piece = function.get(name)
            if isinstance(piece, str):
                whole["function"][name] += piece
