"""Every link of a page leads to a file, and to a heading of it, that is there."""

from __future__ import annotations

import pytest

from tests.support.pages import all_pages, anchors_of, links_of
from tests.support.trace import ROOT


@pytest.mark.parametrize("page", all_pages())
def test_every_link_leads_somewhere(page: str) -> None:
    source = ROOT / page
    for path, anchor in links_of(page):
        target = (source.parent / path).resolve() if path else source
        assert target.exists(), f"{page}: {path}"
        if anchor:
            assert anchor in anchors_of(target), f"{page}: {path}#{anchor}"
