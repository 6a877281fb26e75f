"""Packages of types that a document names in its settings."""

from __future__ import annotations

from conduck_service.base.diagnostics import Diagnostic, Level, Pointer
from conduck_service.base.jsonio import JsonValue
from conduck_service.config.declared import mapping
from conduck_service.extension.registry import Package, Registry
from conduck_service.extension.spec import Decoding


def with_packages(document: JsonValue, registry: Registry, into: Decoding) -> Registry:
    """Return a registry that has the types of the named packages too.

    Nothing is loaded that the config does not name. A package that is not
    installed is a warning, so that a config outlives one that was removed
    (B-ENV-21); one that fails is an error.
    """
    names = mapping(mapping(document, "settings"), "extensions")
    for name in names:
        if name not in registry.packages:
            at = ("settings", "extensions", name)
            registry = _with_package(name, at, registry, into)
    return registry


def _with_package(
    name: str, at: Pointer, registry: Registry, into: Decoding
) -> Registry:
    # A package's code may raise anything, and its texts may hold anything.
    try:
        package = registry.find(name)
        if isinstance(package, Package):
            return registry.including(package)
    except Exception as error:
        into.refuse(
            at,
            "invalid_config",
            f"the package could not be loaded ({type(error).__name__})",
            "reinstall it, or ask those who make it",
        )
        return registry
    if package is not None:
        into.refuse(
            at,
            "invalid_config",
            "what is installed under this name is no package of types",
            "reinstall it, or ask those who make it",
        )
        return registry
    into.problems.append(
        Diagnostic(
            pointer=at,
            code="unregistered",
            message="no package of this name is installed",
            remedy="install it, or take it out",
            level=Level.WARNING,
        )
    )
    return registry
