"""A request to the lane, and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from conduck_service.files.disk.paths import Place
from conduck_service.files.errors import Headers, LaneError
from conduck_service.serving.body import Body, BodyStalled, BodyTooLarge
from conduck_service.serving.sending import FileRange

XML_BYTES = 64 * 1024
"""Longest body of a request that is not an upload."""

SMALL_SECONDS = 10.0
"""How long such a body may take to come, all in all."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request.

    Attributes:
        status: Code and phrase.
        headers: Without the length of the body.
        body: All of it, or the part of a file that is sent.
    """

    status: str
    headers: Headers = ()
    body: bytes | FileRange = b""


@dataclass(frozen=True, slots=True)
class LaneRequest:
    """What a handler gets to see of a request.

    Attributes:
        method: As sent.
        place: What its target names.
        environ: The WSGI environ.
        body: Its body, unread.
    """

    method: str
    place: Place
    environ: Mapping[str, Any] = field(repr=False)
    body: Body = field(repr=False)

    def header(self, name: str) -> str | None:
        """Return the value of a header, or None if it was not sent.

        Args:
            name: As in an environ, such as ``IF_MATCH``.
        """
        value: str | None = self.environ.get("HTTP_" + name)
        return value

    def read_small(self) -> bytes:
        """Return the body of a request that is not an upload.

        Raises:
            LaneError: 413, if it is longer than ``XML_BYTES``; 408, if it does not
                come within ``SMALL_SECONDS``.
        """
        try:
            return bytes(self.body.read_all(XML_BYTES, within=SMALL_SECONDS))
        except BodyStalled:
            raise stalled() from None
        except BodyTooLarge:
            raise too_large(
                "the body of this request is longer than 64 KiB; ask for less"
            ) from None

    def refuse_body(self) -> None:
        """Refuse a body where none has a meaning.

        Raises:
            LaneError: 415.
        """
        if self.body.chunked or self.body.length:
            raise LaneError(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "unexpected_body",
                "this method takes no body; send it without",
            )


def stalled() -> LaneError:
    """Return the refusal of a body that does not come."""
    return LaneError(
        HTTPStatus.REQUEST_TIMEOUT,
        "body_stalled",
        "the body did not come in time; send it again",
    )


def too_large(text: str) -> LaneError:
    """Return the refusal of a body that is longer than is taken."""
    return LaneError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body_too_large", text)
