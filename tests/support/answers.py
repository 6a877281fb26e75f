"""What the app may count on in an answer, good or bad."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

import requests

APP_PATTERNS = re.compile(
    "model is required|model.*required.*propert|must provide a model"
    "|model parameter is required|missing.*required.*model"
    "|unsupported.*content|image.*not.*support|support.*image|image.*input"
    "|image.*too.*large|maximum context length|context_length_exceeded"
    "|not a valid model|no endpoints found for|embedding model",
    re.IGNORECASE | re.DOTALL,
)
"""What the app looks for in the message of a 400 or 404 that carries no code."""


def strict(body: bytes) -> Any:
    """Return a body parsed as the app parses it: NaN and Infinity are errors."""
    return json.loads(body.decode("utf-8"), parse_constant=_refuse)


def _refuse(name: str) -> NoReturn:
    raise AssertionError(f"{name} is not JSON")


def assert_json(response: requests.Response) -> Any:
    """Return the body, which must be plain JSON and be called that."""
    media_type = response.headers["Content-Type"].partition(";")[0].strip()
    assert media_type == "application/json"
    return strict(response.content)


def answer_of(response: requests.Response) -> str:
    """Return the answer of a good turn, of which there is exactly one."""
    assert response.status_code == 200, (response.status_code, response.text)
    (choice,) = assert_json(response)["choices"]
    assert choice["message"]["role"] == "assistant"
    content = choice["message"]["content"]
    assert isinstance(content, str)
    assert content
    return content


def assert_error(
    response: requests.Response, status: int, code: str | None = None
) -> str:
    """Return the message of a refusal after checking its whole shape.

    Args:
        response: The refusal.
        status: The status that it must have.
        code: The code that it must carry; None when it must carry none.
    """
    assert response.status_code == status, (response.status_code, response.text)
    body = assert_json(response)
    assert set(body) == {"error"}
    error = body["error"]
    for key in ("message", "type"):
        assert isinstance(error[key], str)
        assert error[key]
    assert error.get("code") == code
    assert ("code" in error) is (code is not None)
    message: str = error["message"]
    assert code or not APP_PATTERNS.search(message), message
    return message
