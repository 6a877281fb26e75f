"""What is asked of each server, again and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.bench.lane import jobs
from tests.bench.lane.client import Job, Result, Step
from tests.bench.lane.servers import LISTED, MIB, OUTPUTS, Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One kind of request or load.

    Attributes:
        name: By which rows find its results.
        take: Measures one server once.
        rounds: How often each server has its turn.
        writes: Whether the disk is brought to rest before each turn, so that what
            one server left to be written is not billed to the next.
    """

    name: str
    take: Callable[[Server], Result]
    rounds: int = 5
    writes: bool = False


def listing(folder: str, files: int) -> Step:
    """Return the listing of a folder; one without all ``files`` is an error."""
    return Step(
        method="PROPFIND",
        path=f"/{folder}",
        headers={"Depth": "1"},
        expect=(207,),
        holds=2 * files,  # a file stands in its href and in its displayname
        holds_text="report-",
    )


def look(path: str, status: int) -> Step:
    """Return the question whether something is there."""
    return Step(method="PROPFIND", path=path, headers={"Depth": "0"}, expect=(status,))


def get(path: str, size: int, headers: dict[str, str] | None = None) -> Step:
    """Return the reading of a file, or of a range of it."""
    expect = (206,) if headers else (200,)
    return Step(
        method="GET", path=path, headers=headers or {}, expect=expect, size=size
    )


def put(path: str, size: int) -> Step:
    """Return the writing of a file."""
    return Step(method="PUT", path=path, body=size, expect=(200, 201, 204))


def asking(
    *plan: Step,
    most: int,
    seconds: float = 2.0,
    warm: int = 1,
    clients: int = 1,
) -> Callable[[Server], Result]:
    """Return a measure that sends a plan again and again."""

    def take(server: Server) -> Result:
        job = Job(
            port=server.port,
            pids=server.pids,
            plan=plan,
            most=most,
            seconds=seconds,
            warm=warm,
            clients=clients,
        )
        return jobs.run(job)

    return take


def _look_while_listing(server: Server) -> Result:
    load = Job(
        port=server.port,
        pids=server.pids,
        plan=(listing("d1000", 0),),
        clients=8,
        seconds=4.0,
        nice=10,
    )
    with jobs.running(load):
        return asking(look("/out", 207), most=100_000, seconds=3.0)(server)


def _large_put(size: int) -> Callable[[Server], Result]:
    def take(server: Server) -> Result:
        job = Job(
            port=server.port,
            pids=server.pids,
            plan=(put("/put/large", size),),
            most=1,
            warm=0,
            ballast=str(server.ballast),
        )
        result = jobs.run(job)
        stored = server.folder / "put/large"
        assert stored.stat().st_size == size, stored
        stored.unlink()
        return result

    return take


_MIXED = (
    look("/out", 207),
    listing("out", OUTPUTS),
    put("/put/mixed-{client}-{turn}", 4096),
    get("/out/report-0001.txt", 4096),
)
_PART = {"Range": "bytes=1000-"}

MEASURES = (
    Measure(
        name="propfind_1000",
        take=asking(listing("d1000", LISTED), most=40, seconds=1.5),
    ),
    Measure(name="propfind_hit", take=asking(look("/out", 207), most=1500, warm=20)),
    Measure(
        name="propfind_miss",
        take=asking(look("/out/none-0123", 404), most=1500, warm=20),
    ),
    Measure(name="propfind_while_listing", take=_look_while_listing, rounds=3),
    Measure(name="get_1m", take=asking(get("/m1", MIB), most=300, warm=5)),
    Measure(
        name="get_1m_range",
        take=asking(get("/m1", MIB - 1000, _PART), most=300, warm=5),
    ),
    Measure(name="get_100m", take=asking(get("/m100", 100 * MIB), most=8)),
    Measure(
        name="get_100m_range",
        take=asking(get("/m100", 100 * MIB - 1000, _PART), most=8),
    ),
    Measure(name="put_100m", take=_large_put(100 * MIB), writes=True),
    Measure(name="put_1g", take=_large_put(1024 * MIB), rounds=3, writes=True),
    Measure(
        name="put_4k",
        take=asking(put("/put/small-{client}-{turn}", 4096), most=100_000, clients=8),
        writes=True,
    ),
    Measure(
        name="mixed",
        take=asking(*_MIXED, most=100_000, clients=16),
        writes=True,
    ),
)
