"""The owners' own checks of an entry within its scope."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from conduck_service.base.diagnostics import Pointer
from conduck_service.domain.scope import Scope
from conduck_service.extension.executor import Capabilities
from conduck_service.extension.registry import Registry
from conduck_service.extension.spec import Decoding


@contextmanager
def guarded(at: Pointer, into: Decoding) -> Iterator[None]:
    """Make one diagnostic of whatever an owner's code raises (B-DIAG-18).

    What it noted before it raised is dropped, since it did not finish, and the
    text of the exception is too: it may repeat values.
    """
    found = len(into.problems)
    try:
        yield
    except Exception as error:
        del into.problems[found:]
        into.refuse(
            at,
            "invalid_config",
            f"its owner could not check it ({type(error).__name__})",
            "report this as a fault of the registered type",
        )


def check_owners(scope: Scope, at: Pointer, registry: Registry, into: Decoding) -> None:
    """Let the owners of a scope's entries check them within the scope.

    The scope must be without faults of its own, since owners look at all of it.
    """

    def capabilities_of(name: str) -> Capabilities | None:
        for binding in scope.bindings:
            if binding.name == name:
                executor = registry.executors[binding.executor].executor
                return executor.capabilities(binding.config)
        return None

    for index, binding in enumerate(scope.bindings):
        own = Decoding(base=into.base)
        with guarded((), own):
            registry.executors[binding.executor].check(binding, scope, own)
        _take_over(own, (*at, "bindings", index), into)
    for index, entry in enumerate(scope.extensions):
        own = Decoding(base=into.base)
        with guarded((), own):
            registry.ingresses[entry.type].check(entry, scope, capabilities_of, own)
        _take_over(own, (*at, "extensions", index), into)


def _take_over(own: Decoding, at: Pointer, into: Decoding) -> None:
    into.problems.extend(
        replace(item, pointer=(*at, *item.pointer)) for item in own.problems
    )
