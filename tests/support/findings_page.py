"""Writes docs/reference/findings.md from the declared findings and the cases."""

from __future__ import annotations

from collections.abc import Iterator

from conduck_service.doctor.areas import AREAS
from conduck_service.selftest.file_cases import FILE_CASES
from conduck_service.selftest.gate_cases import GATE_CASES
from conduck_service.selftest.turn_cases import DEEP_CASES, TURN_CASES
from conduck_service.selftest.wire_cases import WIRE_CASES
from tests.support.trace import REFERENCE

PAGE = REFERENCE / "findings.md"

HEAD = """# Findings of doctor, cases of selftest

Written by `scripts/docs` from the declarations in the program.
[doctor.md](../howto/doctor.md) explains how to use the two commands.

## Findings

Where one of the findings in the last column was made about the same thing, this one is
not told: curing the cause cures it too. A finding without a remedy here brings one that
fits what was found, or needs none.
"""

CASES = """## Cases

| case | run | when it passes |
| --- | --- | --- |
"""

_PROFILES = (
    ("always", (*GATE_CASES, *WIRE_CASES, *TURN_CASES)),
    ("`--deep`", DEEP_CASES),
    ("`--files`", FILE_CASES),
)


def page() -> str:
    """Return the page."""
    return HEAD + "\n".join(_areas()) + "\n" + CASES + "\n".join(_cases()) + "\n"


def _areas() -> Iterator[str]:
    for area in AREAS:
        yield f"\n### {area.name}\n"
        yield "| code | level | what was found | what to do | not told after |"
        yield "| --- | --- | --- | --- | --- |"
        found = {item.code: item for check in area.checks for item in check.findings}
        for item in found.values():
            causes = ", ".join(f"`{code}`" for code in item.depends_on)
            yield (
                f"| `{item.code}` | {item.level} | {item.text} | {item.remedy} "
                f"| {causes} |"
            )
    yield ""


def _cases() -> Iterator[str]:
    for profile, cases in _PROFILES:
        for case in cases:
            yield f"| `{case.name}` | {profile} | {case.means} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
