"""F-OUT: what an engine makes for a reply is there when the reply is."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.commands import found_in, tree
from tests.support.lane import (
    DIRECTIVE,
    Lane,
    file_turn,
    new_conversation,
    new_outbound,
    serving_files,
    told,
)
from tests.support.misbehaving import is_alive
from tests.support.service import (
    Service,
    Stub,
    assistant,
    binding,
    image,
    stub,
    text,
    user,
    wait_until,
)

req = pytest.mark.req


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Stub:
    return stub(tmp_path_factory.mktemp("engine"), ["follow"], ["print", "done"])


@pytest.fixture(scope="module")
def service(
    engine: Stub, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("out")
    bindings = {"agent": binding(engine, images={"mode": "file"}, serialize=False)}
    options = ("--log-level", "debug")
    with serving_files(root, bindings=bindings, options=options) as running_service:
        yield running_service


@pytest.fixture(scope="module")
def lane(service: Service) -> Lane:
    return Lane.of(service)


@req("F-OUT-01")
def test_the_line_reaches_the_engine_unchanged(service: Service, engine: Stub) -> None:
    path = new_outbound()
    service.turn(
        user("Make a report."), assistant("Which?"), user(told(text="All.", path=path))
    )
    seen = engine.records[-1]["stdin"]
    assert seen.count(DIRECTIVE) == 1
    assert f"All.\n\n{DIRECTIVE}{path}" in seen
    service.chat(told(text="All.", path=path))
    assert engine.records[-1]["stdin"] == f"All.\n\n{DIRECTIVE}{path}"


@req("F-OUT-25")
@pytest.mark.parametrize("shape", ["string", "parts", "images"])
def test_the_line_reaches_the_engine_in_every_shape(
    service: Service, engine: Stub, shape: str
) -> None:
    said = told(text="Look.", path=new_outbound())
    shapes: dict[str, object] = {
        "string": said,
        "parts": [text("First."), text(said)],
        "images": [text(said), image(), image()],
    }
    assert service.chat(shapes[shape]) == "done"
    assert said.rpartition("\n")[2] in engine.records[-1]["stdin"].split("\n")


@req("F-OUT-02")
@pytest.mark.parametrize("status", [200, 502])
def test_nobody_but_the_engine_makes_the_folder(
    service: Service, lane: Lane, status: int
) -> None:
    path = new_outbound()
    before = sorted(item.name for item in service.folder.iterdir())
    assert lane.propfind(path, "0").status == 404
    steps = [["exit", 1]] if status == 502 else []
    assert file_turn(service, path, *steps).status_code == status
    for depth in ("0", "1"):
        assert lane.propfind(path, depth).status == 404
    assert sorted(item.name for item in service.folder.iterdir()) == before


@req("F-OUT-03", "F-OUT-04", "F-OUT-07", "F-OUT-09", "F-OUT-11")
def test_what_the_engine_makes_is_listed_and_fetched(
    service: Service, lane: Lane
) -> None:
    path = new_outbound()
    bodies = {"report.csv": "a,b\n", "the blue whale.MD": "# 🐳", "empty.txt": ""}
    steps = [["write", f"{path}/{name}", body] for name, body in bodies.items()]
    answer = file_turn(service, path, ["make", path], *steps)
    rows = lane.rows(path)
    assert answer.json()["choices"][0]["message"]["content"] == "done"  # F-OUT-11
    assert lane.at(path).is_dir()  # F-OUT-03
    sizes = {row.name: int(row.properties["getcontentlength"]) for row in rows[1:]}
    assert sizes == {name: len(body.encode()) for name, body in bodies.items()}
    assert sorted(lane.seen_by_app(path)) == sorted(bodies)  # F-OUT-04
    for row in rows[1:]:
        fetched = lane.send("GET", row.href)
        assert fetched.status == 200  # F-OUT-07
        assert fetched.body == bodies[row.name].encode()  # F-OUT-07
    for address in (path, f"{path}/"):
        assert lane.propfind(address, "0").status == 207  # F-OUT-09
        assert lane.propfind(address, "1").status == 207  # F-OUT-09


@req("F-OUT-08")
def test_a_part_of_a_file_is_fetched(service: Service, lane: Lane) -> None:
    path = new_outbound()
    file_turn(service, path, ["write", f"{path}/a.txt", "0123456789abcdef"])
    part = lane.get(f"{path}/a.txt", headers=[("Range", "bytes=0-9")])
    assert (part.status, part.body) == (206, b"0123456789")
    assert part.values("Content-Range") == ["bytes 0-9/16"]
    assert part.values("Content-Length") == ["10"]


@req("F-OUT-05")
def test_the_reply_waits_until_the_engine_has_written(
    service: Service, lane: Lane
) -> None:
    path = new_outbound()
    go = service.root / f"go-{path[-8:]}"
    steps: list[list[object]] = [
        ["write", f"{path}/first.txt", "first"],
        ["wait_for", str(go)],
        ["write", f"{path}/last.txt", "last"],
    ]
    with ThreadPoolExecutor(1) as threads:
        turn = threads.submit(file_turn, service, path, *steps)
        wait_until(lambda: lane.at(f"{path}/first.txt").exists())
        assert not turn.done()
        assert lane.names(path) == ["first.txt"]
        go.touch()
        assert turn.result(30).ok
    assert {name: lane.get(f"{path}/{name}").body for name in lane.names(path)} == {
        "first.txt": b"first",
        "last.txt": b"last",
    }


@req("F-OUT-06")
def test_nothing_writes_after_the_reply(service: Service, lane: Lane) -> None:
    path = new_outbound()
    steps = [["make", path], ["writer", f"{path}/log.txt"]]
    assert file_turn(service, path, *steps).ok
    size = lane.at(f"{path}/log.txt").stat().st_size
    pid = int(lane.at(f"{path}/log.txt.pid").read_text("ascii"))
    assert not is_alive(pid)
    (listed,) = (row for row in lane.rows(path) if row.name == "log.txt")
    assert int(listed.properties["getcontentlength"]) == size
    assert len(lane.get(f"{path}/log.txt").body) == size


@req("F-OUT-10")
def test_nothing_is_kept_about_the_path(service: Service, lane: Lane) -> None:
    path = new_outbound()
    assert file_turn(service, path, ["write", f"{path}/a.txt", "x"]).ok
    lane.rows(path)
    needles = [step.encode() for step in (path, *path.split("/"))]
    assert list(found_in(service.state, needles)) == []
    assert not any(needle.decode() in service.log for needle in needles)


@req("F-OUT-12")
@pytest.mark.parametrize("status", [200, 502])
def test_what_the_engine_made_is_left_as_it_is(
    service: Service, lane: Lane, status: int
) -> None:
    path = new_outbound()
    go = service.root / f"go-{path[-8:]}"
    steps: list[list[object]] = [
        ["write", f"{path}/a.txt", "a"],
        ["write", f"{path}/below/b.txt", "b"],
        ["write", f"{path}/.hidden", ""],
        ["make", f"{path}/empty"],
        ["write", f"{path}/last.txt", "last"],
        ["wait_for", str(go)],
        *([["exit", 1]] if status == 502 else []),
    ]
    with ThreadPoolExecutor(1) as threads:
        turn = threads.submit(file_turn, service, path, *steps)
        wait_until(lambda: lane.at(f"{path}/last.txt").exists())
        wait_until(lambda: lane.at(f"{path}/last.txt").read_text() == "last")
        before, at = tree(lane.at(path)), lane.at(path).stat().st_mtime_ns
        go.touch()
        assert turn.result(30).status_code == status
    assert tree(lane.at(path)) == before
    assert lane.at(path).stat().st_mtime_ns == at
    lane.rows(path)
    assert tree(lane.at(path)) == before


@req("F-OUT-17", "F-OUT-18")
def test_turns_with_the_line_get_more_arguments_and_no_others(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["obey"])
    with serving_files(tmp_path, engine, transfer_argv=["--write", "all"]) as service:
        with_line = user(told(text="x", path=new_outbound()))
        service.turn(user("plain"))
        service.turn(with_line)
        service.turn(user("plain again"))
        service.turn(with_line, assistant("ok"), user("and now?"))
        service.turn(user([text("x"), text(told(path=new_outbound()))]))
    found = [record["argv"][-2:] == ["--write", "all"] for record in engine.records]
    assert found == [False, True, False, False, True]  # F-OUT-17, F-OUT-18
    assert list(service.folder.iterdir()) == []


@req("F-OUT-20")
@pytest.mark.parametrize(
    "directive",
    ["MEDIA: /etc/hostname", "MEDIA: http://127.0.0.1:9/x", "[attachment: a.txt]"],
)
def test_attachment_directives_are_text(tmp_path: Path, directive: str) -> None:
    path = new_outbound()
    said = f"Here it is.\n{directive}"
    engine = stub(tmp_path, ["write", "a.txt", "x"], ["print", said])
    with serving_files(tmp_path, engine) as service:
        assert service.chat(told(path=path)) == said
        assert [item.name for item in service.folder.rglob("*")] == ["a.txt"]
        assert Lane.of(service).propfind(path).status == 404


@req("F-OUT-22")
def test_an_earlier_attempt_stays_where_it_is(service: Service, lane: Lane) -> None:
    conversation = new_conversation()
    paths = [new_outbound(conversation) for _ in range(2)]
    first = file_turn(service, paths[0], ["write", f"{paths[0]}/a.txt", "a"])
    steps = [["write", f"{paths[1]}/b.txt", "b"], ["print", "again "]]
    second = file_turn(service, paths[1], *steps)
    assert first.ok
    assert second.ok
    assert [lane.names(path) for path in paths] == [["a.txt"], ["b.txt"]]
    assert lane.get(f"{paths[0]}/a.txt").body == b"a"
