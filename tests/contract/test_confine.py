"""Chat text reaches no file outside the working folder of a confined engine.

The engine here does whatever chat text says: its prompt is a script of the shell.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conduck_service.base.processes import Missing, find_mechanism
from tests.support.service import Service, free_port, running, stub

CANARY = "canary-7c2e9b"
FOUND = find_mechanism()

pytestmark = [
    pytest.mark.skipif(
        isinstance(FOUND, Missing), reason="this machine confines nothing"
    ),
    pytest.mark.skipif(sys.platform != "linux", reason="was run on Linux only"),
]


@dataclass(frozen=True, slots=True)
class World:
    """A service and what lies around its working folder."""

    service: Service
    root: Path

    def tell(self, script: str) -> str:
        """Return what the engine answers to a script, errors included."""
        return self.service.chat(f"exec 2>&1\ncd .\n{script}\necho over")


def furnish(root: Path) -> None:
    """Make what no chat text is to reach, with a canary in each file."""
    for name in ("home/.ssh/id", "home/.bashrc", "neighbour/plan", "folder/own/text"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CANARY if "folder" not in name else "mine", "ascii")
    (root / "folder/link").symlink_to(root / "home/.ssh/id")
    (root / "folder/way").symlink_to(root / "neighbour")


@contextmanager
def world(root: Path, **config: Any) -> Iterator[World]:
    """Run a service with an engine that is a shell, in the folder of a file lane."""
    furnish(root)
    bound = {
        "name": "engine",
        "executor": "command",
        "config": {"argv": ["sh"], "cwd": "../folder", "strip": [], **config},
    }
    environment = {"HOME": str(root / "home"), "CANARY": CANARY}
    with running(
        root,
        bindings={"agent": bound},
        files={"port": free_port()},
        secrets={"spare": CANARY},
        environment=environment,
    ) as service:
        (service.state / "note").write_text(CANARY, "ascii")
        yield World(service, root)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, World]]:
    with ExitStack() as stack:
        yield {
            confine: stack.enter_context(
                world(tmp_path_factory.mktemp(confine), confine=confine)
            )
            for confine in ("required", "off")
        }


READS = {
    "home": "cat {root}/home/.ssh/id",
    "neighbour": "cat ../neighbour/plan",
    "link": "cat link",
    "link to a folder": "cat way/plan",
    "hard link": "ln {root}/home/.ssh/id hard && cat hard; rm -f hard",
    "moved in": "mv {root}/neighbour in && cat in/plan; mv in {root}/neighbour",
    "copied in": "cp -r {root}/neighbour copy; cat copy/plan; rm -rf copy",
    "secrets": "cat {root}/config/secrets.json",
    "state": "cat {root}/state/note",
    "service": "cat /proc/{pid}/environ",
    "through proc": "cat /proc/self/root{root}/home/.ssh/id",
    "grandchild": "setsid --wait env -i /bin/sh -c 'cat {root}/home/.ssh/id'",
    "found": "grep -rs canary {root}/home {root}/neighbour {root}/state",
}


@pytest.mark.req("F-ROOT-14")
@pytest.mark.parametrize("way", READS)
def test_chat_text_reads_nothing_outside(worlds: dict[str, World], way: str) -> None:
    for confine, has_canary in (("required", False), ("off", True)):
        place = worlds[confine]
        values = {"root": place.root, "pid": place.service.process.pid}
        answer = place.tell(READS[way].format(**values))
        assert answer.rstrip().endswith("over")
        assert (CANARY in answer) is has_canary, (confine, way)


WRITES = {
    "home": "echo x > {place}/home/made",
    "append": "echo x >> {place}/home/.bashrc",
    "neighbour": "mkdir {place}/neighbour/made",
    "temporary": "echo x > {place}/made",
    "moved out": "echo x > m; mv m {place}/neighbour/m || cp m {place}/neighbour/m",
    "linked out": "echo x > l; ln l {place}/neighbour/l || ln -s l {place}/l",
    "through a link": "ln -sfn {place}/neighbour to; echo x > to/made",
    "removed": "rm -rf {place}/neighbour/plan",
    "emptied": "truncate -s 0 {place}/home/.ssh/id; cp /dev/null {place}/home/.bashrc",
    "state": "echo x > {root}/state/made",
    "config": "echo x > {root}/config/made",
}


@pytest.mark.req("F-ROOT-14")
@pytest.mark.parametrize("way", WRITES)
def test_chat_text_changes_nothing_outside(worlds: dict[str, World], way: str) -> None:
    changed = {}
    for confine, place in worlds.items():
        furnish(place.root / way.replace(" ", ""))
        before = outside(place.root)
        values = {"root": place.root, "place": place.root / way.replace(" ", "")}
        place.tell(WRITES[way].format(**values))
        changed[confine] = outside(place.root) != before
    assert changed == {"required": False, "off": True}


def outside(root: Path) -> dict[str, bytes]:
    """Return what lies around the working folder; the log goes on by itself."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else b""
        for path in root.rglob("*")
        if "folder" not in path.parts and path.name != "log"
    }


def test_its_folder_is_as_always(worlds: dict[str, World]) -> None:
    answer = worlds["required"].tell(
        "set -e; mkdir -p a/b; echo one > a/b/x; mv a/b/x a/y; mkfifo a/pipe\n"
        "printf '#!/bin/sh\\necho ran $1' > a/run; chmod 700 a/run; a/run well\n"
        "ln a/y a/z; ln -s y a/l; cat a/l; rm -r a/b a/z\n"
        "echo $TMPDIR > t; echo temp > $TMPDIR/file; cat $TMPDIR/file"
    )
    assert answer.split() == ["ran", "well", "one", "temp", "over"]
    service = worlds["required"].service
    temporary = Path((service.folder / "t").read_text("utf-8").strip())
    assert service.state in temporary.parents
    assert not temporary.exists()  # it went with the turn


def test_git_works_in_it_and_asks_nobody(worlds: dict[str, World]) -> None:
    place = worlds["required"]
    (place.root / "home/.gitconfig").write_text("[user]\nname = ann\n", "ascii")
    answer = place.tell(
        "command -v git > /dev/null || exit 0\n"
        "git init -q repo && cd repo && echo x > f && git add f && "
        "git -c user.name=e -c user.email=e@e commit -qm m && git log --oneline | wc -l"
    )
    assert answer.split() in ([], ["1", "over"])


def test_an_interpreter_and_its_script_are_read(tmp_path: Path) -> None:
    furnish(tmp_path)
    engine = stub(tmp_path, ["cat", "own/text"], ["write", "own/new", "made"])
    config: dict[str, Any] = {"confine": "required"}
    config["confine_write"] = [str(engine.folder)]
    with running(tmp_path, engine, **config) as service:
        assert service.chat("hi") == "mine"
        assert (service.folder / "own/new").read_text("ascii") == "made"
    assert "TMPDIR" in engine.only["environment"]


def test_what_config_names_is_open_too(tmp_path: Path) -> None:
    more = {
        "confine_read": ["../neighbour"],
        "confine_write": ["../home/.ssh", "../no"],
    }
    with world(tmp_path, confine="auto", **more) as place:
        answer = place.tell(
            "cat way/plan link; echo x > way/made; echo y > ../home/.ssh/made\n"
            "cat ../home/.bashrc"
        )
        assert answer.count(CANARY) == 2
        assert not (tmp_path / "neighbour/made").exists()
        assert (tmp_path / "home/.ssh/made").read_text("ascii") == "y\n"


@pytest.mark.req("F-ROOT-14")
def test_links_of_one_turn_open_nothing_in_the_next(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    script = tmp_path / "folder/script"
    (tmp_path / "way").symlink_to(tmp_path / "folder/far")
    more = {
        "confine_read": ["../folder/more", "../way"],
        "confine_write": ["../folder/most"],
    }
    argv = ["sh", "-c", ". /dev/stdin", str(script)]
    with world(tmp_path, confine="required", argv=argv, **more) as place:
        place.tell(
            f"for name in script more most far; do ln -s {tmp_path}/home $name; done"
        )
        answer = place.tell("cat script/.bashrc more/.bashrc far/.bashrc most/.ssh/id")
        assert CANARY not in answer
        place.tell(f"ln -sfn {tmp_path}/home/.bashrc script; ls -l script")
        assert CANARY not in place.tell("cat script")


def test_a_confined_tree_ends_with_its_turn(tmp_path: Path) -> None:
    with world(tmp_path, confine="required") as place:
        place.tell(
            "(setsid sh -c 'echo $$ > pid; sleep 60' &); until test -s pid\ndo :; done"
        )
        number = int((place.service.folder / "pid").read_text("ascii"))
        # Under bubblewrap the number is one of a name space, which is gone as well.
        assert "ABI" not in str(FOUND) or not Path(f"/proc/{number}").exists()
