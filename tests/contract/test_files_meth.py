"""F-METH: what each method does, and what it does not."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import pytest

from tests.support.commands import tree
from tests.support.lane import (
    METHODS,
    Lane,
    file_turn,
    new_outbound,
    serving_files,
)
from tests.support.raw_http import RawResponse
from tests.support.service import Service

req = pytest.mark.req

BODY = bytes(range(256)) * 40
OLD = 1_700_000_000
LOCK = (
    b'<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>'
    b"<D:locktype><D:write/></D:locktype></D:lockinfo>"
)
PROPPATCH = (
    b'<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop>'
    b'<x:colour xmlns:x="urn:x">blue</x:colour></D:prop></D:set></D:propertyupdate>'
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("meth")
    with serving_files(root) as running_service:
        yield running_service


@pytest.fixture(scope="module")
def lane(service: Service) -> Lane:
    return Lane.of(service)


@pytest.fixture
def folder(lane: Lane) -> str:
    """A folder with one file, which is as old as to have a strong tag."""
    path = lane.own_folder()
    (lane.at(path) / "a.bin").write_bytes(BODY)
    os.utime(lane.at(path) / "a.bin", (OLD, OLD))
    return path


@req("F-METH-01")
@pytest.mark.parametrize("body", [b"", b"x", BODY, BODY * 200])
def test_get_gives_the_bytes_that_were_put(lane: Lane, body: bytes) -> None:
    path = f"{lane.own_folder()}/a.bin"
    assert lane.put(path, body).status == 201
    answer = lane.get(path)
    assert answer.status == 200
    assert answer.values("Content-Length") == [str(len(body))]
    assert answer.body == body


@req("F-METH-02")
def test_delete_removes_a_file(lane: Lane, folder: str) -> None:
    assert lane.delete(f"{folder}/a.bin").status == 204
    assert lane.propfind(f"{folder}/a.bin", "0").status == 404
    assert list(lane.at(folder).iterdir()) == []


@req("F-METH-03")
@pytest.mark.parametrize("end", ["", "/"])
def test_delete_removes_a_folder_with_all_that_is_in_it(
    lane: Lane, folder: str, end: str
) -> None:
    deep = lane.at(folder).joinpath(*"abcdefgh")
    deep.mkdir(parents=True)
    (deep / "x").write_bytes(b"x")
    (lane.at(folder) / ".hidden").write_bytes(b"x")
    os.mkfifo(lane.at(folder) / "pipe")
    assert lane.delete(folder + end).status == 204
    assert not lane.at(folder).exists()
    assert lane.propfind(folder, "0").status == 404


@req("F-METH-04")
@pytest.mark.parametrize("root", ["/", "/.", "//", "/x/..", "/%2e/"])
def test_the_root_itself_is_left_alone(lane: Lane, folder: str, root: str) -> None:
    before = tree(lane.at(folder))
    target = [("Destination", f"{folder}/new")]
    assert lane.send("DELETE", root).status == 403
    assert lane.send("MOVE", root, headers=target).status == 403
    assert lane.send("COPY", root, headers=target).status == 403
    assert lane.send("PUT", root, b"x").status in (403, 405, 409)
    for method in ("MOVE", "COPY"):
        onto = [("Destination", root)]
        assert lane.send(method, f"{folder}/a.bin", headers=onto).status == 403
        assert lane.send(method, folder, headers=onto).status == 403
    assert tree(lane.at(folder)) == before


@req("F-METH-05")
@pytest.mark.parametrize("target", ["/", "/a.bin", "/none", "*"])
def test_options_tells_what_there_is(lane: Lane, folder: str, target: str) -> None:
    answer = lane.send("OPTIONS", target if target == "*" else folder + target)
    assert answer.status == 200
    assert "1" in answer.values("DAV")[0].replace(" ", "").split(",")
    assert "2" in answer.values("DAV")[0].replace(" ", "").split(",")
    allowed = {word.strip() for word in answer.values("Allow")[0].split(",")}
    assert allowed >= {*METHODS}


@req("F-METH-06")
@pytest.mark.parametrize("target", ["/a.bin", "/none", "/", "/..%2f"])
def test_head_is_get_without_the_body(lane: Lane, folder: str, target: str) -> None:
    def told(answer: RawResponse) -> tuple[int, list[tuple[str, str]]]:
        return answer.status, [pair for pair in answer.headers if pair[0] != "Date"]

    get, head = lane.send("GET", folder + target), lane.send("HEAD", folder + target)
    assert told(head) == told(get)
    assert head.body == b""
    assert get.body


@req("F-METH-07")
@pytest.mark.parametrize(
    "span",
    [f"bytes={len(BODY)}-", "bytes=999999-", "bytes=999999-9999999", "bytes=-0"],
)
def test_a_range_behind_the_end_is_416(lane: Lane, folder: str, span: str) -> None:
    answer = lane.get(f"{folder}/a.bin", headers=[("Range", span)])
    assert answer.status == 416
    assert answer.values("Content-Range") == [f"bytes */{len(BODY)}"]


@req("F-METH-07")
@pytest.mark.parametrize(
    "span",
    ["bytes=0-1,5-6", "bytes=0-1, 999999-", "bytes=0-0," * 50 + "1-1", "bytes=5-2",
     "items=0-1", "bytes 0-1", "abc", "bytes=", "bytes=-"],
)  # fmt: skip
def test_several_ranges_and_none_give_the_whole(
    lane: Lane, folder: str, span: str
) -> None:
    answer = lane.get(f"{folder}/a.bin", headers=[("Range", span)])
    assert (answer.status, answer.body) == (200, BODY)
    assert answer.values("Content-Range") == []


@req("F-METH-07")
@pytest.mark.parametrize(
    ("span", "part"),
    [
        ("bytes=0-0", BODY[:1]),
        ("bytes=10-19", BODY[10:20]),
        ("bytes=10000-", BODY[10000:]),
        ("bytes=-5", BODY[-5:]),
        ("bytes=10000-999999", BODY[10000:]),
        ("bytes=-999999", BODY),
        ("bytes=0-" + "9" * 60, BODY),
    ],
)
def test_one_range_gives_that_part(
    lane: Lane, folder: str, span: str, part: bytes
) -> None:
    answer = lane.get(f"{folder}/a.bin", headers=[("Range", span)])
    assert (answer.status, answer.body) == (206, part)


@req("F-METH-08")
@pytest.mark.parametrize("target", ["", "/", "/.", "/?x", "/below", "/below/"])
def test_get_of_a_folder_shows_nothing_of_it(
    lane: Lane, folder: str, target: str
) -> None:
    (lane.at(folder) / "below").mkdir()
    (lane.at(folder) / "below" / "a.bin").write_bytes(b"x")
    for path in (folder + target, "/"):
        answer = lane.send("GET", path, headers=[("Accept", "text/html")])
        assert answer.status in (403, 404, 405)
        assert b"a.bin" not in answer.body
        assert b"<" not in answer.body


@req("F-METH-09")
@pytest.mark.parametrize("method", ["COPY", "MOVE"])
@pytest.mark.parametrize(
    "destination",
    [
        "http://elsewhere.example{}/new",
        "https://elsewhere.example:80{}/new",
        "ftp://test{}/new",
        "http://{}/new",
        "//elsewhere.example/../../new",
        "/../new",
        "{}/%2e%2e/%2e%2e/new",
        "{}/a%2fnew",
        "new",
        "",
        "{}/none/new",
        "{}/a.bin",
        "{}/a.bin/new",
        "{}/ne%00w",
        "{}/%ff",
    ],
)
def test_a_destination_elsewhere_is_refused(
    lane: Lane, folder: str, method: str, destination: str
) -> None:
    before = tree(lane.folder)
    headers = [("Destination", destination.format(folder))]
    answer = lane.send(method, f"{folder}/a.bin", headers=headers)
    assert 400 <= answer.status < 500 or answer.status == 502
    assert lane.send(method, f"{folder}/a.bin").status == 400
    assert tree(lane.folder) == before


@req("F-METH-09")
@pytest.mark.parametrize(
    "destination",
    ["{}/new", "http://test{}/new", "https://test:8443{}/new", "{}/below/../new"],
)
def test_a_destination_inside_is_taken(
    lane: Lane, folder: str, destination: str
) -> None:
    to = [("Destination", destination.format(folder))]
    assert lane.send("COPY", f"{folder}/a.bin", headers=to).status == 201
    assert (lane.at(folder) / "new").read_bytes() == BODY
    assert lane.send("MOVE", f"{folder}/a.bin", headers=to).status == 204
    assert [path.name for path in lane.at(folder).iterdir()] == ["new"]
    again = [*to, ("Overwrite", "F")]
    lane.put(f"{folder}/a.bin", b"other")
    assert lane.send("MOVE", f"{folder}/a.bin", headers=again).status == 412
    assert (lane.at(folder) / "new").read_bytes() == BODY


@req("F-METH-10")
def test_the_folder_holds_what_clients_put_there_and_nothing_else(
    service: Service, lane: Lane
) -> None:
    before = {path.relative_to(lane.folder) for path in lane.folder.rglob("*")}
    folder = lane.own_folder()
    lane.mkcol(f"{folder}/conv")
    lane.put(f"{folder}/conv/a.txt", b"one")
    lane.put(f"{folder}/conv/a.txt", b"two")
    lane.send("PROPPATCH", f"{folder}/conv/a.txt", PROPPATCH)
    lane.send("PROPPATCH", f"{folder}/conv", PROPPATCH)
    lock = lane.send("LOCK", f"{folder}/conv/a.txt", LOCK)
    assert lock.status == 200
    token = lock.values("Lock-Token")[0]
    assert lane.put(f"{folder}/conv/a.txt", b"x").status == 423
    unlock = [("Lock-Token", token)]
    lane.send("UNLOCK", f"{folder}/conv/a.txt", headers=unlock)
    lane.copy(f"{folder}/conv", f"{folder}/copy")
    lane.move(f"{folder}/copy/a.txt", f"{folder}/copy/b.txt")
    lane.put(f"{folder}/conv/none/x", b"x")
    lane.put(f"{folder}/conv/a.txt", b"x", headers=[("If-Match", '"no"')])
    lane.rows(folder)
    with lane.begin_put(f"{folder}/cut", 1000, b"x"):
        pass
    lane.put(f"{folder}/gone", b"x")
    lane.delete(f"{folder}/gone")
    found = {path.relative_to(lane.folder) for path in lane.folder.rglob("*")}
    made = {str(path).partition("/")[2] for path in found - before}
    assert made == {"", "conv", "conv/a.txt", "copy", "copy/b.txt"}
    assert before <= found
    assert not re.search(r"Traceback|defect", service.log)


@req("F-METH-10")
@pytest.mark.parametrize("method", ["PUT", "MKCOL", "LOCK"])
def test_names_that_the_lane_uses_for_a_moment_are_nobodys(
    lane: Lane, folder: str, method: str
) -> None:
    name = ".conduck-" + "0" * 32
    body = {"PUT": b"x", "LOCK": LOCK}.get(method)
    assert lane.send(method, f"{folder}/{name}", body).status == 403
    assert not (lane.at(folder) / name).exists()
    (lane.at(folder) / name).write_bytes(b"left by a crash")
    assert lane.names(folder) == ["a.bin"]
    for what in ("GET", "HEAD", "DELETE"):
        assert lane.send(what, f"{folder}/{name}").status in (403, 404)
    assert lane.propfind(f"{folder}/{name}", "0").status == 404
    assert lane.move(f"{folder}/{name}", f"{folder}/new").status in (403, 404)
    assert lane.copy(f"{folder}/a.bin", f"{folder}/{name}").status == 403
    assert (lane.at(folder) / name).read_bytes() == b"left by a crash"


@req("F-METH-11")
@pytest.mark.parametrize("target", ["/none", "/none/", "/none/none", "/a.bin/x"])
def test_what_is_missing_is_404(lane: Lane, folder: str, target: str) -> None:
    to = [("Destination", f"{folder}/new")]
    for method in ("GET", "HEAD", "DELETE"):
        assert lane.send(method, folder + target).status == 404, method
    for method in ("MOVE", "COPY"):
        assert lane.send(method, folder + target, headers=to).status == 404, method
    assert [path.name for path in lane.at(folder).iterdir()] == ["a.bin"]


@req("F-METH-11")
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "COPY"])
def test_a_pipe_holds_nobody_up(lane: Lane, folder: str, method: str) -> None:
    os.mkfifo(lane.at(folder) / "pipe")
    to = [("Destination", f"{folder}/new")]
    body = b"x" if method == "PUT" else None
    answer = lane.send(method, f"{folder}/pipe", body, headers=to)
    assert answer.status in (204, 403, 404)
    assert not (lane.at(folder) / "new").exists()


@req("F-METH-12")
def test_files_come_back_without_any_mkcol(service: Service, lane: Lane) -> None:
    path = new_outbound()
    # Whatever it answers to MKCOL, the outbound half does not ask.
    assert lane.mkcol(path).status == 409
    calls = service.log.count("method=MKCOL")
    assert lane.propfind(path, "0").status == 404
    assert file_turn(service, path, ["write", f"{path}/a.txt", "x"]).ok
    assert lane.seen_by_app(path) == ["a.txt"]
    assert lane.get(f"{path}/a.txt").body == b"x"
    assert service.log.count("method=MKCOL") == calls
