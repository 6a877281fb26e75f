"""The ``If`` header: what a request counts on, and which locks it shows."""

from __future__ import annotations

import pytest

from tests.files.test_locks import lock, token_of
from tests.support.lane_faults import Box


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("(<{token}>)", 204),
        ("  ( <{token}>\t)  ", 204),
        ("(<{token}> {tag})", 204),
        ('(<{token}> ["other"])', 412),
        ('(<{token}> ["other"]) (<{token}>)', 204),
        ("(<DAV:no-lock>) (<{token}>)", 204),
        ("(Not <DAV:no-lock> <{token}>)", 204),
        ("(not <{token}>)", 412),
        ("<http://elsewhere:99{path}> (<{token}>)", 204),
        ("<{path}> (<{token}>)", 204),
        ("<{path}> (<DAV:no-lock>) (<{token}>)", 204),
        ("<{other}> (<{token}>)", 412),
        ("<{other}> (Not <{token}>)", 204),
        ("<{other}> ({tag}) <{path}> (<{token}>)", 204),
        ("({tag})", 423),
        ("(Not <DAV:no-lock>)", 423),
        ("", 400),
        ("()", 400),
        ("(<{token}>", 400),
        ("<{token}>", 400),
        ("(<{token}>) x", 400),
        ("(Not Not <{token}>)", 400),
        ("(Not)", 400),
        ("(<{token}>) <{path}> (<{token}>)", 400),
        ("<relative> (<{token}>)", 400),
    ],
)
def test_the_if_header_decides(box: Box, value: str, status: int) -> None:
    box.write("a b;c")
    name = "a%20b;c"
    token = token_of(lock(box, name))
    header = value.format(
        token=token,
        tag=f"[{box.etag('a b;c')}]",
        path=box.at(name),
        other=box.at("nothing"),
    )
    answer = box.lane.send("PUT", box.at(name), b"x", headers=[("If", header)])
    assert answer.status == status
    assert (status == 204) is ((box.disk / "a b;c").read_bytes() == b"x")
