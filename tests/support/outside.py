"""What lies beside a lane's folder, for tests of the ways out that there are not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.commands import tree
from tests.support.lane import Lane
from tests.support.raw_http import RawResponse
from tests.support.service import Service

CANARY = b"canary-outside-7c1e"
OUTSIDE = "outside"
BODY = b"from inside"


@contextmanager
def guarded(service: Service) -> Iterator[Lane]:
    """Lay canaries beside the shared folder; they must be there as before at the end.

    Within the folder there is ``a/in.txt``.
    """
    lane = Lane.of(service)
    # The second one's name begins with that of the shared folder.
    for name in (OUTSIDE, f"{lane.folder.name}-2"):
        folder = service.root / name
        (folder / "below").mkdir(parents=True, exist_ok=True)
        (folder / "secret.txt").write_bytes(CANARY)
        (folder / "below" / "secret.txt").write_bytes(CANARY)
    (lane.folder / "a").mkdir(exist_ok=True)
    (lane.folder / "a" / "in.txt").write_bytes(BODY)
    before = _around(service)
    yield lane
    assert _around(service) == before


def _around(service: Service) -> tuple[list[str], object, object]:
    names = sorted(path.name for path in service.root.iterdir())
    neighbour = service.root / f"{service.folder.name}-2"
    return names, tree(service.root / OUTSIDE), tree(neighbour)


def is_refused(response: RawResponse) -> bool:
    """Say whether a request was refused without a byte of the canaries."""
    return 400 <= response.status < 500 and CANARY not in response.body
