"""F-OUT-21: what an outbound folder's listing holds, and any other's."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.lane import (
    Lane,
    ListingRefused,
    new_conversation,
    new_outbound,
    serving_files,
)
from tests.support.service import Service

req = pytest.mark.req

LIMIT = 240 * 1024
KINDS = ("pdf", "csv", "bin", "env", "c", "sqlite", "webm", "tar.gz", "")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("listing")
    with serving_files(root) as running_service:
        yield running_service


@pytest.fixture(scope="module")
def lane(service: Service) -> Lane:
    return Lane.of(service)


def fill(folder: Path, count: int) -> list[str]:
    """Write files of all kinds; return their names in order."""
    folder.mkdir(parents=True)
    kinds = [f".{kind}" * bool(kind) for kind in KINDS]
    names = [f"{index:03}{kinds[index % len(kinds)]}" for index in range(count)]
    for name in names:
        (folder / name).write_bytes(b"x")
    return sorted(names)


def counted(service: Service, action: str) -> list[int]:
    """Return the counts in the log lines of an action."""
    found = re.findall(rf" {action} .*count=([0-9]+)", service.log)
    return [int(count) for count in found]


@req("F-OUT-21")
def test_an_outbound_listing_is_bounded_and_any_other_is_whole(
    service: Service, lane: Lane
) -> None:
    outbound, plain = new_outbound(), new_conversation()
    names = fill(lane.at(outbound), 300)
    assert fill(lane.at(f"{plain}/many"), 300) == names
    assert lane.names(f"{plain}/many") == names
    assert counted(service, "lane_listing_cut") == []
    assert lane.names(outbound) == names[:190]
    assert counted(service, "lane_listing_cut") == [110]
    assert lane.seen_by_app(outbound) == names[:190]
    with pytest.raises(ListingRefused):
        lane.seen_by_app(f"{plain}/many")
    # Everything is there all the same.
    assert lane.get(f"{outbound}/{names[-1]}").status == 200


@req("F-OUT-21")
@pytest.mark.parametrize(
    "place",
    [
        "out-00112233445566778899aabbccddeeff",
        f"{new_conversation()}",
        f"{new_conversation()}/out-0011",
        f"{new_conversation()}/out-00112233445566778899AABBCCDDEEFF",
        f"{new_outbound()}/below",
        f"{new_conversation().lower()}/out-00112233445566778899aabbccddeeff",
    ],
    ids=["no conversation", "none in it", "short", "capitals", "below", "lower case"],
)
def test_only_an_outbound_folder_is_bounded(lane: Lane, place: str) -> None:
    names = fill(lane.at(place), 200)
    assert lane.names(place) == names


@req("F-OUT-21")
def test_a_listing_of_long_names_stays_below_what_the_app_reads(lane: Lane) -> None:
    path = new_outbound()
    lane.at(path).mkdir(parents=True)
    for index in range(190):
        (lane.at(path) / f"{index:03}{'語' * 64}.md").write_bytes(b"x")
    for body in (b"", PROPNAMES):
        answer = lane.propfind(path, "1", body)
        assert answer.status == 207
        assert len(answer.body) <= LIMIT
    listed = lane.seen_by_app(path)
    assert 100 < len(listed) <= 190
    assert listed == sorted(listed)


PROPNAMES = (
    b'<?xml version="1.0"?><D:propfind xmlns:D="DAV:"><D:prop><D:getetag/>'
    b"<D:displayname/><D:lockdiscovery/><D:supportedlock/></D:prop></D:propfind>"
)


@req("F-OUT-21")
def test_folders_never_push_files_out_of_an_outbound_listing(lane: Lane) -> None:
    path = new_outbound()
    names = fill(lane.at(path), 150)
    for index in range(100):
        (lane.at(path) / f"000-{index}").mkdir()
    assert lane.seen_by_app(path) == names


ODD = [b"back\\slash", b"new\nline", b"escape\x1b[31m", b"del\x7f"]
ODD_ON_LINUX = [b"bad-\xff\xfe.txt", "\ufffe.txt".encode(), "\uffff.txt".encode()]
TWINS = ["e\u0301.txt", "\u00e9.txt"]


@req("F-OUT-21")
@pytest.mark.skipif(sys.platform != "linux", reason="its disks take any name")
def test_one_odd_name_never_loses_the_folder(service: Service, lane: Lane) -> None:
    path, plain = new_outbound(), f"/{new_conversation()}"
    odd = [*ODD, *ODD_ON_LINUX]
    for place in (path, plain):
        folder = lane.at(place)
        folder.mkdir(parents=True)
        for name in (*odd, *map(str.encode, TWINS), b"good.txt"):
            (folder / os.fsdecode(name)).write_bytes(b"x")
    hidden = len(counted(service, "lane_names_hidden"))
    assert lane.seen_by_app(path) == [TWINS[0], "good.txt"]
    assert counted(service, "lane_names_hidden")[hidden:] == [len(odd) + 1]
    rows = lane.rows(plain)
    assert {row.name for row in rows[1:]} >= {*TWINS, "good.txt", "back\\slash"}
    for row in rows[1:]:
        assert lane.send("GET", row.href).status == 200, row.href


@req("F-OUT-21")
def test_what_is_neither_file_nor_folder_is_not_listed(lane: Lane) -> None:
    path = new_outbound()
    folder = lane.at(path)
    folder.mkdir(parents=True)
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("good.txt")
    (folder / "good.txt").write_bytes(b"x")
    assert lane.names(path) == ["good.txt"]
    for name in ("pipe", "link"):
        assert lane.send("GET", f"/{quote(path)}/{name}").status == 404
        assert lane.propfind(f"{path}/{name}", "0").status == 404
