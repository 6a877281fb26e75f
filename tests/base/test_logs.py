from __future__ import annotations

import io
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NoReturn

import pytest

from conduck_service.base import logs
from conduck_service.base.redaction import MARK, Redactor

LOG = logging.getLogger("conduck_service.somewhere")
FOREIGN = logging.getLogger("somebody.else")

Lines = Callable[[], list[str]]


@pytest.fixture
def redactor() -> Redactor:
    made = Redactor()
    made.register("canary secret")
    return made


@pytest.fixture
def lines(redactor: Redactor, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lines]:
    """Set up logging and return what gives the lines written so far."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    root, ours = logging.getLogger(), logging.getLogger(logs.OURS)
    levels = root.level, ours.level
    handler = logs.set_up(redactor)
    yield lambda: stream.getvalue().splitlines()
    root.removeHandler(handler)
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


def fail_with(text: str) -> NoReturn:
    raise RuntimeError(text)


def test_a_record_is_one_line_of_time_level_action_message_and_fields(
    lines: Lines,
) -> None:
    fields = {"action": "chat.answer", "status": 200, "ms": 12, "model": "coder"}
    LOG.info("answered", extra=fields)
    (line,) = lines()
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info chat\.answer answered "
        r"status=200 ms=12 model=coder",
        line,
    )


def test_time_is_utc_and_always_has_milliseconds(redactor: Redactor) -> None:
    record = logging.makeLogRecord({"name": "conduck_service", "created": 86400.0})
    line = logs.LineFormatter(redactor).format(record)
    assert line.startswith("1970-01-02T00:00:00.000Z ")


def test_a_record_without_action_names_its_module(lines: Lines) -> None:
    LOG.warning("careful")
    assert lines()[0].endswith(" warning somewhere careful")


def test_only_fields_of_the_list_are_written(lines: Lines) -> None:
    LOG.info("one", extra={"prompt": "canary", "count": 3, "scope": None})
    (line,) = lines()
    assert line.endswith(" one count=3")


def test_a_field_is_a_word_a_number_or_the_name_of_its_type(lines: Lines) -> None:
    class Code(StrEnum):
        LATE = "late"

    LOG.info("one", extra={"code": Code.LATE, "entry": {"canary": "canary"}})
    (line,) = lines()
    assert line.endswith(" one code=late entry=dict")


def test_a_field_cannot_pass_for_two(lines: Lines) -> None:
    LOG.info("one", extra={"model": 'a" status=200', "route": ""})
    (line,) = lines()
    assert line.endswith(r'route="" model="a\" status=200"')


def test_line_breaks_and_control_characters_are_escaped(lines: Lines) -> None:
    LOG.info("one\ntwo\r\x1b[31m\u2028\u202e", extra={"model": "a\nb"})
    (line,) = lines()
    assert line.endswith(r'one\ntwo\r\x1b[31m\u2028\u202e model="a\nb"')


@pytest.mark.parametrize(
    "secret", ["canary secret", 'canary "quoted" \\secret', "canary\nsecret", "cänäry"]
)
def test_no_line_holds_a_secret(lines: Lines, redactor: Redactor, secret: str) -> None:
    redactor.register(secret)
    LOG.info("with %s", secret, extra={"model": f"<{secret}>", "action": secret})
    (line,) = lines()
    assert line.count(MARK) == 3
    assert "can" not in line
    assert "secret" not in line


def test_an_exception_is_its_type_and_places_without_its_text(lines: Lines) -> None:
    local = "canary local"
    try:
        fail_with(f"canary text {local}")
    except RuntimeError:
        LOG.exception("it failed", extra={"action": "attempt"})
    (line,) = lines()
    assert "canary" not in line
    assert re.search(
        r' error="RuntimeError \S+test_logs\.py:\d+:test_an_exception\w+ '
        r'\S+test_logs\.py:\d+:fail_with"$',
        line,
    )


def test_the_cause_of_an_exception_is_told_too(lines: Lines) -> None:
    try:
        try:
            fail_with("canary")
        except RuntimeError as error:
            raise ValueError("canary") from error
    except ValueError:
        LOG.exception("it failed")
    (line,) = lines()
    assert re.search(r"ValueError \S+ from RuntimeError \S+", line)
    assert "canary" not in line


def test_a_deep_stack_is_cut(lines: Lines) -> None:
    def recurse() -> None:
        recurse()

    try:
        recurse()
    except RecursionError:
        LOG.exception("too deep")
    (line,) = lines()
    assert line.count("recurse") == 20


def test_what_a_library_says_is_left_out(lines: Lines) -> None:
    FOREIGN.info("canary")
    FOREIGN.warning("canary %s", "canary")
    (line,) = lines()
    assert "somebody.else a library has something to say" in line
    assert "canary" not in line


def test_a_broken_record_ends_nothing_and_shows_nothing(redactor: Redactor) -> None:
    record = logging.makeLogRecord({"name": LOG.name, "msg": "%d", "args": ("canary",)})
    line = logs.LineFormatter(redactor).format(record)
    assert line.endswith(" (a message that could not be put together)")


def test_a_closed_stream_ends_nothing(
    redactor: Redactor, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = io.StringIO()
    monkeypatch.setattr(sys, "stderr", closed)
    handler = logs.set_up(redactor)
    closed.close()
    try:
        LOG.warning("nobody reads this")
    finally:
        logging.getLogger().removeHandler(handler)


def test_setting_up_again_replaces_the_first(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    handler = logs.set_up(Redactor(), logging.ERROR)
    LOG.warning("not written")
    LOG.error("written once")
    logging.getLogger().removeHandler(handler)
    assert lines() == []
    assert len(stream.getvalue().splitlines()) == 1


def test_what_nobody_caught_is_logged_without_its_text(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    for owner, name in (
        (sys, "excepthook"),
        (threading, "excepthook"),
        (sys, "unraisablehook"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    logs.catch_uncaught()

    class Unraisable:
        def __del__(self) -> None:
            fail_with("canary")

    thread = threading.Thread(target=fail_with, args=("canary",))
    thread.start()
    thread.join()
    thread = threading.Thread(target=sys.exit)
    thread.start()
    thread.join()
    Unraisable()
    try:
        fail_with("canary")
    except RuntimeError as error:
        sys.excepthook(RuntimeError, error, error.__traceback__)
    found = lines()
    assert len(found) == 3
    assert all(" critical uncaught " in line and "fail_with" in line for line in found)
    assert "canary" not in "".join(found)
