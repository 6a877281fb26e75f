"""What doctor says: findings that are declared once, each with what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    INFO = "info"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Something that can be wrong, or worth knowing.

    Attributes:
        code: Stable word for programs, unique among all of them.
        level: How bad it is; never OK.
        text: What is wrong, for people, without a full stop.
        remedy: What to do about it; empty where nothing has to be done.
        depends_on: Codes of findings that are its cause: where one of them was
            found, this one is not told, since curing the cause cures it.
    """

    code: str
    level: Level
    text: str
    remedy: str = ""
    depends_on: tuple[str, ...] = ()

    def found(
        self, subject: str = "", detail: str = "", remedy: str | None = None
    ) -> Finding:
        """Return the finding that this is so.

        Args:
            subject: What it is about, such as ``home/chat``; empty for everything.
            detail: A few more words; never a secret and nothing of a conversation.
            remedy: A better one, when more is known.
        """
        return Finding(
            what=self,
            subject=subject,
            detail=detail,
            remedy=self.remedy if remedy is None else remedy,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One declared thing that was found somewhere.

    Attributes:
        what: The declaration.
        subject: What it is about.
        detail: A few more words.
        remedy: What to do about it here.
    """

    what: Declared
    subject: str
    detail: str
    remedy: str

    @property
    def message(self) -> str:
        """What is wrong, with its details."""
        return f"{self.what.text}: {self.detail}" if self.detail else self.what.text
