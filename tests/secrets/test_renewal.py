"""What a listener holds, and when it asks anew."""

from __future__ import annotations

import logging
import stat
import threading
from pathlib import Path

import pytest

from conduck_service.base.clock import SystemClock
from conduck_service.base.safefiles import SafeFileError
from conduck_service.secrets.renewal import RETRY_SECONDS, Renewed, renewed_secrets
from conduck_service.secrets.resolve import SecretError
from conduck_service.secrets.revision import raise_revision, revision_of
from conduck_service.secrets.source import SecretCode
from conduck_service.serving.bearer import bearer_gate, renewed_gate


class Stopped(SystemClock):
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.req("B-SECRET-54")
def test_each_write_makes_another_revision(tmp_path: Path) -> None:
    state = tmp_path / "state"
    revision = revision_of(state)
    seen = [revision()]
    assert seen == [None]
    for _ in range(5):
        raise_revision(state)
        assert revision() not in seen
        seen.append(revision())
        assert revision() == seen[-1]
    assert mode(state) == mode(state / "private") == 0o700
    (file,) = (state / "private").iterdir()
    assert (file.name, mode(file)) == ("secrets.revision", 0o600)


@pytest.mark.req("B-PERM-19")
def test_a_private_folder_open_to_others_is_refused(tmp_path: Path) -> None:
    raise_revision(tmp_path)
    (tmp_path / "private").chmod(0o770)
    with pytest.raises(SafeFileError):
        raise_revision(tmp_path)
    assert mode(tmp_path / "private") == 0o770


def test_a_value_is_found_once_for_each_revision() -> None:
    now, found = [1], iter("abc")
    held = Renewed(lambda: next(found), lambda: now[0])
    assert [held(), held()] == ["a", "a"]
    now[0] = 2
    assert [held(), held()] == ["b", "b"]


def test_a_write_during_a_search_is_not_missed() -> None:
    now, values = [1], iter(["old", "new"])

    def find() -> str:
        now[0] = 2
        return next(values)

    held = Renewed(find, lambda: now[0])
    assert [held(), held(), held()] == ["old", "new", "new"]


def test_while_one_looks_the_others_wait_and_get_no_old_value() -> None:
    now, may_end, looks = [1], threading.Event(), threading.Event()
    values = iter(["old", "new"])

    def find() -> str:
        if now[0] == 2:
            looks.set()
            may_end.wait(20)
        return next(values)

    held = Renewed(find, lambda: now[0])
    assert held() == "old"
    now[0] = 2
    given: list[str | None] = []
    threads = [threading.Thread(target=lambda: given.append(held())) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert looks.wait(20)
    assert given == []
    may_end.set()
    for thread in threads:
        thread.join()
    assert given == ["new"] * 8


def test_a_search_that_fails_unforeseen_lets_nobody_have_the_old_value() -> None:
    now = [1]

    def find() -> str:
        if now[0] > 1:
            raise RuntimeError
        return "old"

    held = Renewed(find, lambda: now[0])
    assert held() == "old"
    now[0] = 2
    for _ in range(2):
        with pytest.raises(RuntimeError):
            held()


def test_a_failure_is_tried_again_after_some_seconds_and_a_value_is_not() -> None:
    clock, found = Stopped(), iter([None, None, "a"])
    held = Renewed(lambda: next(found), lambda: 1, clock)
    assert [held(), held()] == [None, None]
    clock.seconds += RETRY_SECONDS - 0.1
    assert held() is None
    clock.seconds += 0.1
    assert [held(), held()] == [None, None]  # the second of what is found
    clock.seconds += RETRY_SECONDS
    assert [held(), held()] == ["a", "a"]
    clock.seconds += 10 * RETRY_SECONDS
    assert held() == "a"


def test_nobody_waits_for_one_that_tries_a_failure_again() -> None:
    clock, may_end, looks = Stopped(), threading.Event(), threading.Event()
    found = iter([None, "value"])

    def find() -> str | None:
        if clock.seconds:
            looks.set()
            may_end.wait(20)
        return next(found)

    held = Renewed(find, lambda: 1, clock)
    assert held() is None
    clock.seconds += RETRY_SECONDS
    given: list[str | None] = []
    thread = threading.Thread(target=lambda: given.append(held()))
    thread.start()
    assert looks.wait(20)
    assert held() is None
    may_end.set()
    thread.join()
    assert [*given, held()] == ["value", "value"]


def test_a_failure_that_is_tried_again_is_logged_once_for_each_cause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, remedies = Stopped(), iter(["a", "a", "b", None, "b"])

    def resolve(name: str) -> str:
        remedy = next(remedies)
        if remedy is None:
            return "value"
        raise SecretError(SecretCode.MISSING, name, remedy)

    now = [1]
    secret = renewed_secrets(
        ["token"],
        resolve,
        revision=lambda: now[0],
        entry="chat",
        scope="home",
        clock=clock,
    )
    with caplog.at_level(logging.WARNING):
        counts = []
        for _ in range(4):
            secret("token")
            counts.append(len(caplog.records))
            clock.seconds += RETRY_SECONDS
        now[0] = 2
        secret("token")
    assert counts == [1, 1, 2, 2]
    assert len(caplog.records) == 3


@pytest.mark.req("B-SECRET-29", "B-SECRET-36")
def test_an_entry_gets_what_it_has_selected_and_a_failure_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now, asked = [1], []

    def resolve(name: str) -> str:
        asked.append(name)
        if name == "gone":
            raise SecretError(SecretCode.MISSING, name, "set it")
        return f"value of {name}"

    secret = renewed_secrets(
        ["token", "gone"],
        resolve,
        revision=lambda: now[0],
        entry="chat",
        scope="home",
    )
    assert asked == []
    with caplog.at_level(logging.WARNING):
        assert [secret("token"), secret("other")] == ["value of token", None]
        assert [secret("gone"), secret("gone")] == [None, None]
    assert asked == ["token", "gone"]
    (line,) = caplog.records
    assert line.__dict__["scope"] == "home"
    now[0] = 2
    assert secret("gone") is None
    assert len(caplog.records) == 2


def test_a_gate_goes_by_the_present_value() -> None:
    token: list[bytes | None] = [b"first"]
    gate = renewed_gate(lambda: token[0], bearer_gate)
    assert gate([b"Bearer first"])
    token[0] = b"second"
    assert not gate([b"Bearer first"])
    assert gate([b"Bearer second"])
    token[0] = None
    assert not gate([b"Bearer second"])
    assert not gate([b"Bearer "])
    assert not gate([b"Bearer None"])
