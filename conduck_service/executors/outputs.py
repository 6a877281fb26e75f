"""How a command binding says where its engine's answer stands."""

from __future__ import annotations

import re
from dataclasses import dataclass

from conduck_service.base.jsonio import JsonValue
from conduck_service.extension.kinds import (
    Choice,
    JsonPointer,
    ListOf,
    Object,
    Regex,
    Scalar,
)
from conduck_service.extension.spec import Field, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Success:
    """The engine's own success signal: this value at that place."""

    pointer: str
    equals: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class UsagePointers:
    """Where token counts stand; an empty pointer means that nobody counts."""

    prompt_tokens: str
    completion_tokens: str
    total_tokens: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishSignal:
    """Values at a place that say that a limit cut the answer off."""

    pointer: str
    length: tuple[JsonValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What an engine prints and how to read it."""

    format: str = "text"
    answer: str | None = None
    success: Success | None = None
    usage: UsagePointers | None = None
    finish: FinishSignal | None = None
    failure_patterns: tuple[re.Pattern[str], ...] = ()

    def __post_init__(self) -> None:
        if self.format in ("text", "file"):
            if self.answer is not None:
                raise ValueError("answer has no meaning with format text and file")
            if self.success or self.usage or self.finish:
                raise ValueError("success, usage and finish need format json or jsonl")
        elif self.answer is None:
            raise ValueError("format json and jsonl need answer")


def _pointer(name: str, doc: str) -> Field:
    return Field(name=name, kind=JsonPointer(), default="", doc=doc)


OUTPUT_SPEC = Spec(
    Output,
    (
        Field(
            name="format",
            kind=Choice(("text", "json", "jsonl", "file")),
            default="text",
            doc="What is printed: bare text, one JSON value, one JSON value a line, "
            "or nothing because the answer goes to {answer_file}.",
        ),
        Field(
            name="answer",
            kind=JsonPointer(),
            default=None,
            doc="Place of the answer; in jsonl the last line where there is one.",
        ),
        Field(
            name="success",
            kind=Object(
                Spec(
                    Success,
                    (
                        Field(name="pointer", kind=JsonPointer(), doc="The place."),
                        Field(name="equals", kind=Scalar(), doc="The good value."),
                    ),
                )
            ),
            default=None,
            doc="The engine's own success signal; anything else is a failure.",
        ),
        Field(
            name="usage",
            kind=Object(
                Spec(
                    UsagePointers,
                    (
                        _pointer("prompt_tokens", "Place of the tokens read."),
                        _pointer("completion_tokens", "Place of the tokens written."),
                        _pointer("total_tokens", "Place of their sum."),
                    ),
                )
            ),
            default=None,
            doc="Places of the token counts; in jsonl they are summed.",
        ),
        Field(
            name="finish",
            kind=Object(
                Spec(
                    FinishSignal,
                    (
                        Field(name="pointer", kind=JsonPointer(), doc="The place."),
                        Field(
                            name="length",
                            kind=ListOf(Scalar(), non_empty=True),
                            doc="Values that say that a limit cut the answer off.",
                        ),
                    ),
                )
            ),
            default=None,
            doc="How the engine says that its answer was cut off.",
        ),
        Field(
            name="failure_patterns",
            kind=ListOf(Regex()),
            default=(),
            doc="Regular expressions; an answer in which one is found is a failure.",
        ),
    ),
    rules=(
        "answer has no meaning with format text and file.",
        "success, usage and finish need format json or jsonl.",
        "format json and jsonl need answer.",
    ),
)
