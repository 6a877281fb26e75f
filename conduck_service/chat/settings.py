"""Config of a ``conduck_chat`` entry."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from conduck_service.base.diagnostics import Pointer
from conduck_service.base.jsonio import JsonValue
from conduck_service.extension.kinds import (
    Choice,
    Integer,
    ListOf,
    Name,
    Object,
    Seconds,
    Text,
)
from conduck_service.extension.listener import LISTENER_FIELDS
from conduck_service.extension.spec import (
    INVALID,
    Decoding,
    Field,
    Kind,
    Schema,
    Spec,
)

MIN_BODY_BYTES = 52_428_800
"""The smallest cap that the contract allows: 50 MiB (C-SEC-11)."""

SHARED_BODY_BYTES = 512 * 1024 * 1024
"""Memory that large bodies in flight share; a larger body would never fit."""

LONGEST_ID = 200
"""Characters of a model id, at most."""

# The app drops a model id with any of these from its records.
_UNFIT = (
    r"\u0000-\u001f\u007f-\u009f\u200e\u200f"
    r"\u2028-\u202e\u2066-\u2069\ud800-\udfff"
)
_HAS_UNFIT = re.compile(f"[{_UNFIT}]")
_TEXT = Text()


@dataclass(frozen=True, slots=True)
class ModelId(Kind):
    """An advertised id: 1 to 200 characters without controls."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the id, or INVALID after noting why not."""
        text = _TEXT.decode(value, at, into)
        if text is INVALID or (len(text) <= LONGEST_ID and not _HAS_UNFIT.search(text)):
            return text
        return into.refuse(
            at,
            "invalid_config",
            "the model id is too long or holds control characters",
            f"use 1 to {LONGEST_ID} ordinary characters",
        )

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return {
            "type": "string",
            "pattern": f"^[^{_UNFIT}]+$",
            "not": {"pattern": r"\n$"},
            "maxLength": LONGEST_ID,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """An advertised model.

    Attributes:
        id: What the app sends back to choose it.
        input_modalities: What it takes, ``text`` and perhaps ``image``; empty
            means that nothing is said about it.
    """

    id: str
    input_modalities: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatConfig:
    """Decoded config of a chat entry; the Spec below says what each key is."""

    namespace: str
    scope: str
    port: int
    token_secret: str
    models: tuple[Model, ...]
    default_model: str
    deadline_seconds: float
    start_within_seconds: float
    queue_depth: int
    max_body_bytes: int
    max_image_bytes: int
    body_idle_seconds: float
    header_seconds: float

    def __post_init__(self) -> None:
        ids = [model.id for model in self.models]
        if len(set(ids)) != len(ids):
            raise ValueError("models must not have an id twice")
        if self.default_model and self.default_model not in ids:
            raise ValueError("default_model must be one of the ids in models")

    @property
    def default_id(self) -> str:
        """The id that serves a request which names no model (C-MODELS-16)."""
        return self.default_model or self.models[0].id


_MODEL = Spec(
    Model,
    (
        Field(name="id", kind=ModelId(), doc="The id that the app selects."),
        Field(
            name="input_modalities",
            kind=ListOf(Choice(("text", "image")), non_empty=True, unique=True),
            default=(),
            doc="What the model takes, told to the app; nothing when left out.",
        ),
    ),
)

CHAT_SPEC: Spec[ChatConfig] = Spec(
    ChatConfig,
    (
        *LISTENER_FIELDS,
        Field(
            name="token_secret",
            kind=Name(),
            doc="Which of secret_names holds the bearer token.",
        ),
        Field(
            name="models",
            kind=ListOf(Object(_MODEL), non_empty=True),
            doc="The advertised models, in the order they are listed.",
            shown=True,
        ),
        Field(
            name="default_model",
            kind=Text(),
            default="",
            doc="The id for requests that name no model; the first when left out.",
            shown=True,
        ),
        Field(
            name="deadline_seconds",
            kind=Seconds(1, 295),
            default=285.0,
            doc="Longest turn, from the last byte of the request to the answer.",
            shown=True,
        ),
        Field(
            name="start_within_seconds",
            kind=Seconds(0, 295),
            default=5.0,
            doc="Longest wait for an engine before the request is declined.",
            shown=True,
        ),
        Field(
            name="queue_depth",
            kind=Integer(0, 1000),
            default=4,
            doc="Turns that may wait; one more is declined at once.",
            shown=True,
        ),
        Field(
            name="max_body_bytes",
            kind=Integer(MIN_BODY_BYTES, SHARED_BODY_BYTES),
            default=67_108_864,
            doc="Largest request body in bytes.",
            shown=True,
        ),
        Field(
            name="max_image_bytes",
            kind=Integer(1),
            default=20_971_520,
            doc="Largest image of a current turn, in decoded bytes.",
            shown=True,
        ),
        Field(
            name="body_idle_seconds",
            kind=Seconds(1, 3600),
            default=60.0,
            doc="Longest pause of an upload.",
            shown=True,
        ),
        Field(
            name="header_seconds",
            kind=Seconds(1, 3600),
            default=15.0,
            doc="Longest time for the head of a request to arrive.",
            shown=True,
        ),
    ),
    rules=(
        "models must not have an id twice.",
        "default_model must be one of the ids in models.",
    ),
)
