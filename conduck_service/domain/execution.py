"""One attempt at a Work, what it used and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Finish(StrEnum):
    """Why an engine stopped writing, as far as it said so."""

    STOP = "stop"
    LENGTH = "length"


class OutcomeKind(StrEnum):
    """How an execution ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class FailureCode(StrEnum):
    """Why an execution failed or was cut short; words only, never content."""

    TIMEOUT = "timeout"
    EXIT = "exit"
    CRASH = "crash"
    NO_ANSWER = "no_answer"
    OUTPUT_LIMIT = "output_limit"
    ENGINE_ERROR = "engine_error"
    CONTEXT_TOO_LONG = "context_too_long"
    CANNOT_START = "cannot_start"
    SECRET_UNAVAILABLE = "secret_unavailable"  # noqa: S105 - a word, not a secret
    RESOURCE_UNAVAILABLE = "resource_unavailable"
    CLIENT_GONE = "client_gone"
    OVERLOADED = "overloaded"
    SHUTDOWN = "shutdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of a whole turn; a count that was not measured is None."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of an execution, without anything of its content."""

    kind: OutcomeKind
    code: FailureCode | None = None
    finish: Finish | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One attempt: which Work, under which binding and executor."""

    id: str
    work_id: str
    binding: str
    executor: str
