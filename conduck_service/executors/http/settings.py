"""Config of an ``http`` binding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conduck_service.base.diagnostics import Pointer
from conduck_service.base.jsonio import JsonValue
from conduck_service.extension.kinds import (
    Boolean,
    Choice,
    Integer,
    MapOf,
    Seconds,
    Text,
)
from conduck_service.extension.spec import Decoding, Field, Kind, Schema, Spec

DEFAULT_STEPS = 16
"""Calls of the file tool in a turn, where the config says only that it is on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTool:
    """The tool with which an upstream model gets at files.

    It writes into the folder that a message names, and reads below the shared one.

    Attributes:
        max_steps: Calls of it in one turn.
    """

    max_steps: int = DEFAULT_STEPS


_FILE_TOOL = Spec(
    FileTool,
    (
        Field(
            name="max_steps",
            kind=Integer(1, 1000),
            default=DEFAULT_STEPS,
            doc="Calls of the tool in one turn; the answer has to come after these.",
            shown=True,
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class FileToolSwitch(Kind):
    """False, true for the tool with its defaults, or an object with its keys."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return a FileTool, False without one, or INVALID after noting why not."""
        if isinstance(value, bool):
            return FileTool() if value else False
        if not isinstance(value, dict):
            return into.refuse(
                at,
                "invalid_type",
                "true, false or an object is wanted here",
                f'write true, false or {{"max_steps": {DEFAULT_STEPS}}}',
            )
        return _FILE_TOOL.decode(value, at, into)

    def schema(self) -> Schema:
        """Return what it takes, as JSON Schema."""
        return {"anyOf": [{"type": "boolean"}, _FILE_TOOL.schema()]}

    def normal(self, value: JsonValue) -> JsonValue:
        """Return false, or the object that true stands for."""
        if value is False:
            return False
        return dict(_FILE_TOOL.normal(value if isinstance(value, dict) else {}))


def _any_case(words: tuple[str, ...]) -> str:
    """Return a pattern for some lower-case words in capitals or not.

    There is no flag for that which JSON Schema would know as well.
    """
    return "|".join(
        "".join(f"[{x.upper()}{x}]" if x.isalpha() else x for x in word)
        for word in words
    )


_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - what HTTP calls a token

_NOT_OURS_TO_SET = _any_case(
    (
        "host",
        "connection",
        "keep-alive",
        "transfer-encoding",
        "te",
        "trailer",
        "upgrade",
        "expect",
    )
)
"""Headers that the exchange itself needs, next to all that begin with content-."""

_CREDENTIALS = _any_case(
    ("auth", "cookie", "credential", "key", "passw", "secret", "session", "token")
)
"""Parts of the names of headers that carry credentials (B-SCHEMA-06).

That refuses some harmless headers too. A credential that slips through would lie in
the config for all to see who are shown it, so the rule leans to the safe side.
"""

_HEADER = (
    f"(?!({_NOT_OURS_TO_SET})$)(?!{_any_case(('content-',))})"
    f"(?!.*({_CREDENTIALS})){_TOKEN}"
)

_HEADER_WORDS = (
    "the name of a header that is neither part of the exchange itself (Host, "
    "Connection, Content-*) nor carries a credential; those belong in secret_refs of "
    "the connection"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpConfig:
    """Decoded config of an http binding; the Spec says what each key is."""

    model: str | None = None
    images: str = "none"
    history_images: str = "disclose"
    alternation: str = "any"
    stream: bool = False
    serialize: bool = False
    max_request_bytes: int | None = None
    max_response_bytes: int = 8_388_608
    connect_seconds: float = 10.0
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    file_tool: FileTool | bool = False
    empty_prompt: str = "accept"

    def __post_init__(self) -> None:
        if self.history_images == "forward" and self.images == "none":
            raise ValueError("history_images forward needs images inline")
        if len({name.lower() for name in self.headers}) < len(self.headers):
            raise ValueError("headers has one name twice, in capitals or not")


HTTP_SPEC: Spec[HttpConfig] = Spec(
    HttpConfig,
    (
        Field(
            name="model",
            kind=Text(),
            default=None,
            doc="The server's own name of the model; left to the server without it.",
            shown=True,
        ),
        Field(
            name="images",
            kind=Choice(("none", "inline")),
            default="none",
            doc="Whether images of the current turn are sent along, as data in the "
            "request.",
            shown=True,
        ),
        Field(
            name="history_images",
            kind=Choice(("disclose", "forward")),
            default="disclose",
            doc="Whether earlier images are named as missing, or sent too.",
            shown=True,
        ),
        Field(
            name="alternation",
            kind=Choice(("any", "strict")),
            default="any",
            doc="Whether the server takes any order of messages; strict joins those "
            "of one side, so that user and assistant take turns.",
            shown=True,
        ),
        Field(
            name="stream",
            kind=Boolean(),
            default=False,
            doc="Ask the server for its answer in pieces; the app gets it whole.",
            shown=True,
        ),
        Field(
            name="serialize",
            kind=Boolean(),
            default=False,
            doc="One turn at a time in a working folder.",
            shown=True,
        ),
        Field(
            name="max_request_bytes",
            kind=Integer(1),
            default=None,
            doc="Largest request body that the server takes, in bytes.",
            shown=True,
        ),
        Field(
            name="max_response_bytes",
            kind=Integer(1, 1_073_741_824),
            default=8_388_608,
            doc="Largest response that is read, in bytes.",
            shown=True,
        ),
        Field(
            name="connect_seconds",
            kind=Seconds(1, 295),
            default=10.0,
            doc="Longest time for the connection to be made.",
            shown=True,
        ),
        Field(
            name="headers",
            kind=MapOf(
                Text(r"[\t -~]+", "printable ASCII characters"), _HEADER, _HEADER_WORDS
            ),
            default={},
            doc="More headers of each request, none of them a credential.",
        ),
        Field(
            name="file_tool",
            kind=FileToolSwitch(),
            default=False,
            doc="Give the model a tool that writes into the folder which a message "
            "names, and reads in the shared one: true, or an object with max_steps.",
        ),
        Field(
            name="empty_prompt",
            kind=Choice(("accept", "carrier")),
            default="accept",
            doc="Whether the server takes an image without text; if not, a fixed "
            "sentence stands in.",
            shown=True,
        ),
    ),
    rules=(
        "history_images forward needs images inline.",
        "headers has no name twice, in capitals or not.",
    ),
)
