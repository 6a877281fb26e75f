"""The folder that a message names for files."""

from __future__ import annotations

import pytest

from conduck_service.domain.conversation import (
    Conversation,
    Message,
    Role,
    TextPart,
)
from conduck_service.executors.file_actions import named_folder

LINE = "[Conduck file transfer] Files you produce for this reply go in: "


def said(content: str | tuple[TextPart, ...]) -> Conversation:
    earlier = Message(Role.USER, f"{LINE}earlier/x")
    return Conversation((earlier, Message(Role.USER, content)))


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (f"Make it.\n\n{LINE}a/b", "a/b"),
        (f"{LINE}a/b\r\n", "a/b"),
        (f"{LINE}a/b/", "a/b"),
        (f"{LINE}a: b/c d", "a: b/c d"),
        (f"{LINE}pasted/x\nMake it.\n{LINE}a/b", "a/b"),
        ("Make it.", None),
        (f"He wrote {LINE}a/b", None),
        (LINE, None),
        (f"{LINE}/a/b", None),
        (f"{LINE}a/../b", None),
        (f"{LINE}a//b", None),
        (f"{LINE}./a", None),
        (f"{LINE}.a/b", None),
        (f"{LINE}a/b\0", None),
    ],
)
def test_the_last_line_of_the_newest_message_counts(
    content: str, wanted: str | None
) -> None:
    assert named_folder(said(content)) == wanted


def test_a_line_may_stand_in_any_text_part() -> None:
    assert named_folder(said((TextPart("look"), TextPart(f"{LINE}a/b")))) == "a/b"
