"""The conversation snapshot: whole, in order, and the only thing an engine knows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.engines import Engines, Run, are_unrelated, engine, serving
from tests.support.service import assistant, user


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    root = tmp_path_factory.mktemp("snap")
    with serving(root, {"agent": engine(["print", "ok"])}) as them:
        yield them


def said(role: str, words: str) -> dict[str, Any]:
    return user(words) if role == "user" else assistant(words)


def assert_in_order(prompt: str, *pieces: str) -> None:
    """Assert that each piece stands in the prompt, behind the one before."""
    position = 0
    for piece in pieces:
        found = prompt.find(piece, position)
        assert found >= 0, (piece, prompt)
        position = found + len(piece)


def thread(*messages: dict[str, Any]) -> list[str]:
    """Return how earlier messages and the newest one stand in a transcript."""
    *earlier, newest = messages
    return [
        *(f"{item['role'].capitalize()}:\n{item['content']}\n" for item in earlier),
        newest["content"],
    ]


def ask(engines: Engines, *messages: dict[str, Any]) -> Run:
    run = engines.run("agent", *messages)
    assert run.status == 200
    return run


@pytest.mark.req("C-SNAP-01")
def test_roles_and_order_reach_the_engine(engines: Engines) -> None:
    messages = [user("mark-1"), assistant("mark-2"), user("mark-3")]
    prompt = ask(engines, *messages).prompt
    assert_in_order(prompt, *thread(*messages))
    assert prompt.endswith("\nmark-3")


@pytest.mark.req("C-SNAP-02")
def test_each_request_is_a_conversation_of_its_own(engines: Engines) -> None:
    ask(engines, user("mark-first-7c"), assistant("mark-reply-7c"), user("go on"))
    run = ask(engines, user("mark-second-7c"))
    assert run.prompt == "mark-second-7c"
    seen = repr([run.record["argv"], run.record["environment"], run.prompt])
    assert "mark-first-7c" not in seen
    assert "mark-reply-7c" not in seen
    assert os.listdir(engines.service.folder) == []  # noqa: PTH208 - names only


@pytest.mark.req("C-SNAP-03")
def test_two_user_messages_in_a_row_are_accepted(engines: Engines) -> None:
    messages = [user("one"), user("two")]
    assert_in_order(ask(engines, *messages).prompt, *thread(*messages))


@pytest.mark.req("C-SNAP-04")
@pytest.mark.parametrize(
    "roles",
    [
        ["assistant", "assistant", "user"],
        ["user", "assistant", "assistant", "assistant", "user"],
        ["user", "user", "user", "user"],
        ["assistant", "user", "user", "assistant", "user"],
    ],
)
def test_runs_of_one_role_are_accepted(engines: Engines, roles: list[str]) -> None:
    messages = [said(role, f"mark-{index}") for index, role in enumerate(roles)]
    assert_in_order(ask(engines, *messages).prompt, *thread(*messages))


@pytest.mark.req("C-SNAP-05")
def test_nothing_is_dropped_or_moved_to_make_roles_alternate(engines: Engines) -> None:
    messages = [user("aa"), user("bb"), assistant("cc"), user("dd")]
    prompt = ask(engines, *messages).prompt
    assert_in_order(prompt, *thread(*messages))
    assert [prompt.count(mark) for mark in ("aa", "bb", "cc", "dd")] == [1, 1, 1, 1]


@pytest.mark.req("C-SNAP-08")
def test_a_history_may_begin_with_an_assistant_message(engines: Engines) -> None:
    messages = [assistant("as I said"), user("go on")]
    assert_in_order(ask(engines, *messages).prompt, *thread(*messages))


@pytest.mark.req("C-SNAP-09")
@pytest.mark.parametrize("count", [1, 2, 39, 40, 41, 60, 500])
def test_any_number_of_messages_is_accepted(engines: Engines, count: int) -> None:
    messages = [
        said("user" if (count - index) % 2 else "assistant", f"mark-{index}.")
        for index in range(count)
    ]
    assert_in_order(ask(engines, *messages).prompt, *thread(*messages))


@pytest.mark.req("C-SNAP-10")
@pytest.mark.parametrize("empty", ["", []])
def test_an_empty_assistant_message_is_kept(engines: Engines, empty: Any) -> None:
    prompt = ask(engines, user("a"), assistant(empty), user("b")).prompt
    assert_in_order(prompt, "User:\na\n\n", "Assistant:\n\n", "b")


def growing(count: int) -> list[dict[str, Any]]:
    """Return the first ``count`` messages of one conversation."""
    talk = [user("fish"), assistant("ok"), user("fowl"), assistant("ok"), user("meat")]
    return talk[:count]


def settled(run: Run) -> tuple[Any, ...]:
    """Return what an engine was given beside its prompt."""
    record = run.record
    environment = dict(record["environment"])
    environment.pop("CONDUCK_EXECUTION")
    return record["argv"], environment, record["cwd"]


@pytest.mark.req("C-SNAP-11")
def test_no_turn_resumes_an_earlier_one(engines: Engines) -> None:
    runs = [ask(engines, *growing(count)) for count in (1, 3, 5)]
    # The same arguments and variables each time: no session is named anywhere.
    assert settled(runs[0]) == settled(runs[1]) == settled(runs[2])
    for run, count in zip(runs, (1, 3, 5), strict=True):
        assert_in_order(run.prompt, *thread(*growing(count)))
    assert engines.service.scratch == []


@pytest.mark.req("C-SNAP-12")
def test_a_known_suffix_selects_no_session(engines: Engines) -> None:
    first = ask(engines, *growing(5))
    messages = [user("before all that"), *growing(5)[1:]]
    second = ask(engines, *messages)
    assert_in_order(second.prompt, *thread(*messages))
    assert first.record["pid"] != second.record["pid"]
    assert settled(first) == settled(second)


@pytest.mark.req("C-SNAP-13")
@pytest.mark.parametrize("changed", [0, 1, 2, 3])
def test_a_changed_earlier_message_starts_afresh(
    engines: Engines, changed: int
) -> None:
    first = ask(engines, *growing(5))
    messages = growing(5)
    messages[changed] = {**messages[changed], "content": "quite another thing"}
    second = ask(engines, *messages)
    assert_in_order(second.prompt, *thread(*messages))
    assert first.record["pid"] != second.record["pid"]
    assert settled(first) == settled(second)


@pytest.mark.req("C-SNAP-14")
def test_equal_messages_are_all_kept(engines: Engines) -> None:
    messages = [user("again"), assistant("yes"), user("again"), user("again")]
    prompt = ask(engines, *messages).prompt
    assert_in_order(prompt, *thread(*messages))
    assert prompt.count("again") == 3


@pytest.mark.req("C-SNAP-19")
def test_turn_ids_have_nothing_to_do_with_the_connection(engines: Engines) -> None:
    service = engines.service
    with requests.Session() as session:
        session.headers.update(service.headers)
        ids = [
            session.post(
                f"{service.url}/v1/chat/completions",
                json={"messages": [user("hello")]},
                timeout=30,
            ).json()["id"]
            for _ in range(2)
        ]
    assert are_unrelated(*ids)


def test_an_identical_request_runs_again(engines: Engines) -> None:
    body = [user("a"), assistant("b"), user("c")]
    runs = [ask(engines, *body) for _ in range(2)]
    assert runs[0].record["pid"] != runs[1].record["pid"]
    assert runs[0].prompt == runs[1].prompt
    assert runs[0].body["id"] != runs[1].body["id"]


@pytest.mark.req("C-SNAP-21")
def test_file_references_are_ordinary_text(engines: Engines, tmp_path: Path) -> None:
    folder = engines.service.folder
    pipe, canary = folder / "photo.jpg", folder / "notes.txt"
    os.mkfifo(pipe)  # Whoever opened it to look inside would wait here for ever.
    canary.write_text("canary-1f9c", encoding="ascii")
    try:
        for path in (pipe, canary):
            reference = (
                f'Files:\n- "{path.name}" (saved as {path})\n@{path} {{{{{path}}}}} ![]'
                f"(file://{path})\t[Image: {path.name}]  "
            )
            messages = [user(reference), assistant("ok"), user(reference)]
            prompt = ask(engines, *messages).prompt
            assert_in_order(prompt, *thread(*messages))
            assert prompt.endswith("\n" + reference)
            assert "canary-1f9c" not in prompt
    finally:
        pipe.unlink()
        canary.unlink()
