"""What a head must look like; the wire's side is in test_refusals."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conduck_service.serving.framing import (
    HEAD_LIMIT,
    Head,
    UnreadableHeadError,
    can_answer,
    read_head,
)


def head_of(
    *lines: bytes, first: bytes = b"GET /ok HTTP/1.1", host: bytes = b"Host: x"
) -> Head:
    all_lines = [first, *([host] if host else []), *lines]
    return read_head(bytearray(b"\r\n".join(all_lines) + b"\r\n\r\n"))[0]


def test_a_head_is_read_as_it_was_sent() -> None:
    data = b"POST /a?b=c HTTP/1.1\r\nHost: x:1\r\nX-One:  two \r\n\r\nthe body"
    head, early = read_head(bytearray(data))
    assert (head.method, head.target, head.version) == ("POST", "/a?b=c", "HTTP/1.1")
    assert (head.path, head.query) == (b"/a", "b=c")
    assert head.headers == (("host", b"x:1"), ("x-one", b"two"))
    assert head.fault == ""
    assert early == b"the body"


def test_one_empty_line_before_the_request_is_ignored() -> None:
    assert read_head(bytearray(b"\r\nGET / HTTP/1.0\r\n\r\n"))[0].method == "GET"


@pytest.mark.parametrize(
    "data",
    [
        b"GARBAGE\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET  / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1 \r\n\r\n",
        b"GET / HTTP/1.1 x\r\n\r\n",
        b"GET / HTTP/11\r\n\r\n",
        b"GET / http/1.1\r\n\r\n",
        b"GET\t/\tHTTP/1.1\r\n\r\n",
        b"GET /\xc3\xbc HTTP/1.1\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\n\r\n",
        b"G(T / HTTP/1.1\r\n\r\n",
        b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\nHost: x\n\n",
        b"GET / HTTP/1.1\r\nHost: x\nX: y\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: y\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"y" * HEAD_LIMIT + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"y" * HEAD_LIMIT,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_no_head_is_unreadable(data: bytes) -> None:
    assert can_answer(bytearray(data), 0)
    with pytest.raises(UnreadableHeadError):
        read_head(bytearray(data))


@pytest.mark.parametrize(
    "lines",
    [
        (b"Content-Length: 5", b"Content-Length: 5"),
        (b"Content-Length: 5", b"Content-Length: 6"),
        (b"Content-Length: 5, 5",),
        (b"Content-Length: 5", b"Transfer-Encoding: chunked"),
        (b"Content-Length: -1",),
        (b"Content-Length: +5",),
        (b"Content-Length: 0x5",),
        (b"Content-Length: 5 5",),
        (b"Content-Length: 5_0",),
        (b"Content-Length: 5.0",),
        (b"Content-Length: \xd9\xa5",),
        (b"Content-Length: \xb2",),
        (b"Content-Length:",),
        (b"Content-Length: 1234567890123456789",),
        (b"Transfer-Encoding: gzip, chunked",),
        (b"Transfer-Encoding: chunked, chunked",),
        (b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
        (b"Transfer-Encoding: identity",),
        (b"Transfer-Encoding:",),
        (b"Transfer-Encoding: \x0bchunked",),
        (b"Host: x",),
        (b"X-Name : blank before the colon",),
        (b"X-One: a", b" folded"),
        (b"X-One: a", b"\tfolded"),
        (b"X-One: a\x00b",),
        (b"X-One: a\rb",),
        (b"X-One: a\x7fb",),
        (b": no name",),
        (b"X(One): a",),
    ],
)
def test_a_head_that_can_be_misread_has_a_fault(lines: tuple[bytes, ...]) -> None:
    assert head_of(*lines).fault


@pytest.mark.parametrize(
    "first",
    [
        b"get /ok HTTP/1.1",
        b"Get /ok HTTP/1.1",
        b"G3T /ok HTTP/1.1",
        b"-GET /ok HTTP/1.1",
        b"GET /ok HTTP/2.0",
        b"GET /ok HTTP/0.9",
        b"GET /ok HTTP/1.2",
        b"GET ok HTTP/1.1",
        b"GET /ok#part HTTP/1.1",
        b"GET http:///ok HTTP/1.1",
        b"GET ftp://x/ok HTTP/1.1",
    ],
)
def test_a_request_line_out_of_the_ordinary_has_a_fault(first: bytes) -> None:
    assert head_of(first=first).fault


def test_http_1_1_needs_a_host_and_http_1_0_does_not() -> None:
    assert head_of(host=b"").fault
    assert not head_of(first=b"GET /ok HTTP/1.0", host=b"").fault
    assert not head_of(host=b"Host: anything.trycloudflare.com:443").fault
    assert head_of(b"Transfer-Encoding: chunked", first=b"POST /ok HTTP/1.0").fault


def test_headers_with_an_underscore_are_dropped() -> None:
    head = head_of(b"X_Forwarded_For: 1", b"Content_Length: 7", b"X-Kept: 2")
    assert head.headers == (("host", b"x"), ("x-kept", b"2"))
    assert head.length is None
    assert not head.fault


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        (b"http://example.org/v1/models?x=1", b"/v1/models", "x=1"),
        (b"HTTPS://example.org", b"/", ""),
        (b"http://example.org?x", b"/", "x"),
        (b"//x", b"//x", ""),
        (b"/a%20b", b"/a b", ""),
        (b"/a%2Fb%2fc", b"/a%2Fb%2Fc", ""),
        (b"/a%00b", b"/a\x00b", ""),
        (b"/%ff%zz", b"/\xff%zz", ""),
        (b"/a?b?c=%20", b"/a", "b?c=%20"),
        (b"*", b"/*", ""),
    ],
)
def test_a_target_becomes_path_and_query(
    target: bytes, path: bytes, query: str
) -> None:
    head = head_of(first=b"OPTIONS " + target + b" HTTP/1.1")
    assert (head.path, head.query, head.fault) == (path, query, "")


def test_how_a_body_is_framed_is_told() -> None:
    assert head_of(b"Content-Length: 0042").length == 42
    assert head_of(b"Transfer-Encoding: Chunked").is_chunked
    assert head_of().length is None
    assert head_of(b"Expect: 100-Continue").expects_continue
    assert not head_of(b"Expect: something else").expects_continue
    old = head_of(b"Expect: 100-continue", first=b"POST / HTTP/1.0")
    assert not old.expects_continue


PIECES = (
    "GET", " ", "/", "/ok?x", "http://h", "*", "%zz%00", "HTTP/1.1", "\r\n", "\n", "\r",
    "Host", ":", ": x", "Content-Length", "Transfer-Encoding", "chunked", "5", "-", "_",
    "\t", "\x00", "\xff", "#", "\r\n\r\n",
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_no_bytes_at_all_bring_the_reader_down(pieces: list[str]) -> None:
    data = "".join(pieces).encode("latin-1")
    for received in (data, b"GET / HTTP/1.1\r\n" + data + b"\r\n\r\n"):
        if not received or not can_answer(bytearray(received), 0):
            continue
        try:
            head, _ = read_head(bytearray(received))
        except UnreadableHeadError:
            continue
        assert head.path.startswith(b"/")
        assert head.query.isascii()
        assert head.fault or head.length is None or not head.is_chunked


def test_a_head_is_found_however_it_is_cut() -> None:
    data = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    for cut in range(1, len(data)):
        assert not can_answer(bytearray(data[:cut]), 0)
        assert can_answer(bytearray(data), cut)
