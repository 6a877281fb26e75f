"""The page of the engines is made from the presets, and is fresh."""

from __future__ import annotations

from tests.support.engines_page import PAGE, page


def test_the_page_of_engines_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
