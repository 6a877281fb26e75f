"""F-CWD: relative paths in a message are true for the engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.lane import Lane, new_conversation, new_outbound, serving_files, told
from tests.support.service import Service, Stub, binding, running, stub

req = pytest.mark.req


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Stub:
    return stub(tmp_path_factory.mktemp("engine"), ["follow"], ["print", "."])


@pytest.fixture(scope="module")
def service(
    engine: Stub, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("cwd")
    command = binding(engine)
    del command["config"]["cwd"]
    with serving_files(root, bindings={"agent": command}) as running_service:
        yield running_service


@req("F-CWD-01")
def test_the_engine_works_in_the_shared_folder(service: Service, engine: Stub) -> None:
    service.chat("hello")
    assert engine.records[-1]["cwd"] == str(service.folder.resolve())


@req("F-CWD-02")
@pytest.mark.parametrize("name", ["a1b2c3d4__report.pdf", "b1__the blue whale.MD"])
def test_a_path_in_a_message_opens_as_it_is(service: Service, name: str) -> None:
    lane, conversation = Lane.of(service), new_conversation()
    lane.mkcol(f"/{conversation}")
    for path in (f"{conversation}/{name}", name):
        assert lane.put(path, f"inside {path}".encode()).status == 201
        assert service.chat(told(["cat", path])) == f"inside {path}."


@req("F-CWD-03")
@pytest.mark.parametrize(
    "said",
    [
        '- "report.pdf" (saved as a/../b__report.pdf)',
        "open ./a.txt, ../b.txt, ~/c.txt, /etc/hosts and C:\\d.txt",
        "$HOME/x %USERPROFILE%\\y file:///etc/hosts\tand\u2028more",
        "E621E1F8-C36C-495A-93FC-0C247A3E6E5F/out-00112233445566778899aabbccddeeff",
    ],
)
def test_the_text_of_a_message_is_not_touched(
    service: Service, engine: Stub, said: str
) -> None:
    whole = told(text=said, path=new_outbound())
    service.chat(whole)
    assert engine.records[-1]["stdin"] == whole
    service.chat(f"{service.folder}/x and {said}")
    assert engine.records[-1]["stdin"] == f"{service.folder}/x and {said}"


@req("F-CWD-04")
def test_without_a_lane_the_engine_works_in_its_own_folder(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    engine = stub(tmp_path, ["obey"])
    with running(tmp_path, engine, cwd="../own") as service:
        service.chat("hello")
        assert engine.only["cwd"] == str(own.resolve())
        assert engine.only["cwd"] not in ("/", str(service.state.resolve()))
