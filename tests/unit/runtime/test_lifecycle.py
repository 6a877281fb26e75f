"""From running to stopped, in one direction."""

from __future__ import annotations

from collections.abc import Callable

from conduck_service.runtime.lifecycle import Lifecycle
from tests.support.core import HandClock


def test_nothing_stops_before_it_is_told_to() -> None:
    clock = HandClock()
    lifecycle = Lifecycle(clock)
    clock.seconds += 1e6
    assert not lifecycle.is_stopping
    assert not lifecycle.must_end


def test_running_turns_have_the_grace() -> None:
    clock = HandClock()
    lifecycle = Lifecycle(clock)
    lifecycle.stop(10)
    assert lifecycle.is_stopping
    clock.seconds += 9.9
    assert not lifecycle.must_end
    clock.seconds += 0.1
    assert lifecycle.must_end


def test_a_second_stop_shortens_the_grace_and_never_lengthens_it() -> None:
    clock = HandClock()
    lifecycle = Lifecycle(clock)
    lifecycle.stop(10)
    lifecycle.stop(60)
    lifecycle.stop(0)
    lifecycle.stop(10)
    assert lifecycle.must_end


class InterruptingClock(HandClock):
    """A clock that is read, and a signal comes in between."""

    def __init__(self) -> None:
        super().__init__()
        self.signal: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        signal, self.signal = self.signal, lambda: None
        signal()
        return super().monotonic()


def test_a_stop_that_interrupts_a_stop_is_not_lost() -> None:
    clock = InterruptingClock()
    lifecycle = Lifecycle(clock)
    clock.signal = lambda: lifecycle.stop(0)
    lifecycle.stop(10)
    assert lifecycle.must_end
