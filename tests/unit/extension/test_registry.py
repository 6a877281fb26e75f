"""Which types can be registered together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conduck_service.extension.executor import INTERFACES, ExecutorType
from conduck_service.extension.operation import Operation, Toolset
from conduck_service.extension.registry import Package, RegistrationError, Registry
from tests.support.sample_package import sample_package


def _executor(name: str) -> ExecutorType:
    return Registry.of(sample_package()).executors[name]


@pytest.mark.req("B-VALID-06")
@pytest.mark.parametrize("feature", sorted(INTERFACES))
def test_an_advertised_feature_has_to_be_there(feature: str) -> None:
    boaster = replace(_executor("plain"), features=frozenset({feature}))
    with pytest.raises(RegistrationError, match=feature):
        Registry.of(Package(name="boaster", executors=(boaster,)))
    honest = replace(_executor("able"), features=frozenset({feature}))
    Registry.of(Package(name="honest", executors=(honest,)))


@pytest.mark.parametrize(
    "kind", ["executors", "handlers", "ingresses", "connections", "providers"]
)
def test_a_name_is_registered_once(kind: str) -> None:
    sample = sample_package()
    second = replace(Package(name="second"), **{kind: getattr(sample, kind)[:1]})
    with pytest.raises(RegistrationError, match=getattr(sample, kind)[0].name):
        Registry.of(sample, second)


def test_names_of_two_kinds_do_not_meet() -> None:
    sample = sample_package()
    operation = Operation(name="able", doc="Is called as an executor is.")
    both = Registry.of(sample, Package(name="second", operations=(operation,)))
    assert "able" in both.operations
    assert both.packages == ("sample", "second")


def test_a_toolset_holds_registered_operations_only() -> None:
    toolset = Toolset(name="more", operations=("work.create",))
    package = Package(name="second", toolsets=(toolset,))
    assert "more" in Registry.of(sample_package(), package).toolsets
    with pytest.raises(RegistrationError, match="more"):
        Registry.of(package)
