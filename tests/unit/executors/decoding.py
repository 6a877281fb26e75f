"""Decoding of a config object in tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conduck_service.extension.spec import Decoding, Spec

BASE = Path("/etc/conduit")


def decode(spec: Spec[Any], value: Any) -> Any:
    """Return what the Spec makes of a value in which nothing is wrong."""
    into = Decoding(base=BASE)
    made = spec.decode(value, (), into)
    assert into.problems == []
    return made


def refusals(spec: Spec[Any], value: Any) -> list[tuple[str, str]]:
    """Return place and code of everything that is wrong with a value."""
    into = Decoding(base=BASE)
    spec.decode(value, (), into)
    return [(problem.place, problem.code) for problem in into.problems]
