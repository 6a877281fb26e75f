"""Packages of types that are installed beside the service, found by name."""

from __future__ import annotations

from importlib.metadata import entry_points

from conduck_service.extension.registry import Package, RegistrationError

GROUP = "conduck_service.extensions"
"""The entry point group in which a distribution offers its package."""


def find_installed(name: str) -> Package | None:
    """Return the package that an installed distribution offers under this name.

    Nothing of any other distribution is imported: what is installed beside the
    service has no say in it until the config names it.

    Args:
        name: Name of the entry point, which is that of the package too.

    Raises:
        RegistrationError: Two distributions offer one of this name, or what is
            offered is no package of this name.
        Exception: Whatever the code of the distribution raises.
    """
    offers = entry_points(group=GROUP, name=name)
    if not offers:
        return None
    if len(offers) > 1:
        raise RegistrationError("two installed distributions offer this package")
    (offer,) = offers
    try:
        package = offer.load()
    except SystemExit:
        raise RegistrationError("the code of the package ends the program") from None
    if not isinstance(package, Package):
        raise RegistrationError("what the distribution offers is no package of types")
    if package.name != name:
        raise RegistrationError("the package calls itself by another name")
    return package
