"""How the demo engine understands requests, in wordings of every kind."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conduck_service.demo_engine.message import Listed, Message, read_message
from conduck_service.demo_engine.requests import (
    Request,
    file_name,
    read_request,
)
from tests.demo.lane import CONVERSATION, OUTBOUND, listing
from tests.demo.requests_copies import COPIES
from tests.demo.requests_refused import NOTHING
from tests.demo.requests_texts import TEXTS

PATH = f"{CONVERSATION}/a1b2c3d4__"
ONE = [("report.pdf", f"{PATH}report.pdf")]
SEVERAL = [
    ("alpha.csv", f"{PATH}alpha.csv"),
    ("beta photo.png", f"{PATH}beta_photo.png"),
    ("notes.md", f"{PATH}notes.md"),
]
QUOTES = ['""', "''", "``", "“”", "„“", "«»", "»«", "‘’"]  # noqa: RUF001 - data
ASKS = [
    "Please fill {} with something",
    "Kindly deliver {}, thank you",
    "Lege bitte {} an",
    "Il me faut {}",
]
# A name in quotes may hold everything but its own quotation marks and separators.
LETTERS = st.characters(
    exclude_categories=("Cc", "Cs", "Zl", "Zp", "Co", "Cn", "Cf"),
    exclude_characters='"/\\',
)
NAMES = st.builds(
    "{}.{}".format,
    st.text(LETTERS, min_size=1, max_size=40).filter(
        lambda stem: stem == " ".join(stem.split()) and stem and ". " not in stem + "."
    ),
    st.sampled_from(["txt", "md", "PDF", "tar", "mp3", "json"]),
)


def ask(words: str, sent: list[tuple[str, str]] | None = None) -> Request:
    """Return what is made of a whole message with these words."""
    blocks = [words, listing(*sent), OUTBOUND] if sent else [words, OUTBOUND]
    message = read_message("\n\n".join(blocks))
    assert message.words == words
    return read_request(message)


def wanted(words: str, count: int = 0) -> dict[str, int | str | None]:
    """Return name and content of each file to make; a copy is an index."""
    request = ask(words, ONE[:count] if count < 2 else SEVERAL[:count])
    return {
        wish.name: wish.text if wish.listed is None else wish.listed
        for wish in request.wishes
    }


@pytest.mark.parametrize(("words", "count"), NOTHING)
def test_no_file_is_made_of_a_question_a_refusal_or_talk(
    words: str, count: int
) -> None:
    assert ask(words, ONE[:count] if count < 2 else SEVERAL[:count]) == Request()


@pytest.mark.parametrize(("words", "count", "files"), COPIES)
def test_copies_of_sent_files_are_understood(
    words: str, count: int, files: dict[str, int | str | None]
) -> None:
    assert wanted(words, count) == files


@pytest.mark.parametrize(("words", "files"), TEXTS)
def test_new_files_and_their_texts_are_understood(
    words: str, files: dict[str, str | None]
) -> None:
    assert wanted(words) == files


@given(marks=st.sampled_from(QUOTES), ask_for=st.sampled_from(ASKS), name=NAMES)
@settings(max_examples=150, deadline=None)
def test_any_quoted_name_is_found_whole(marks: str, ask_for: str, name: str) -> None:
    assume(not set(marks) & set(name))
    words = ask_for.format(f"{marks[0]}{name}{marks[1]}")
    assert [wish.name for wish in ask(words).wishes] == [name]


@given(name=NAMES)
def test_a_quoted_name_of_a_copy_is_found_whole(name: str) -> None:
    words = f'Put the same bytes in "{name}" and be done'
    assert wanted(words, 1) == {name: 0}


@given(st.text(min_size=0, max_size=300))
def test_a_safe_name_is_one_component_without_control_characters(text: str) -> None:
    name = file_name(text)
    if name is None:
        return
    assert name
    assert name not in {".", ".."}
    assert not re.search(r"[/\\\x00-\x1f\x7f]", name)


def test_a_name_is_made_once_however_often_it_is_said() -> None:
    request = ask("Make a.txt. When a.txt is done, say that a.txt is done.")
    assert [wish.name for wish in request.wishes] == ["a.txt"]


def test_names_that_differ_in_composition_only_are_one_name() -> None:
    request = ask('Make "caf\u00e9.txt" and "cafe\u0301.txt"')
    assert len(request.wishes) == 1


def test_a_name_of_an_inlined_file_is_no_new_name() -> None:
    inlined = '--- "n.txt" (untrusted user-provided file contents) ---\n```\nx\n```'
    message = read_message(f"Shorten n.txt\n\n{inlined}\n\n{OUTBOUND}")
    assert read_request(message) == Request()


def test_a_request_at_the_end_of_a_very_long_message_is_heard() -> None:
    words = "Once upon a time. " * 50_000 + "\nNow create end.txt."
    assert [wish.name for wish in ask(words).wishes] == ["end.txt"]


def test_a_message_is_taken_apart_into_words_lists_and_folder() -> None:
    message = read_message(f"Hello\n\n{listing(*SEVERAL[:2])}\n\n{OUTBOUND}\n")
    assert message == Message(
        "Hello",
        tuple(Listed(*item) for item in SEVERAL[:2]),
        (),
        OUTBOUND.rpartition(" ")[2],
    )
