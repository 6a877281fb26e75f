"""A lane of a scope that is switched off, and the config of an included folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.documents import document
from tests.support.lane import Lane, serving_files
from tests.support.service import binding, free_port, prepared, started, stub

METHODS = (
    "COPY", "DELETE", "GET", "HEAD", "LOCK", "MKCOL", "MOVE", "OPTIONS", "PROPFIND",
    "PROPPATCH", "PUT", "UNLOCK",
)  # fmt: skip


@pytest.mark.req("B-SCOPE-04", "F-CORE-01")
def test_a_lane_of_a_scope_that_is_off_refuses_everything(tmp_path: Path) -> None:
    engine = binding(stub(tmp_path, ["obey"]))
    del engine["config"]["cwd"]
    config = document({"agent": engine}, free_port(), files={"port": free_port()})
    config["scopes"].insert(
        0, {"id": "top", "name": "Top", "enabled": False, "extensions": []}
    )
    config["scopes"][1]["parent"] = "top"
    with started(prepared(tmp_path, config)) as service:
        (service.folder / "kept").write_text("kept")
        lane = Lane.of(service)
        stranger = Lane(lane.port, lane.folder, user=None)
        assert stranger.send("GET", "/kept").status == 401
        for method in METHODS:
            answer = lane.send(method, "/kept", b"new" if method == "PUT" else None)
            assert answer.status == 503, method
        assert [path.name for path in service.folder.iterdir()] == ["kept"]
        assert (service.folder / "kept").read_text() == "kept"


@pytest.fixture(scope="module")
def lane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lane]:
    with serving_files(tmp_path_factory.mktemp("off")) as service:
        yield Lane.of(service)


@pytest.mark.parametrize("name", [".open-conduit", ".Open-Conduit", ".open%2Dconduit"])
def test_the_config_of_an_included_folder_is_out_of_reach(
    lane: Lane, name: str
) -> None:
    folder = lane.own_folder()
    private = lane.at(folder) / ".open-conduit"
    private.mkdir()
    (private / "config.json").write_text("canary")
    assert lane.send("GET", f"{folder}/{name}/config.json").status == 404
    assert (
        lane.send("PROPFIND", f"{folder}/{name}", headers=[("Depth", "1")]).status
        == 404
    )
    listing = lane.send("PROPFIND", folder, headers=[("Depth", "1")])
    assert b"open-conduit" not in listing.body
    assert lane.send("PUT", f"{folder}/{name}/config.json", b"mine").status == 403
    assert lane.send("PUT", f"{folder}/{name}", b"mine").status == 403
    assert lane.send("MKCOL", f"{lane.own_folder()}/{name}").status == 403
    (lane.at(folder) / "mine").mkdir()
    for method in ("MOVE", "COPY"):
        target = [("Destination", f"{lane.own_folder()}/{name}")]
        assert lane.send(method, f"{folder}/mine", headers=target).status == 403
    assert (private / "config.json").read_text() == "canary"
    copied = f"{lane.own_folder()}/copy"
    answer = lane.send("COPY", folder, headers=[("Destination", copied)])
    assert answer.status == 201
    assert [path.name for path in lane.at(copied).iterdir()] == ["mine"]
