"""A package of types for tests, as a stranger would write one.

It is no part of the tests' own package: the tests put it on the path of a real
program as the distribution ``conduck-sample``, with the entry point ``sample``.
"""

from __future__ import annotations

from conduck_service.extension.operation import Operation, Toolset
from conduck_service.extension.registry import Package

from .elsewhere import CONNECTIONS, INGRESSES, PROVIDERS
from .engines import EXECUTORS
from .handlers import HANDLERS

PACKAGE = Package(
    name="sample",
    executors=EXECUTORS,
    handlers=HANDLERS,
    ingresses=INGRESSES,
    connections=CONNECTIONS,
    providers=PROVIDERS,
    operations=(
        Operation(name="work.create", doc="Makes a Work."),
        Operation(name="work.cancel", doc="Ends a Work."),
        Operation(name="work.list", doc="Lists Works."),
        Operation(name="tracker.file", doc="Files an issue."),
    ),
    toolsets=(
        Toolset(name="work", operations=("work.create", "work.cancel", "work.list")),
    ),
)
