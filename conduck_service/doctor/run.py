"""Runs the checks in their order, and leaves out what another finding explains."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from conduck_service.doctor.context import DoctorContext, NotMadeError
from conduck_service.doctor.finding import Declared, Finding, Level


class Target(Protocol):
    """Something that is looked at."""

    @property
    def subject(self) -> str:
        """How findings name it."""
        ...

    @property
    def related(self) -> tuple[str, ...]:
        """Subjects of other targets that it depends on."""
        ...


T = TypeVar("T", bound=Target)


@dataclass(frozen=True, slots=True)
class Check(Generic[T]):
    """One question to one target.

    Attributes:
        name: Within its area.
        promise: What is so when nothing is found.
        findings: All that it can find.
        look: Looks; raises NotMadeError when it cannot.
        blocked_by: Codes of findings after which it is not made at all.
    """

    name: str
    promise: str
    findings: tuple[Declared, ...]
    look: Callable[[DoctorContext, T], Iterable[Finding]]
    blocked_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Area(Generic[T]):
    """Checks of targets of one kind.

    Attributes:
        name: Of the area.
        targets: Returns what is there to be looked at.
        checks: In their order.
    """

    name: str
    targets: Callable[[DoctorContext], Sequence[T]]
    checks: tuple[Check[T], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What came of one check, or one thing that it found.

    Attributes:
        check: Area and name.
        subject: What was looked at.
        level: How bad it is.
        code: Of the finding; ``ok``, or ``not_made`` when a cause stands elsewhere.
        message: For people.
        remedy: What to do.
    """

    check: str
    subject: str
    level: Level
    code: str
    message: str
    remedy: str = ""


OK = "ok"
NOT_MADE = "not_made"


def examine(
    context: DoctorContext,
    areas: Sequence[Area[Target]],
    begin: Callable[[str], None] = lambda _name: None,
) -> Iterator[Row]:
    """Yield what came of every check, in their order.

    Args:
        context: What is known.
        areas: What to look at.
        begin: Told the name of each check before it is made.
    """
    causes = Causes()
    for area in areas:
        for target in area.targets(context):
            for check in area.checks:
                name = f"{area.name}.{check.name}"
                begin(f"{name} {target.subject}".strip())
                yield from _rows(context, name, target, check, causes)


class Causes:
    """What was found so far, and what was not looked at because of that."""

    def __init__(self) -> None:
        self._known: list[tuple[str, str]] = []

    def add(self, code: str, subject: str) -> None:
        """Remember a finding, or that nobody can tell whether it is so."""
        self._known.append((code, subject))

    def explain(self, codes: Iterable[str], subjects: Iterable[str]) -> bool:
        """Say whether one of these findings is about one of these subjects."""
        wanted, about = set(codes), list(subjects)
        return any(
            code in wanted and any(_is_around(place, one) for one in about)
            for code, place in self._known
        )


def _is_around(place: str, subject: str) -> bool:
    """Say whether what is so at a place bears on a subject, or on all of them."""
    return "" in {place, subject} or f"{subject}/".startswith(f"{place}/")


def _rows(
    context: DoctorContext,
    name: str,
    target: Target,
    check: Check[Target],
    causes: Causes,
) -> Iterator[Row]:
    subject, related = target.subject, target.related
    if causes.explain(check.blocked_by, (subject, *related)):
        for what in check.findings:
            causes.add(what.code, subject)
        yield _not_made(name, subject, "another finding is its cause")
        return
    has_found = False
    try:
        for finding in check.look(context, target):
            has_found = True
            about = (finding.subject, *related)
            is_told = not causes.explain(finding.what.depends_on, about)
            causes.add(finding.what.code, finding.subject)
            if is_told:
                yield _row(name, finding)
    except NotMadeError as error:
        yield _not_made(name, subject, str(error))
        return
    except OSError as error:
        # Its own text may name a path; what the system says in general does not.
        yield _not_made(name, subject, os.strerror(error.errno or 0))
        return
    if not has_found:
        yield Row(
            check=name, subject=subject, level=Level.OK, code=OK, message=check.promise
        )


def _not_made(name: str, subject: str, why: str) -> Row:
    return Row(
        check=name,
        subject=subject,
        level=Level.INFO,
        code=NOT_MADE,
        message=f"not looked at: {why}",
    )


def _row(name: str, finding: Finding) -> Row:
    return Row(
        check=name,
        subject=finding.subject,
        level=finding.what.level,
        code=finding.what.code,
        message=finding.message,
        remedy=finding.remedy,
    )
