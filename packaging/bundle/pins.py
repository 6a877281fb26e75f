"""The list of what the bundle is made of: exact versions, each file with its hash."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGING = Path(__file__).parents[1]
ROOT = PACKAGING.parent
FILE = PACKAGING / "vendor.txt"

WHEELS = "wheels"
SOURCES = "sources"
BUILDERS = "builders"
SECTIONS = {
    WHEELS: "Wheels that fit every Python and every machine.",
    SOURCES: "Built from their sources: they have no such wheel.",
    BUILDERS: "What builds those; none of it gets into the bundle.",
}

_HEAD = (
    "# What the bundle is made of. Written by scripts/vendor; read by scripts/bundle.\n"
)
_PIN = re.compile(r"(?P<name>[\w.-]+)==(?P<version>\S+) --hash=sha256:(?P<hash>\S+)")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Pin:
    """One distribution.

    Attributes:
        name: As the registry spells it.
        version: The one version.
        digest: SHA-256 of the one file, in hexadecimal digits.
    """

    name: str
    version: str
    digest: str

    @property
    def line(self) -> str:
        """What pip reads."""
        return f"{self.name}=={self.version} --hash=sha256:{self.digest}"


def read_pins(text: str) -> dict[str, list[Pin]]:
    """Return the pins of each section.

    Raises:
        ValueError: A line is neither a pin, a comment nor a section.
    """
    found: dict[str, list[Pin]] = {section: [] for section in SECTIONS}
    section = ""
    for line in text.splitlines():
        if named := re.fullmatch(r"# \[(\w+)\] .*", line):
            section = named[1]
        elif pin := _PIN.fullmatch(line):
            found[section].append(
                Pin(name=pin["name"], version=pin["version"], digest=pin["hash"])
            )
        elif line and not line.startswith("#"):
            raise ValueError(f"not a pin: {line}")
    return found


def written(pins: Mapping[str, Iterable[Pin]]) -> str:
    """Return the text of the list."""
    parts = [
        f"\n# [{section}] {words}\n"
        + "".join(f"{pin.line}\n" for pin in sorted(pins[section], key=_by_name))
        for section, words in SECTIONS.items()
    ]
    return _HEAD + "".join(parts)


def _by_name(pin: Pin) -> str:
    return pin.name.lower()
