from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from conduck_service.base.redaction import MARK, Redactor


def redactor(*values: str) -> Redactor:
    made = Redactor()
    for value in values:
        made.register(value)
    return made


def test_nothing_is_taken_out_before_a_value_is_known() -> None:
    assert Redactor().clean("a text") == "a text"


def test_every_occurrence_of_every_value_is_taken_out() -> None:
    cleaned = redactor("first-value", "other.value").clean(
        "first-value=other.value, first-value"
    )
    assert cleaned == f"{MARK}={MARK}, {MARK}"


def test_the_longest_value_at_a_place_is_taken_out() -> None:
    assert redactor("secret", "secret-longer").clean("secret-longer!") == f"{MARK}!"
    assert redactor("secret-longer", "secret").clean("secret-longer!") == f"{MARK}!"


def test_values_that_overlap_leave_no_rest() -> None:
    assert redactor("abcdef", "defghi").clean("<abcdefghi>") == f"<{MARK}>"
    assert redactor("abcdefgh", "cdef").clean("<abcdefgh>") == f"<{MARK}>"
    assert redactor("abab").clean("ababab.") == f"{MARK}."


def test_values_are_texts_and_no_patterns() -> None:
    assert redactor("a.c*[x]").clean("abc a.c*[x]") == f"abc {MARK}"


def test_values_may_hold_any_character() -> None:
    assert redactor("pä\nß€🦆").clean("<pä\nß€🦆>") == f"<{MARK}>"


def test_very_short_values_would_spoil_every_line_and_are_left() -> None:
    assert redactor("", "abc").clean("abcabc") == "abcabc"
    assert redactor("abcd").clean("abcd") == MARK


def test_values_are_registered_and_used_from_many_threads() -> None:
    made = Redactor()

    def use(number: int) -> bool:
        value = f"value-{number:04}-"
        made.register(value)
        return value not in made.clean(f"<{value}>")

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(200)))
    text = " ".join(f"value-{number:04}-" for number in range(200))
    assert "value" not in made.clean(text)
