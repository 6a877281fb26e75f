"""The owners' own checks of an entry within its scope."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from conduck_service.base.diagnostics import Level, Pointer
from conduck_service.config.declared import DeclaredEntry, Table
from conduck_service.config.inherit import Effective
from conduck_service.domain.scope import Binding, ExtensionEntry, Route, Scope
from conduck_service.extension.executor import Capabilities
from conduck_service.extension.handler import no_checks
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
        _refuse_owner(error, at, into)


def _refuse_owner(error: Exception, at: Pointer, into: Decoding) -> None:
    into.refuse(
        at,
        "invalid_config",
        f"its owner could not check it ({type(error).__name__})",
        "report this as a fault of the registered type",
    )


def check_owners(
    effective: Effective, scope: Scope, registry: Registry, into: Decoding
) -> None:
    """Let the owners of the entries in force check them within the scope.

    The scope must be without faults of its own, since owners look at all of it. An
    inherited entry is checked again here, where other things are in force, and is
    refused at the scope (B-INHERIT-08). Extensions run in their own scope only.

    Keeps: B-VALID-05, B-GRANT-04, B-GRANT-10.
    """
    for item in effective.in_force(Table.BINDINGS):
        if isinstance(binding := item.entry, Binding):
            _ask(item, effective, _binding_check(binding, scope, registry), into)
    for item in effective.in_force(Table.ROUTES):
        route = item.entry
        if isinstance(route, Route) and _has_check(route, registry):
            _ask(item, effective, _route_check(route, scope, registry), into)
    for item in effective.own(Table.EXTENSIONS):
        if isinstance(entry := item.entry, ExtensionEntry):
            _ask(item, effective, _extension_check(entry, scope, registry), into)


def _has_check(route: Route, registry: Registry) -> bool:
    return registry.handlers[route.handler].check is not no_checks


def _binding_check(
    binding: Binding, scope: Scope, registry: Registry
) -> Callable[[Decoding], None]:
    """Return a check of a binding, and of it with each of its grants alone.

    What a grant does not change is not told again.
    """
    ask = registry.executors[binding.executor].check
    if not any(grant.config is not None for grant in binding.grants):
        return lambda own: ask(binding, scope, own)

    def check(own: Decoding) -> None:
        ask(binding, scope, own)
        known = set(own.problems)
        for index, grant in enumerate(binding.grants):
            if grant.config is None:
                continue
            found = own.own()
            ask(replace(binding, config=grant.config), scope, found)
            own.problems.extend(
                replace(item, pointer=("grants", index, *item.pointer))
                for item in found.problems
                if item not in known
            )

    return check


def _route_check(
    route: Route, scope: Scope, registry: Registry
) -> Callable[[Decoding], None]:
    def check(own: Decoding) -> None:
        binding = scope.binding(route.binding)
        registry.handlers[route.handler].check(route, binding, scope, own)

    return check


def _extension_check(
    entry: ExtensionEntry, scope: Scope, registry: Registry
) -> Callable[[Decoding], None]:
    bindings = {binding.name: binding for binding in scope.bindings}

    def capabilities_of(name: str) -> Capabilities | None:
        binding = bindings.get(name)
        if binding is None:
            return None
        executor = registry.executors[binding.executor].executor
        return executor.capabilities(binding.config)

    def check(own: Decoding) -> None:
        registry.ingresses[entry.type].check(entry, scope, capabilities_of, own)

    return check


def _ask(
    item: DeclaredEntry,
    scope: Effective,
    check: Callable[[Decoding], None],
    into: Decoding,
) -> None:
    """Run the check of an entry and take over what it finds."""
    if item in scope.faulty:
        return
    own = into.own()
    # Without the context of ``guarded``: this runs for all that is inherited.
    try:
        check(own)
    except Exception as error:
        own.problems.clear()
        _refuse_owner(error, (), own)
    if not own.problems:
        return
    is_own = item.at[: len(scope.at)] == scope.at
    if is_own:
        into.problems.extend(
            replace(found, pointer=(*item.at, *found.pointer)) for found in own.problems
        )
    elif errors := [found for found in own.problems if found.level is Level.ERROR]:
        into.problems.extend(
            replace(
                found,
                pointer=scope.at,
                message=f"the inherited entry {item.name!r}: {found.message}",
            )
            for found in errors
        )
    if any(found.level is Level.ERROR for found in own.problems):
        scope.faulty.add(item)
