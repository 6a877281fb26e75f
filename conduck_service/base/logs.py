"""Log lines: one a record, for people and programs, without any content.

What a line may carry beside its message is a fixed list of fields, given with
``extra``. Messages are written by us and hold no text of a person or an engine.
What libraries and exceptions say may hold such text, so it is left out.
"""

from __future__ import annotations

import functools
import logging
import re
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from conduck_service.base.redaction import Redactor

OURS = "conduck_service"

FIELDS = (
    "server",
    "method",
    "route",
    "status",
    "size",
    "ms",
    "turn",
    "execution",
    "model",
    "code",
    "address",
    "count",
    "scope",
    "entry",
)
"""What a line may carry beside its action and its message, in this order."""

_FRAMES = 20
_PLAIN = re.compile(r"[0-9A-Za-z._:/-]+")
_LOG = logging.getLogger(__name__)


class LineFormatter(logging.Formatter):
    """Makes one line of a record: time, level, action, message and fields."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its end, cleaned of every known secret."""
        known = record.__dict__
        action = known.get("action", "") or _action(record)
        words = [_time(record.created), record.levelname.lower(), action]
        words.append(_message(record))
        for name in FIELDS:
            if (value := known.get(name)) is not None:
                words.append(f"{name}={self._value(value)}")
        if record.exc_info and record.exc_info[1] is not None:
            words.append(f"error={self._value(_chain(record.exc_info[1]))}")
        # Escaping comes last, so that a secret of several lines is still found.
        return _escape(self._redactor.clean(" ".join(words)))

    def _value(self, value: object) -> str:
        if type(value) is int:
            return str(value)  # the whole line is cleaned
        if not isinstance(value, (str, int, float)):
            return type(value).__name__  # its text is not ours to judge
        text = str(value)
        if _PLAIN.fullmatch(text):
            return text
        text = self._redactor.clean(text)
        if text and text.isprintable() and not any(sign in text for sign in ' "=\\'):
            return text
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class LineHandler(logging.StreamHandler[Any]):
    """Writes lines to standard error and is silent when that fails."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - theirs
        """Drop the record; the library's own complaint would show its content."""


def set_up(redactor: Redactor, level: int = logging.INFO) -> logging.Handler:
    """Send every log record of this process to standard error, one line each.

    Calling it again replaces what the earlier call set up.

    Args:
        redactor: Cleans every line of secrets.
        level: Least level that is written, as ``logging`` numbers them. Records
            of libraries are written from WARNING on.

    Returns:
        The handler that was added to the root logger.
    """
    # No line tells these, and finding them out is half the cost of a record.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = LineHandler(sys.stderr)
    handler.setFormatter(LineFormatter(redactor))
    root = logging.getLogger()
    for old in [item for item in root.handlers if isinstance(item, LineHandler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(max(level, logging.WARNING))
    logging.getLogger(OURS).setLevel(level)
    return handler


def catch_uncaught() -> None:
    """Log exceptions that nobody caught instead of printing their text.

    Python would print the text of the exception, which can hold content.
    """
    sys.excepthook = _report_uncaught
    threading.excepthook = _report_thread
    sys.unraisablehook = _report_unraisable


def _report_uncaught(
    kind: type[BaseException], error: BaseException, stack: TracebackType | None
) -> None:
    _LOG.critical(
        "an exception was not caught",
        extra={"action": "uncaught"},
        exc_info=(kind, error, stack),
    )


def _report_thread(found: threading.ExceptHookArgs) -> None:
    if found.exc_value is not None and not isinstance(found.exc_value, SystemExit):
        _report_uncaught(found.exc_type, found.exc_value, found.exc_traceback)


def _report_unraisable(found: sys.UnraisableHookArgs) -> None:
    if found.exc_value is not None:
        _report_uncaught(found.exc_type, found.exc_value, found.exc_traceback)


def _is_ours(record: logging.LogRecord) -> bool:
    return record.name == OURS or record.name.startswith(f"{OURS}.")


def _action(record: logging.LogRecord) -> str:
    return record.name.rpartition(".")[2] if _is_ours(record) else record.name


def _message(record: logging.LogRecord) -> str:
    if not _is_ours(record):
        return "a library has something to say"
    try:
        return record.getMessage()
    except Exception:  # logging must not end what it reports on
        return "(a message that could not be put together)"


def _time(created: float) -> str:
    second = int(created // 1)
    return f"{_second(second)}.{int((created - second) * 1000):03d}Z"


@functools.lru_cache(maxsize=2)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _chain(error: BaseException) -> str:
    """Return the types and places of an exception and of what led to it."""
    parts: list[str] = []
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        places = list(_places(cause.__traceback__))[-_FRAMES:]
        parts.append(" ".join([type(cause).__qualname__, *places]))
        hidden = None if cause.__suppress_context__ else cause.__context__
        cause = cause.__cause__ or hidden
    return " from ".join(parts)


def _places(stack: TracebackType | None) -> Iterator[str]:
    while stack is not None:
        code = stack.tb_frame.f_code
        yield f"{code.co_filename}:{stack.tb_lineno}:{code.co_name}"
        stack = stack.tb_next


def _escape(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii")
        for sign in text
    )
