"""The pool: who runs, who waits, who is refused, and that nobody is forgotten."""

from __future__ import annotations

import random
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conduck_service.runtime.pools import AgentPool, PoolFullError, Ticket


def test_slots_are_granted_until_none_is_left() -> None:
    pool = AgentPool(2)
    tickets = [pool.enter("q", 5, None) for _ in range(3)]
    assert [ticket.is_granted for ticket in tickets] == [True, True, False]
    pool.leave(tickets[0])
    assert tickets[2].is_granted


@pytest.mark.req("C-CONC-10")
def test_whoever_came_first_is_served_first() -> None:
    pool = AgentPool(1)
    tickets = [pool.enter("q", 9, None) for _ in range(5)]
    for number, ticket in enumerate(tickets):
        assert [t.is_granted for t in tickets[number:]] == [True] + [False] * (
            4 - number
        )
        pool.leave(ticket)


def test_two_of_one_key_never_run_at_once() -> None:
    pool = AgentPool(4)
    first, second = pool.enter("q", 5, "folder"), pool.enter("q", 5, "folder")
    assert (first.is_granted, second.is_granted) == (True, False)
    pool.leave(first)
    assert second.is_granted


def test_a_ticket_that_waits_for_its_key_holds_up_nobody_behind_it() -> None:
    pool = AgentPool(2)
    pool.enter("q", 5, "folder")
    blocked = pool.enter("q", 5, "folder")
    other = pool.enter("q", 5, "elsewhere")
    assert (blocked.is_granted, other.is_granted) == (False, True)


def test_a_full_queue_refuses_and_each_entry_has_its_own() -> None:
    pool = AgentPool(1)
    pool.enter("a", 1, None)
    pool.enter("a", 1, None)
    with pytest.raises(PoolFullError):
        pool.enter("a", 1, None)
    assert not pool.enter("b", 1, None).is_granted
    assert not pool.has_room("a", 1, [None])
    assert pool.has_room("a", 2, [None])


def test_without_a_queue_there_is_still_the_slot() -> None:
    pool = AgentPool(1)
    assert pool.has_room("q", 0, [None])
    held = pool.enter("q", 0, None)
    assert not pool.has_room("q", 0, [None])
    with pytest.raises(PoolFullError):
        pool.enter("q", 0, None)
    pool.leave(held)
    assert pool.enter("q", 0, None).is_granted


def test_room_is_there_when_any_of_the_keys_could_run() -> None:
    pool = AgentPool(4)
    pool.enter("q", 0, "busy")
    assert not pool.has_room("q", 0, ["busy"])
    assert pool.has_room("q", 0, ["busy", "free"])


def test_no_slots_means_no_bound() -> None:
    pool = AgentPool(0)
    assert all(pool.enter("q", 0, None).is_granted for _ in range(100))


def test_a_ticket_that_leaves_the_queue_is_never_granted() -> None:
    pool = AgentPool(1)
    held, waiting = pool.enter("q", 5, None), pool.enter("q", 5, None)
    pool.leave(waiting)
    pool.leave(held)
    assert not waiting.is_granted
    assert pool.enter("q", 0, None).is_granted


def test_a_slot_granted_at_the_moment_of_leaving_is_given_back() -> None:
    pool = AgentPool(1)
    held, waiting = pool.enter("q", 5, None), pool.enter("q", 5, None)
    assert not waiting.wait(0)  # its time is over, so it is going to leave
    pool.leave(held)  # and is granted just now
    assert waiting.is_granted
    pool.leave(waiting)
    assert pool.enter("q", 0, None).is_granted


def test_a_wait_ends_with_the_grant() -> None:
    pool = AgentPool(1)
    held, waiting = pool.enter("q", 5, None), pool.enter("q", 5, None)
    threading.Timer(0.05, pool.leave, [held]).start()
    assert waiting.wait(20)


class Model:
    """What the pool promises, checked after every step."""

    def __init__(self, slots: int, depth: int) -> None:
        self.pool = AgentPool(slots)
        self.slots = slots
        self.depth = depth
        self.tickets: list[Ticket] = []  # in order of arrival

    def enter(self, queue: str, key: str | None) -> None:
        waiting = [t for t in self.tickets if t.queue == queue and not t.is_granted]
        fits = self.could_run(key)
        had_room = self.pool.has_room(queue, self.depth, [key])
        try:
            self.tickets.append(self.pool.enter(queue, self.depth, key))
        except PoolFullError:
            assert not fits
            assert len(waiting) == self.depth
            assert not had_room
        else:
            assert had_room
            assert self.tickets[-1].is_granted == fits

    def leave(self, index: int) -> None:
        if self.tickets:
            self.pool.leave(self.tickets.pop(index % len(self.tickets)))

    def could_run(self, key: str | None) -> bool:
        running = [ticket for ticket in self.tickets if ticket.is_granted]
        is_free = not self.slots or len(running) < self.slots
        return is_free and (key is None or all(t.key != key for t in running))

    def check(self) -> None:
        running = [ticket for ticket in self.tickets if ticket.is_granted]
        keys = [ticket.key for ticket in running if ticket.key is not None]
        assert not self.slots or len(running) <= self.slots
        assert len(set(keys)) == len(keys)
        # Nobody waits who could run: no slot is wasted and nobody forgotten.
        assert not any(self.could_run(t.key) for t in self.tickets if not t.is_granted)
        # Among equals nobody is overtaken.
        for key in {ticket.key for ticket in self.tickets}:
            granted = [t.is_granted for t in self.tickets if t.key == key]
            assert granted == sorted(granted, reverse=True)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("ab"), st.sampled_from([None, "x", "y", "z"])),
        st.integers(0, 50),
    ),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(slots=st.integers(0, 3), depth=st.integers(0, 4), steps=STEPS)
def test_the_pool_keeps_its_promises_whatever_comes(
    slots: int, depth: int, steps: list[tuple[str, str | None] | int]
) -> None:
    model = Model(slots, depth)
    for step in steps:
        if isinstance(step, int):
            model.leave(step)
        else:
            model.enter(*step)
        model.check()
    while model.tickets:
        model.leave(0)
        model.check()
    assert model.pool.has_room("a", 0, [None])


class Crowd:
    """Threads that enter, wait, give up or run, all at once."""

    def __init__(self, slots: int) -> None:
        self.pool = AgentPool(slots)
        self.slots = slots
        self.lock = threading.Lock()
        self.running: list[str | None] = []
        self.broken: list[str] = []
        self.ran = 0

    def take_turns(self, seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311 - a repeatable mix of timings
        for _ in range(60):
            key = chance.choice([None, "x", "y"])
            ticket = self.pool.enter("q", 1000, key)
            if ticket.wait(chance.choice([0, 0.0005, 0.002, 5])):
                self.run(key, chance.random() / 2000)
            self.pool.leave(ticket)

    def run(self, key: str | None, seconds: float) -> None:
        with self.lock:
            self.running.append(key)
            self.ran += 1
            if len(self.running) > self.slots:
                self.broken.append("too many")
            if key is not None and self.running.count(key) > 1:
                self.broken.append("two of a key")
        time.sleep(seconds)
        with self.lock:
            self.running.remove(key)


def test_the_pool_keeps_its_promises_to_many_threads() -> None:
    crowd = Crowd(3)
    threads = [threading.Thread(target=crowd.take_turns, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert crowd.broken == []
    assert crowd.ran > 100
    # Nothing leaked: every slot is there again.
    assert all(crowd.pool.enter("q", 0, None).is_granted for _ in range(3))
    assert not crowd.pool.has_room("q", 0, [None])
