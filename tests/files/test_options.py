"""OPTIONS, and the methods that mean nothing here."""

from __future__ import annotations

import pytest

from tests.support.lane import METHODS
from tests.support.lane_faults import Box


@pytest.mark.req("F-METH-05")
@pytest.mark.parametrize("path", ["/", "", "/nothing", "/file"])
def test_the_class_and_the_methods_are_told(box: Box, path: str) -> None:
    box.write("file")
    answer = box.lane.send("OPTIONS", "/" if path == "/" else box.path + path)
    assert answer.status == 200
    assert answer.body == b""
    (classes,) = answer.values("DAV")
    assert {word.strip() for word in classes.split(",")} == {"1", "2"}
    (allowed,) = answer.values("Allow")
    assert sorted(word.strip() for word in allowed.split(",")) == sorted(METHODS)


def test_a_method_of_no_meaning_is_405(box: Box) -> None:
    for method in ("POST", "PATCH", "REPORT", "ACL"):
        answer = box.lane.send(method, box.path)
        assert answer.status == 405
        assert answer.values("Allow")
