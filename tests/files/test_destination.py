"""The Destination header: a place here, however the client reached us."""

from __future__ import annotations

import pytest

from tests.support.lane_faults import Box
from tests.support.raw_http import RawResponse


def move(box: Box, destination: str | None, *headers: tuple[str, str]) -> RawResponse:
    """Move a file to where a header says, as it is."""
    box.write("old", b"x")
    own = [] if destination is None else [("Destination", destination)]
    return box.lane.send("MOVE", box.at("old"), headers=[*own, *headers])


@pytest.mark.parametrize(
    "origin",
    [
        "http://test",
        "https://test",
        "HTTPS://TEST",
        "http://test:8481",
        "https://test:443",
    ],
)
def test_our_own_host_is_taken_whatever_scheme_and_port(box: Box, origin: str) -> None:
    assert move(box, f"{origin}{box.at('new')}").status == 201
    assert box.on_disk() == ["new"]


def test_the_host_that_a_front_tells_is_taken(box: Box) -> None:
    to = f"https://files.example.com{box.at('new')}"
    assert move(box, to).status == 502
    told = ("X-Forwarded-Host", "inner, files.example.com:443")
    assert move(box, to, told).status == 201
    assert box.on_disk() == ["new"]


@pytest.mark.req("F-METH-09")
@pytest.mark.parametrize(
    "origin",
    [
        "http://other",
        "http://test.example.com",
        "ftp://test",
        "http://a@test",
        "http://",
    ],
)
def test_other_servers_are_refused(box: Box, origin: str) -> None:
    for method in ("MOVE", "COPY"):
        box.write("old", b"x")
        headers = [("Destination", f"{origin}{box.at('new')}")]
        assert box.lane.send(method, box.at("old"), headers=headers).status == 502
    assert box.on_disk() == ["old"]


@pytest.mark.parametrize("value", [None, "", "new", "./new", "http:new", "%2Fnew", "*"])
def test_what_is_neither_url_nor_path_is_400(box: Box, value: str | None) -> None:
    assert move(box, value).status == 400
    assert box.on_disk() == ["old"]


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("a%2Fb", 409),
        ("a%00", 400),
        ("a%0D%0Ab", 400),
        ("%FF", 400),
        ("x" * 256, 400),
        (".conduck-" + "0" * 32, 403),
    ],
)
def test_names_that_nothing_may_have(box: Box, name: str, status: int) -> None:
    assert move(box, box.at(name)).status == status
    assert box.on_disk() == ["old"]


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("a%3Fb", "a?b"),
        ("a%23b", "a#b"),
        ("100%2541", "100%41"),
        ("a%3Bb;c", "a;b;c"),
        ("a?query", "a"),
        ("%C3%BC", "ü"),
        ("\xc3\xbc", "ü"),
        ("a+b", "a+b"),
        ("x/../y", "y"),
    ],
)
def test_it_is_decoded_once_after_it_was_split(
    box: Box, name: str, stored: str
) -> None:
    assert move(box, box.at(name)).status == 201
    assert box.on_disk() == [stored]
