"""What the public checker asks of an adapter, asked by ourselves.

Each probe sends what the checker's probe of that name sends and grades the answer
as it does; it raises AssertionError when the checker would call it red.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from dataclasses import dataclass, field
from typing import Any

import requests

from tests.support.service import PIXEL, image, text, user

PONG = "Reply with exactly: pong"
READ_DIGITS = "Reply with exactly the digits shown in the image. No other text."
WRONG = "conduck-check-wrong-token"
NO_SUCH_MODEL = "conduck-check-no-such-model"

_GLYPHS = {
    "0": "777 707 707 707 777", "1": "070 770 070 070 777", "2": "777 007 777 700 777",
    "3": "777 007 777 007 777", "4": "707 707 777 007 007", "5": "777 700 777 007 777",
    "6": "777 700 777 707 777", "7": "777 007 007 070 070", "8": "777 707 777 707 777",
    "9": "777 707 777 007 777",
}  # fmt: skip
_BLOCK = 40
_WIDTH, _HEIGHT = 920, 232


def picture_of(digits: str) -> bytes:
    """Return a grey PNG of 920 by 232 with six digits made of black blocks."""
    rows = [bytearray(b"\xff" * _WIDTH) for _ in range(_HEIGHT)]
    for index, digit in enumerate(digits):
        for down, line in enumerate(_GLYPHS[digit].split()):
            for across, sign in enumerate(line):
                if sign == "7":
                    _blacken(
                        rows, 20 + index * 148 + across * _BLOCK, 16 + down * _BLOCK
                    )
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    head = struct.pack(">IIBBBBB", _WIDTH, _HEIGHT, 8, 0, 0, 0, 0)
    chunks = _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def _blacken(rows: list[bytearray], left: int, top: int) -> None:
    for row in rows[top : top + _BLOCK]:
        row[left : left + _BLOCK] = bytes(_BLOCK)


def _chunk(name: bytes, data: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(name + data))
    return struct.pack(">I", len(data)) + name + data + check


def answer_of(response: requests.Response) -> str:
    """Return the answer of a good turn; it must keep every rule of a reply."""
    assert response.status_code == 200, (response.status_code, response.text)
    assert not response.content.startswith(b"data:")
    assert _is_json(response)
    body = _strict(response)
    (choice,) = body["choices"]
    message = choice["message"]
    assert not message.get("tool_calls")
    content = message["content"]
    assert isinstance(content, str)
    assert content
    return content


def error_of(response: requests.Response) -> dict[str, Any]:
    """Return the error of a refusal; it must have the shape of one."""
    error = _strict(response)["error"]
    assert isinstance(error["message"], str)
    assert error["message"]
    assert isinstance(error["type"], str)
    assert error["type"]
    return dict(error)


def _is_json(response: requests.Response) -> bool:
    media_type = response.headers["Content-Type"].partition(";")[0]
    return media_type.strip().lower() == "application/json"


def _strict(response: requests.Response) -> dict[str, Any]:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    body = json.loads(response.content, parse_constant=refuse)
    assert isinstance(body, dict)
    return body


@dataclass(slots=True)
class Probes:
    """An adapter as the checker sees it: an address and a token."""

    url: str
    token: str
    ids: list[str] = field(default_factory=list)

    def models(self, token: str | None) -> requests.Response:
        """GET the models as the checker does."""
        headers = {"Accept": "application/json"} | _bearer(token)
        return requests.get(f"{self.url}/v1/models", headers=headers, timeout=30)

    def chat(
        self, messages: list[dict[str, Any]], *, token: str | None = None, **more: Any
    ) -> requests.Response:
        """POST a chat as the checker does; with the right token by default."""
        headers = {
            "Accept": more.pop("accept", "application/json"),
            "Content-Type": "application/json",
            **_bearer(self.token if token is None else token),
        }
        body = {"messages": messages, "stream": False, **more}
        return requests.post(
            f"{self.url}/v1/chat/completions",
            headers=headers,
            data=json.dumps(body),
            timeout=300,
        )

    def models_envelope(self) -> None:
        """A list with at least one usable id, at once."""
        response = self.models(self.token)
        assert response.status_code == 200
        assert response.elapsed.total_seconds() < 15
        assert _is_json(response)
        assert b"<html" not in response.content.lower()
        self.ids = [item["id"] for item in _strict(response)["data"]]
        assert any(isinstance(item, str) and item for item in self.ids)

    def auth(self) -> None:
        """No token and a wrong one are refused on both routes."""
        message = [user("conduck-connect auth probe")]
        for response in (
            self.models(None),
            self.models(WRONG),
            self.chat(message, token=""),
            self.chat(message, token=WRONG),
        ):
            assert response.status_code == 401
            error_of(response)

    def auth_chat_reject_body(self) -> None:
        """A refused body leaves nothing behind for the next request to trip over."""
        body = json.dumps({"messages": [user("conduck-connect auth probe")]})
        with requests.Session() as pool:
            for token, status in ((WRONG, 401), (WRONG, 401), (self.token, 200)):
                response = pool.post(
                    f"{self.url}/v1/chat/completions",
                    headers={"Content-Type": "application/json", **_bearer(token)},
                    data=body,
                    timeout=300,
                )
                assert response.status_code == status

    def chat_basic(self) -> str:
        """A turn without a model and with a key that nobody knows."""
        return answer_of(self.chat([user(PONG)], conduck_check_probe=True))

    def chat_framing(self) -> None:
        """The word stands outside every copy of the question, or all is an echo."""
        answer = self.chat_basic()
        rest = re.sub(re.escape(PONG), "", answer, flags=re.IGNORECASE)
        assert answer == PONG or "pong" in rest.lower()

    def model_selection(self) -> None:
        """An advertised id is served; another is refused when there are several."""
        answer_of(self.chat([user(PONG)], model=self.ids[0]))
        response = self.chat([user(PONG)], model=NO_SUCH_MODEL)
        if len(set(self.ids)) == 1 and response.status_code == 200:
            answer_of(response)
            return
        assert response.status_code == 400
        assert error_of(response)["code"] == "model_not_found"

    def history_image(self) -> None:
        """An earlier message with an image never breaks a later one."""
        earlier = user([text("What is in this photo?"), image(PIXEL)])
        assert answer_of(self.chat([earlier, user(PONG)])) == "pong"

    def stream_sync(self) -> None:
        """A wish to stream is answered with one body."""
        accept = "text/event-stream, application/json"
        answer_of(self.chat([user(PONG)], stream=True, accept=accept))

    def image_input(self, digits: str) -> str:
        """Return how the image of these digits was taken: the checker's word."""
        picture = base64.b64encode(picture_of(digits)).decode("ascii")
        response = self.chat([user([text(READ_DIGITS), image(picture)])])
        if response.status_code == 400:
            assert error_of(response)["code"] == "image_unsupported"
            return "DECLINED"
        answer = answer_of(response)
        # One run, or single digits with one sign between them.
        runs = re.findall(r"\d(?:[ .,-]?\d)*", answer)
        seen = [re.sub(r"\D", "", run) for run in runs]
        return "VERIFIED" if digits in seen else "UNVERIFIED"

    def plain(self) -> None:
        """Everything of the plain profile, in the checker's order."""
        self.models_envelope()
        self.auth()
        self.auth_chat_reject_body()
        self.chat_framing()
        self.model_selection()
        self.history_image()
        self.stream_sync()


def _bearer(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}
