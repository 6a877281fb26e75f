"""Turns that doctor and selftest ask for, and what came of them."""

from __future__ import annotations

import contextlib
import re
import secrets
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conduck_service.base.jsonio import JsonValue, dump
from conduck_service.doctor.peer import Peer, Reply
from conduck_service.doctor.pictures import data_uri, picture_of

COMPLETIONS = "/v1/chat/completions"
TURN_SECONDS = 300.0
"""How long the app waits for a turn."""

PONG = "Reply with exactly: pong"
READ_DIGITS = (
    "Reply with exactly the digits shown in the image. No other text and no spaces."
)
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}
_INBOUND = (
    "The following file(s) are in your working directory — use them for this request:"
)
_OUTBOUND = "[Conduck file transfer] Files you produce for this reply go in:"

Message = dict[str, Any]


def user(content: JsonValue) -> Message:
    """Return a message of the person."""
    return {"role": "user", "content": content}


def assistant(content: str) -> Message:
    """Return an earlier answer."""
    return {"role": "assistant", "content": content}


def with_picture(words: str, digits: str) -> Message:
    """Return a message with a picture of digits."""
    image = {"type": "image_url", "image_url": {"url": data_uri(picture_of(digits))}}
    return user([{"type": "text", "text": words}, image])


def ask_turn(
    peer: Peer,
    messages: Sequence[Message],
    *,
    headers: dict[str, str] | None = None,
    **more: JsonValue,
) -> Reply:
    """Ask for one turn.

    Args:
        peer: The chat listener, signed in.
        messages: The conversation.
        headers: More headers, or others.
        more: More keys of the body.

    Raises:
        PeerError: No answer came.
    """
    body = dump({"messages": list(messages), "stream": False, **more})
    fields = _HEADERS | (headers or {})
    return peer.ask("POST", COMPLETIONS, body, headers=fields, seconds=TURN_SECONDS)


def answer_of(reply: Reply) -> str | None:
    """Return the words of a good answer; None when any rule of one is broken."""
    value = reply.json
    if reply.status != 200 or reply.media_type != "application/json":
        return None
    choices = value.get("choices") if isinstance(value, dict) else None
    if not isinstance(choices, list) or len(choices) != 1:
        return None
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict) or message.get("tool_calls"):
        return None
    content = message.get("content")
    return content if isinstance(content, str) and content else None


def has_pong(answer: str) -> bool:
    """Say whether the word stands outside of every copy of the question."""
    rest = re.sub(re.escape(PONG), "", answer, flags=re.IGNORECASE)
    return answer.strip() == PONG or "pong" in rest.lower()


def is_only_pong(answer: str) -> bool:
    """Say whether nothing but the word was answered."""
    return re.sub(r"[^a-z]", "", answer.lower()) == "pong"


def _random_content() -> bytes:
    return f"conduck {secrets.token_hex(24)}\n".encode("ascii")


@dataclass(frozen=True, slots=True)
class FileTurn:
    """A turn in which a file goes in and its copy is to come out.

    Attributes:
        root: The shared folder.
        conversation: Name of the conversation's folder, as the app makes it.
        outbound: Name of the folder for the answer's files.
        content: What is in the file; nobody can guess it.
    """

    root: Path
    conversation: str = field(default_factory=lambda: str(uuid.uuid4()).upper())
    outbound: str = field(default_factory=lambda: f"out-{secrets.token_hex(16)}")
    content: bytes = field(default_factory=_random_content)

    @property
    def upload(self) -> str:
        """Where the app puts the file."""
        return f"{self.conversation}/0c0ffee0__input.txt"

    @property
    def folder(self) -> str:
        """Where the copy belongs."""
        return f"{self.conversation}/{self.outbound}"

    @property
    def output(self) -> str:
        """The copy."""
        return f"{self.folder}/output.txt"

    @property
    def message(self) -> Message:
        """What the app would send."""
        task = (
            "Copy the listed file byte for byte to a new file named output.txt. "
            "Finish that before you reply, then reply with one short sentence."
        )
        listed = f'{_INBOUND}\n- "input.txt" (saved as {self.upload})'
        return user(f"{task}\n\n{listed}\n\n{_OUTBOUND} {self.folder}")

    @contextmanager
    def uploaded(self, lane: Peer) -> Iterator[bool]:
        """Upload the file for the block, which is told whether that went well.

        All of the conversation's folder is removed in the end.
        """
        lane.ask("MKCOL", f"/{self.conversation}", seconds=15)
        reply = lane.ask("PUT", f"/{self.upload}", self.content, seconds=15)
        try:
            yield reply.status in {200, 201, 204}
        finally:
            with contextlib.suppress(Exception):
                lane.ask("DELETE", f"/{self.conversation}/", seconds=15)
