"""The pages for people, as tests read them: their blocks, links and headings.

What is between fences says in its first line what it is. ``sh`` are commands, and the
words after it say who runs them:

* nothing: ``tests/docs/test_pages.py``, in the order of the page;
* ``root``: ``tests/roots``, in a machine with systemd, as root;
* ``slow``: ``tests/docs/test_slow.py``, with programs from a registry;
* ``ci``: ``.ci/run``, word for word;
* ``file=PATH``: nobody; it is a file that the reader writes. A ``~`` is the home.

Commands that no test can run (an account, a Mac) stand below a line that begins with
``*Not run``, which holds up to the next heading and can be seen in the page.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from tests.support.trace import ROOT

COMMANDS = "sh"
RUNNERS = ("root", "slow", "ci")

_FENCE = re.compile(r"^( *)```(.*)$")
_HEADING = re.compile(r"^#{1,6} +(.*?) *$")
_NOT_RUN = re.compile(r"^ *\*Not run")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_WORD_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True, slots=True)
class Block:
    """What stands between two fences.

    Attributes:
        page: Its page, below the root of the project.
        line: Where it begins.
        language: The first word after the fence.
        words: Those after it.
        text: What is between them, with a line break at its end.
        is_marked: Whether the page says that nobody runs it.
    """

    page: str
    line: int
    language: str
    words: tuple[str, ...]
    text: str
    is_marked: bool

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return f"{self.page}:{self.line}"

    @property
    def file(self) -> str | None:
        """The file that it is the content of."""
        names = [word[5:] for word in self.words if word.startswith("file=")]
        return names[0] if names else None

    @property
    def runner(self) -> str | None:
        """Who runs it: a word of ``RUNNERS``, an empty one, or nobody."""
        if self.language != COMMANDS or self.file or self.is_marked:
            return None
        return " ".join(self.words)


def all_pages() -> list[str]:
    """Return every page, below the root of the project."""
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(str(file.relative_to(ROOT)) for file in files)


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page, in their order."""
    found: list[Block] = []
    inside: list[str] | None = None
    is_marked, start, head = False, 0, ""
    for number, line in enumerate(_lines(page), 1):
        fence = _FENCE.match(line)
        if fence and inside is None:
            start, head, inside = number, fence[2], []
        elif fence and inside is not None:
            language, *words = head.split() or [""]
            text = textwrap.dedent("\n".join([*inside, ""]))
            found.append(Block(page, start, language, tuple(words), text, is_marked))
            inside = None
        elif inside is not None:
            inside.append(line)
        elif _HEADING.match(line):
            is_marked = False
        elif _NOT_RUN.match(line):
            is_marked = True
    assert inside is None, f"{page}:{start}: a fence that nothing closes"
    return found


def blocks_for(page: str, runner: str) -> list[Block]:
    """Return the commands of a page that this runner runs, and the files beside."""
    blocks = blocks_of(page)
    return [block for block in blocks if block.runner == runner or block.file]


def links_of(page: str) -> list[tuple[str, str]]:
    """Return what a page links to here: a path and an anchor, or an empty one."""
    text = "\n".join(_prose(page))
    targets = [link for link in _LINK.findall(text) if "://" not in link]
    return [(path, anchor) for path, _, anchor in (t.partition("#") for t in targets)]


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found: dict[str, int] = {}
    anchors = set()
    for line in _prose(str(page.relative_to(ROOT))):
        heading = _HEADING.match(line)
        if heading is None:
            continue
        text = _WORD_LINK.sub(r"\1", heading[1]).lower()
        name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        count = found[name] = found.get(name, 0) + 1
        anchors.add(name if count == 1 else f"{name}-{count - 1}")
    return anchors


def _prose(page: str) -> list[str]:
    """Return the lines of a page that are not between fences."""
    lines, inside = [], False
    for line in _lines(page):
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            lines.append(line)
    return lines


def _lines(page: str) -> list[str]:
    return (ROOT / page).read_text(encoding="utf-8").splitlines()
