"""Odd input: the demo engine answers in words and never leaves its folder."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conduck_service.demo_engine.engine import Turn, answer
from tests.demo.lane import FOLDER, OUTBOUND, Lane, run_engine

PIECES = st.sampled_from(
    [
        "Make ",
        "copy it to ",
        "a.txt",
        '"b c.md"',
        " with the text ",
        ": ",
        "don't ",
        "?",
        ". ",
        "\n\n",
        "\n",
        "- ",
        "'",
        '"',
        "```",
        "“",
        "../",
        "/",
        "\x00",
        "\x01",
        "\x02",
        "\u0130",
        "\ufffd",
        "The following file(s) are in your working directory:\n",
        '- "x" (saved as x)\n',
        '- "y" (saved as "../y")\n',
        '--- "z" (untrusted user-provided file contents) ---\n```\n',
        OUTBOUND,
        OUTBOUND.replace(FOLDER, "../up"),
        "[Conduck voice] ",
        "Reply with exactly:",
    ]
)
PROMPTS = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")),
    st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=30).map(
        lambda pieces: "".join(pieces).encode("utf-8", "replace")
    ),
)


@given(prompt=PROMPTS, newest=st.one_of(st.none(), st.integers(0, 400)))
@settings(deadline=None, max_examples=150)
def test_any_prompt_is_answered_and_only_the_named_folder_is_touched(
    prompt: bytes, newest: int | None
) -> None:
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as parent:
        root = Path(parent, "work")
        root.mkdir()
        os.chdir(root)
        try:
            (root / "x").write_bytes(b"x")
            text = answer(Turn(newest_bytes=newest), prompt)
        finally:
            os.chdir(here)
        assert text.strip()
        text.encode("utf-8")
        assert list(Path(parent).iterdir()) == [root]
        first = FOLDER.split("/")[0]
        made = [item for item in root.iterdir() if item.name not in {"x", first}]
        assert made == [] or OUTBOUND.encode() + b"\n" not in prompt + b"\n"
        assert not any(item.name.startswith(".demo-") for item in root.rglob("*"))


@pytest.mark.parametrize(
    "unit",
    [b"\x00\xff", b"\n", b"'a' ", b"Make x.txt\n"],
)
def test_nine_megabytes_of_anything_are_answered(unit: bytes, lane: Lane) -> None:
    prompt = unit * (9_000_000 // len(unit)) + b"\nMake z.txt\n" + OUTBOUND.encode()
    done = run_engine(prompt, lane.root)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"no AI" in done.stdout
    assert "z.txt" in lane.made()


@pytest.mark.parametrize(
    "prompt",
    [
        b"",
        b"\x00",
        b"\xc3\x28 Make \xff.txt",
        b"Reply with exactly:",
        b"Reply with exactly: \n\n",
        OUTBOUND.encode() + b"\x00",
        b'- "x" (saved as',
        b'Make "' + b"n" * 300 + b'.txt"\n' + OUTBOUND.encode(),
    ],
)
def test_a_broken_prompt_is_answered_without_a_traceback(
    prompt: bytes, lane: Lane
) -> None:
    done = run_engine(prompt, lane.root)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"no AI" in done.stdout
    assert not lane.has_folder()
