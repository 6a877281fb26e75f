"""The blocks in a reply with which a model without tools asks for files."""

from __future__ import annotations

import pytest

from conduck_service.executors.preset.blocks import Block, split_reply


def block(path: str, content: str = "", name: str = "write_file") -> Block:
    return Block(name=name, path=path, content=content)


def test_a_block_is_taken_out_of_the_words() -> None:
    words, blocks = split_reply(
        "Here.\n```write_file out/a.txt\none\n\ntwo\n```\nDone."
    )
    assert words == "Here.\nDone."
    assert blocks == [block("out/a.txt", "one\n\ntwo\n")]


@pytest.mark.parametrize(
    ("reply", "blocks"),
    [
        ("```write_file a b.txt \r\nx\r\n``` \r", [block("a b.txt", "x\r\n")]),
        ("```read_file in/x.md\n```", [block("in/x.md", name="read_file")]),
        ("``` write_file a\n```", [block("a")]),
        (
            "````write_file a.md\n```sh\nls\n```\n````",
            [block("a.md", "```sh\nls\n```\n")],
        ),
        (
            "```write_file a\n1\n````\n```write_file b\n2\n```",
            [block("a", "1\n"), block("b", "2\n")],
        ),
    ],
)
def test_what_is_a_block(reply: str, blocks: list[Block]) -> None:
    assert split_reply(reply) == ("", blocks)


@pytest.mark.parametrize(
    "reply",
    [
        "plain words",
        "```sh\nwrite_file a\n```",
        "```write_file\nx\n```",
        "``write_file a\nx\n``",
        "Say ```write_file a``` for that.",
        "```write_file a\nhalf of it",
        "````write_file a\nhalf of it\n```",
        "  ```write_file a\nx\n  ```",
    ],
)
def test_what_is_none(reply: str) -> None:
    assert split_reply(reply) == (reply, [])


def test_a_long_reply_of_beginnings_takes_no_time() -> None:
    beginning = "```write_file a"
    words, blocks = split_reply("\n".join([beginning] * 200_000))
    assert blocks == []
    assert words.count(beginning) == 200_000
