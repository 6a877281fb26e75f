"""The file tool: a model without hands writes into the folder that a message names."""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from conduck_service.domain.standing import STANDING_INSTRUCTIONS
from tests.support.model_reply import Reply, ToolCall
from tests.support.service import PASSWORD, assistant, free_port, user
from tests.support.upstreams import Run, Upstreams, asking

LINE = "[Conduck file transfer] Files you produce for this reply go in: "
FAILURE = (502, "upstream_failure")
MODELS = ("tool", "pieces")


@pytest.fixture(scope="module")
def upstreams(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upstreams]:
    configs: dict[str, dict[str, Any]] = {
        "tool": {"file_tool": True},
        "pieces": {"file_tool": True, "stream": True, "alternation": "strict"},
        "short": {"file_tool": {"max_steps": 2}},
        "none": {},
    }
    files = {"port": free_port(), "mode": "2770"}
    root = tmp_path_factory.mktemp("http_files")
    with asking(root, configs, files=files) as them:
        yield them


def writes(path: str, content: str = "made", **more: Any) -> Reply:
    """Return a reply that calls for one file."""
    call = ToolCall("write_file", {"path": path, "content": content, **more})
    return Reply(None, calls=(call,))


def results(run: Run) -> list[str]:
    """Return what the model was told of its calls, in the last request."""
    messages = run.asked[-1].json["messages"]
    return [item["content"] for item in messages if item["role"] == "tool"]


def ask(upstreams: Upstreams, folder: str, *script: Reply, model: str = "tool") -> Run:
    words = f"Make a file.\n\n{LINE}{folder}"
    return upstreams.run(model, user(words), script=script)


@pytest.mark.req("F-OUT-14", "F-OUT-03", "F-OUT-04")
@pytest.mark.parametrize("model", MODELS)
def test_a_file_appears_where_the_message_wants_it(
    upstreams: Upstreams, model: str
) -> None:
    folder = f"talk-1/{model}-a1"
    run = ask(
        upstreams,
        folder,
        writes(f"{folder}/report.txt", "Größe\r\n"),
        Reply("I wrote it."),
        model=model,
    )
    assert run.answer == "I wrote it."
    address = f"http://127.0.0.1:{upstreams.service.files_port}/{folder}/report.txt"
    got = requests.get(address, auth=("conduck", PASSWORD), timeout=20)
    assert (got.status_code, got.content) == (200, "Größe\r\n".encode())
    assert os.listdir(upstreams.service.folder / folder) == ["report.txt"]  # noqa: PTH208
    assert run.body["usage"] == {
        "prompt_tokens": 22,
        "completion_tokens": 14,
        "total_tokens": 36,
    }


@pytest.mark.req("F-OUT-01", "F-OUT-13")
def test_the_model_is_told_of_tool_and_habits(upstreams: Upstreams) -> None:
    words = f"Make a file.\n\n{LINE}talk-2/b"
    thread = [user("hi"), assistant("hello"), user(words)]
    sent = upstreams.run("tool", *thread).sent
    system, *rest = sent["messages"]
    assert system["role"] == "system"
    assert system["content"].startswith(STANDING_INSTRUCTIONS)
    assert rest == thread
    names = [item["function"]["name"] for item in sent["tools"]]
    assert names == ["write_file", "read_file"]


@pytest.mark.req("F-OUT-02", "F-OUT-16")
def test_without_a_call_nothing_is_written(upstreams: Upstreams) -> None:
    assert ask(upstreams, "talk-3/c", Reply("no need")).answer == "no need"
    assert not (upstreams.service.folder / "talk-3").exists()


@pytest.mark.req("F-OUT-18")
def test_the_tool_is_there_for_messages_that_name_a_folder(
    upstreams: Upstreams,
) -> None:
    earlier = [user(f"Make one.\n{LINE}talk-4/d"), assistant("done")]
    sent = upstreams.run("tool", *earlier, user("thanks")).sent
    assert "tools" not in sent
    assert sent["messages"] == [*earlier, user("thanks")]
    assert "tools" not in ask(upstreams, "talk-4/e", Reply(), model="none").sent


@pytest.mark.req("F-OUT-15")
@pytest.mark.parametrize(
    "path",
    [
        "canary.txt",
        "talk-5/canary.txt",
        "talk-5/f/../canary.txt",
        "../canary.txt",
        "talk-5/f/../../../canary.txt",
        "{root}/talk-5/f/canary.txt",
        "/canary.txt",
        "talk-5/f/deeper/canary.txt",
        "talk-5/f/",
        "talk-5/f",
        "talk-5//f/canary.txt",
        "talk-5/f/.canary.txt",
        "talk-5/f/-canary.txt",
        "talk-5/f/ca\0nary.txt",
        "talk-5/f/ca\\nary.txt",
        "talk-5/f/" + "x" * 300,
        "talk-5/f/canary\ud800.txt",
        "talk-5/\ud800/canary.txt",
        "talk-5/f/ canary.txt",
        "talk-5/f/canary.txt ",
        "talk-5/f/canary\u202etxt",
        "talk-5/f/canary\u00a0.txt",
    ],
)
def test_nothing_is_written_anywhere_else(upstreams: Upstreams, path: str) -> None:
    root = upstreams.service.root
    path = path.replace("{root}", str(upstreams.service.folder))
    run = ask(upstreams, "talk-5/f", writes(path), Reply("sorry"))
    assert run.answer == "sorry"
    (told,) = results(run)
    assert told.startswith("not done: ")
    assert not list(root.rglob("*canary*"))
    assert all(item.is_dir() for item in upstreams.service.folder.glob("talk-5/**/*"))


@pytest.mark.req("F-OUT-15")
@pytest.mark.parametrize("named", ["/tmp", "..", "../x", "a/../b", "", ".hidden/x"])
def test_a_folder_that_cannot_be_meant_is_not_made(
    upstreams: Upstreams, named: str
) -> None:
    run = ask(upstreams, named, writes(f"{named}/canary.txt"), Reply("sorry"))
    assert results(run)[0].startswith("not done: ")
    assert not list(upstreams.service.root.rglob("*canary*"))


@pytest.mark.req("F-OUT-15")
def test_no_link_is_followed(upstreams: Upstreams) -> None:
    folder = upstreams.service.folder
    outside = upstreams.service.root / "outside"
    outside.mkdir()
    (folder / "link").symlink_to(outside)
    run = ask(upstreams, "link/g", writes("link/g/canary.txt"), Reply("sorry"))
    assert results(run)[0].startswith("not done: ")
    (folder / "talk-6/h").mkdir(parents=True)
    (folder / "talk-6/h/out.txt").symlink_to(outside / "canary.txt")
    ask(upstreams, "talk-6/h", writes("talk-6/h/out.txt"), Reply("done"))
    assert list(outside.iterdir()) == []
    assert (folder / "talk-6/h/out.txt").read_text("utf-8") == "made"


def test_files_have_the_mode_of_the_lane(upstreams: Upstreams) -> None:
    ask(upstreams, "talk-7/i", writes("talk-7/i/a.txt"), Reply("done"))
    made = upstreams.service.folder / "talk-7/i"
    assert stat.S_IMODE((made / "a.txt").stat().st_mode) == 0o660
    assert stat.S_IMODE(made.stat().st_mode) & 0o777 == 0o770
    assert upstreams.service.scratch == []
    assert not list(upstreams.service.folder.glob(".conduck-turn-*"))


def test_bytes_come_as_base64(upstreams: Upstreams) -> None:
    data = bytes(range(256))
    arguments = {
        "path": "talk-8/j/a.bin",
        "content_base64": base64.b64encode(data).decode("ascii"),
    }
    call = Reply(None, calls=(ToolCall("write_file", arguments),))
    ask(upstreams, "talk-8/j", call, Reply("done"))
    assert (upstreams.service.folder / "talk-8/j/a.bin").read_bytes() == data


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("write_file", '{"path": '),
        ToolCall("write_file", "[]"),
        ToolCall("write_file", {}),
        ToolCall("write_file", {"path": "talk-9/k/a.txt"}),
        ToolCall("write_file", {"path": "talk-9/k/a.txt", "content": 1}),
        ToolCall("write_file", {"path": "talk-9/k/a.txt", "content_base64": "?"}),
        ToolCall("run_shell", {"command": "touch talk-9"}),
        ToolCall("read_file", {"path": "../config/secrets.json"}),
        ToolCall("read_file", {"path": "/etc/hostname"}),
        ToolCall("read_file", {"path": "."}),
        ToolCall("read_file", {"path": "missing.txt"}),
    ],
    ids=range(11),
)
def test_the_model_is_told_what_is_not_done(
    upstreams: Upstreams, call: ToolCall
) -> None:
    run = ask(upstreams, "talk-9/k", Reply(None, calls=(call,)), Reply("sorry"))
    assert run.answer == "sorry"
    assert results(run)[0].startswith("not done: ")
    assert not (upstreams.service.folder / "talk-9").exists()


def test_files_that_were_sent_can_be_read(upstreams: Upstreams) -> None:
    folder = upstreams.service.folder / "talk-10"
    folder.mkdir()
    (folder / "k__notes.txt").write_text("the word is heron", "utf-8")
    (folder / "large.txt").write_text("x" * 300_000, "utf-8")
    (folder / "photo.bin").write_bytes(b"a\0b")
    (folder / "away.txt").symlink_to(upstreams.service.root / "config/secrets.json")
    os.mkfifo(folder / "pipe.txt")
    names = ("k__notes.txt", "large.txt", "photo.bin", "away.txt", "pipe.txt")
    calls = tuple(
        ToolCall("read_file", {"path": f"talk-10/{name}"}, id=f"call_{name}")
        for name in names
    )
    run = ask(upstreams, "talk-10/l", Reply(None, calls=calls), Reply("done"))
    notes, large, *others = results(run)
    assert notes == "the word is heron"
    assert large == "x" * 262_144 + "\n[cut off after 262144 bytes]"
    assert [item[:10] for item in others] == ["not done: "] * 3
    messages = run.asked[-1].json["messages"]
    assert messages[-6]["tool_calls"][0]["function"]["name"] == "read_file"
    assert [item["tool_call_id"] for item in messages[-5:]] == [
        call.id for call in calls
    ]


@pytest.mark.req("C-SEC-14")
def test_calls_have_an_end(upstreams: Upstreams) -> None:
    again = writes("talk-11/m/a.txt")
    run = ask(upstreams, "talk-11/m", again, model="short")
    assert run.error == FAILURE
    assert len(run.asked) == 3
    run = ask(upstreams, "talk-11/n", again, again, Reply("done"), model="short")
    assert run.answer == "done"


@pytest.mark.req("C-RESP-08")
def test_a_turn_that_ends_in_silence_is_asked_for_words(upstreams: Upstreams) -> None:
    call = writes("talk-12/o/a.txt")
    run = ask(upstreams, "talk-12/o", call, Reply(""), Reply("I wrote a.txt."))
    assert run.answer == "I wrote a.txt."
    assert run.asked[-1].json["tool_choice"] == "none"
    run = ask(upstreams, "talk-12/p", writes("talk-12/p/a.txt"), Reply(""))
    assert run.error == FAILURE
    assert len(run.asked) == 3
    assert (upstreams.service.folder / "talk-12/p/a.txt").exists()


@pytest.mark.req("C-RESP-11")
def test_words_beside_a_call_count_when_there_are_no_later_ones(
    upstreams: Upstreams,
) -> None:
    call = ToolCall("write_file", {"path": "talk-13/q/a.txt", "content": "x"})
    spoken = Reply("Here is a.txt.", calls=(call,))
    run = ask(upstreams, "talk-13/q", spoken, Reply(""), Reply(None))
    assert run.answer == "Here is a.txt."
    assert "finish_reason" not in run.choice


@pytest.mark.req("C-META-08")
def test_usage_of_a_part_of_the_turn_is_not_told(upstreams: Upstreams) -> None:
    call = ToolCall("write_file", {"path": "talk-14/r/a.txt", "content": "x"})
    silent = Reply(None, calls=(call,), usage=None)
    run = ask(upstreams, "talk-14/r", silent, Reply("done"))
    assert run.answer == "done"
    assert "usage" not in run.body
