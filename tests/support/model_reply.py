"""What a scripted model server answers, whichever protocol it is asked in."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

USAGE: Mapping[str, Any] = {"input": 11, "output": 7}
"""Tokens that a reply counts unless it says otherwise."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool; ``arguments`` may be text, to send broken JSON."""

    name: str
    arguments: Mapping[str, Any] | str
    id: str = "call_1"

    @property
    def text(self) -> str:
        """The arguments as the protocols carry them."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments)


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply.

    Attributes:
        text: The answer; None sends null.
        calls: Calls of tools that come with it.
        finish: stop, length, content_filter and so on, or None for none; with
            calls, ``tool_calls`` is meant when nothing is said.
        usage: Counts ``input`` and ``output``, or None for none.
        status: Of the response; other than 200 sends ``error`` in the dialect.
        error: Keys ``message``, ``type`` and ``code`` of an error.
        headers: More headers of the response.
        body: Raw bytes in place of what the dialect makes of the rest.
        reasoning: Reasoning that is sent beside the answer.
        pieces: Number of pieces when it is streamed.
        fault: ``hold`` (nothing until ``gate`` opens, then the rest of the reply),
            ``drop`` (close without a byte), ``drop_mid`` (close half-way),
            ``dribble`` (a byte now and then without end), ``dribble_head`` (the
            same inside the head), ``endless`` (as much as is taken, without end),
            ``no_choices`` (a body with no answer in it), ``sse_error`` (an error
            amid the pieces), ``no_end`` (pieces without the mark of their end).
        gate: Opens a reply that is held.
    """

    text: str | None = "ok"
    calls: tuple[ToolCall, ...] = ()
    finish: str | None = "stop"
    usage: Mapping[str, Any] | None = field(default_factory=lambda: USAGE)
    status: int = 200
    error: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    reasoning: str | None = None
    pieces: int = 3
    fault: str = ""
    gate: threading.Event = field(default_factory=threading.Event)
