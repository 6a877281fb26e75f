"""Does one job of requests against one server; run as a process of its own.

So the figures are the server's, not those of the process that runs the bench.

usage: python -m tests.bench.lane.client JOB (see :class:`Job`), prints a Result
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count, cycle
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from typing import Any

from tests.bench.lane.raw import (
    INLINE_BYTES,
    PASSWORD,
    Ballast,
    Connection,
    Noise,
    head_of,
)

NAMES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request of a plan.

    Attributes:
        method: HTTP method.
        path: May hold ``{client}`` and ``{turn}``.
        headers: More headers.
        body: Bytes of zeros or, for large ones, of noise that are sent.
        expect: Statuses that are right.
        size: Bytes that the answer must have; None for any number.
        holds: How often ``holds_text`` must occur in the answer; 0 for not looking.
        holds_text: Text to count.
        password: Of the user.
    """

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: int = 0
    expect: tuple[int, ...] = (200,)
    size: int | None = None
    holds: int = 0
    holds_text: str = ""
    password: str = PASSWORD


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What to do.

    Attributes:
        port: Of the server.
        pids: The server's processes, whose processor time is taken.
        plan: Requests that each client sends in turn, again and again.
        clients: How many at once, each a process with one connection.
        warm: How often each does the plan before the clock starts.
        most: Largest number of timed requests of one client.
        seconds: When a client begins no more requests.
        new: Whether each request has a connection of its own.
        timeout: Seconds after which a request counts as unanswered.
        ballast: Path of a file for :class:`Ballast`; empty for none.
        says_ready: Print a line when the clock starts.
        nice: By how much the clients step back for other processes. A load does, so
            that on a small machine its own work does not hide the server's.
    """

    port: int
    pids: tuple[int, ...]
    plan: tuple[Step, ...]
    clients: int = 1
    warm: int = 1
    most: int = 1_000_000
    seconds: float = 60.0
    new: bool = False
    timeout: float = 60.0
    ballast: str = ""
    says_ready: bool = False
    nice: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came out.

    Attributes:
        wall: Seconds from the first request to the last answer.
        cpu: Seconds of processor time that the server took meanwhile.
        latencies: Seconds of each request.
        unanswered: Clients that gave up waiting.
    """

    wall: float
    cpu: float
    latencies: list[float]
    unanswered: int = 0


def processor_seconds(pids: Sequence[int]) -> float:
    """Return what the processes have used so far, in user and system mode."""
    # The kernel's number of another process's clock; 10 ms ticks would be too coarse.
    return sum(time.clock_gettime((~pid << 3) | 2) for pid in pids)


def do(job: Job) -> Result:
    """Do a job; one client in this process, several each in their own."""
    os.nice(job.nice)
    if job.clients == 1:
        client = Client(job, 0)
        client.warm()
        return _timed(job, lambda: [client.run()])
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(job.clients + 1)
    answers: SimpleQueue[tuple[list[float], int]] = context.SimpleQueue()
    clients = [
        context.Process(target=_client, args=(job, number, barrier, answers))
        for number in range(job.clients)
    ]
    for process in clients:
        process.start()
    barrier.wait(120)
    result = _timed(job, lambda: [answers.get() for _ in clients])
    for process in clients:
        process.join()
    return result


def _timed(job: Job, run: Any) -> Result:
    if job.says_ready:
        print("ready", flush=True)
    cpu, start = processor_seconds(job.pids), time.perf_counter()
    parts = run()
    wall = time.perf_counter() - start
    return Result(
        wall=wall,
        cpu=processor_seconds(job.pids) - cpu,
        latencies=[value for latencies, _ in parts for value in latencies],
        unanswered=sum(unanswered for _, unanswered in parts),
    )


def _client(job: Job, number: int, barrier: Barrier, answers: Any) -> None:
    client = Client(job, number)
    client.warm()
    barrier.wait(120)
    answers.put(client.run())


class Client:
    """One client with its requests made beforehand."""

    def __init__(self, job: Job, number: int) -> None:
        self._job = job
        large = sum(step.body for step in job.plan if step.body > INLINE_BYTES)
        noise = Noise() if large else None
        ballast = Ballast(job.ballast, large) if job.ballast else None
        self._connection = Connection(job.port, job.timeout, noise, ballast)
        turns = NAMES if any("{turn}" in step.path for step in job.plan) else 1
        self._requests = [
            (_request(step, number, turn), step)
            for turn in range(turns)
            for step in job.plan
        ]

    def warm(self) -> None:
        """Do the plan a few times before the clock starts."""
        for request, step in self._requests[: len(self._job.plan)] * self._job.warm:
            self._ask(request, step)

    def run(self) -> tuple[list[float], int]:
        """Return the seconds of each request, and 1 when one was not answered."""
        latencies: list[float] = []
        end = time.perf_counter() + self._job.seconds
        for number, (request, step) in zip(count(), self._endless(), strict=False):
            start = time.perf_counter()
            if number >= self._job.most or start >= end:
                break
            try:
                self._ask(request, step)
            except TimeoutError:
                return latencies, 1
            latencies.append(time.perf_counter() - start)
        self._connection.close()
        return latencies, 0

    def _endless(self) -> Iterator[tuple[bytes, Step]]:
        return cycle(self._requests)

    def _ask(self, request: bytes, step: Step) -> None:
        large = step.body if step.body > INLINE_BYTES else 0
        answer = self._connection.ask(request, large, keep=not self._job.new)
        assert answer.status in step.expect, (step, answer.status, answer.body)
        assert step.size in (None, answer.size), (step, answer.size)
        if step.holds:
            found = answer.body.count(step.holds_text.encode())
            assert found == step.holds, (step, found)


def _request(step: Step, client: int, turn: int) -> bytes:
    path = step.path.format(client=client, turn=turn)
    head = head_of(step.method, path, step.headers, step.body, step.password)
    if step.method != "PROPFIND":
        return head
    more = f"Content-Type: application/xml\r\nContent-Length: {len(ALLPROP)}\r\n\r\n"
    return head[:-2] + more.encode() + ALLPROP


ALLPROP = (
    b'<?xml version="1.0" encoding="utf-8"?>\n'
    b'<D:propfind xmlns:D="DAV:"><D:allprop/></D:propfind>'
)
"""What the app asks for."""


def read_job(text: str) -> Job:
    """Return the job that the parent process wrote."""
    content = json.loads(text)
    plan = tuple(
        Step(**{**step, "expect": tuple(step["expect"])})
        for step in content.pop("plan")
    )
    return Job(**{**content, "plan": plan, "pids": tuple(content["pids"])})


if __name__ == "__main__":
    print(json.dumps(asdict(do(read_job(sys.argv[1])))))
