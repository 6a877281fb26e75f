"""What is imported when it is used, and not when it is named."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from typing import Any


def late(reference: str) -> Callable[..., Any]:
    """Return a function that calls what a reference names, imported at that time.

    A command that only looks at a config names every type and runs none: it must
    not wait for the libraries of their servers.

    Args:
        reference: Module and name, such as ``package.module:name``.
    """

    def call(*arguments: Any) -> Any:
        return pkgutil.resolve_name(reference)(*arguments)

    return call
