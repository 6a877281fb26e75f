"""Types of installed packages, through the real ``config check``."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import run
from tests.support.sample_package import install, notes, sample_environment
from tests.support.service import write_private

Problem = tuple[str, str, str]


def _config(*bindings: dict[str, Any], **scope: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "settings": {"extensions": {"sample": {}}},
        "scopes": [{"id": "shop", "name": "Shop", "bindings": bindings, **scope}],
    }


def _check(
    root: Path, config: Any, environment: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return what the program finds; everything it prints is free of the canary."""
    folder = root / "config"
    folder.mkdir(mode=0o700, exist_ok=True)
    write_private(folder / "config.json", config)
    file = str(folder / "config.json")
    done = run("config", "check", file, "--json", environment=environment)
    told = done.stdout + done.stderr
    assert "canary" not in told
    assert "Traceback" not in told
    answer = json.loads(done.stdout)
    problems: list[dict[str, Any]] = answer["problems"]
    assert done.returncode == (0 if answer["valid"] else 1)
    assert answer["valid"] == all(item["level"] != "error" for item in problems)
    return problems


def _found(
    root: Path, config: Any, environment: Mapping[str, str] | None = None
) -> list[Problem]:
    variables = sample_environment(root) if environment is None else environment
    problems = _check(root, config, variables)
    return [(item["level"], item["path"], item["code"]) for item in problems]


def test_a_package_that_is_named_brings_its_types(tmp_path: Path) -> None:
    config = _config({"name": "a", "executor": "able"})
    assert _found(tmp_path, config) == []
    del config["settings"]
    assert _found(tmp_path, config) == [
        ("error", "scopes/0/bindings/0/executor", "unregistered")
    ]


def test_a_package_that_is_not_named_is_not_imported(tmp_path: Path) -> None:
    environment = sample_environment(tmp_path)
    mark = tmp_path / "imported"
    install(tmp_path, "loud", f"open({str(mark)!r}, 'w').close()")
    config = _config({"name": "a", "executor": "able"})
    assert _found(tmp_path, config, environment) == []
    assert not mark.exists()
    config["settings"]["extensions"]["loud"] = {}
    assert _found(tmp_path, config, environment) == [
        ("error", "settings/extensions/loud", "invalid_config")
    ]
    assert mark.exists()


@pytest.mark.req("B-ENV-21")
def test_a_package_that_is_not_installed_is_a_warning(tmp_path: Path) -> None:
    config = _config()
    config["settings"]["extensions"]["gone"] = {"pass_env": ["DOCKER_HOST"]}
    assert _found(tmp_path, config) == [
        ("warning", "settings/extensions/gone", "unregistered")
    ]


_PACKAGE = "from conduck_service.extension.registry import Package\nPACKAGE = Package("

FAULTY = {
    "raises": "raise ValueError('canary')",
    "exits": "import sys; sys.exit('canary')",
    "no-syntax": "PACKAGE = canary(",
    "nothing": "",
    "no-package": "PACKAGE = 'canary'",
    "other-name": f"{_PACKAGE}name='canary')",
    "boasting": "from conduck_service.extension.executor import ExecutorType\n"
    f"{_PACKAGE}name='boasting', executors=(ExecutorType(name='canary', spec=None,"
    " executor=object(), features=frozenset({'inject'})),))",
    "clash": "from conduck_service.executors.http.executor import HTTP\n"
    f"{_PACKAGE}name='clash', executors=(HTTP,))",
}


@pytest.mark.req("B-VALID-06")
def test_each_faulty_package_is_one_diagnostic(tmp_path: Path) -> None:
    for name, source in FAULTY.items():
        environment = install(tmp_path, name, source)
    config = _config()
    config["settings"]["extensions"] = {name: {} for name in FAULTY}
    assert _found(tmp_path, config, environment) == [
        ("error", f"settings/extensions/{name}", "invalid_config")
        for name in sorted(FAULTY)
    ]


CONNECTION = {
    "id": "tracker",
    "type": "account",
    "config": {"server": "tracker"},
    "secret_refs": {"token": "file:token"},
}


GOOD: list[dict[str, Any]] = [
    CONNECTION,
    {"id": "bare", "type": "account"},
    {"id": "empty", "type": "other", "config": {}, "secret_refs": {}},
    {
        "id": "server",
        "type": "openai_http",
        "config": {"base_url": "http://127.0.0.1:11434/v1"},
        "secret_refs": {"api_key": "env:SERVER_KEY"},
    },
]

WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"id": "Tracker"}, "id", "invalid_identifier"),
    ({"id": 7}, "id", "invalid_type"),
    ({"id": None}, "id", "null_value"),
    ({"type": "nope"}, "type", "unregistered"),
    ({"type": 7}, "type", "invalid_type"),
    ({"config": []}, "config", "invalid_type"),
    ({"config": {"host": "canary"}}, "config/host", "invalid_config"),
    ({"config": {"server": 7}}, "config/server", "invalid_config"),
    ({"config": {"token": "canary"}}, "config/token", "invalid_config"),
    ({"secret_refs": []}, "secret_refs", "invalid_type"),
    ({"secret_refs": {"token": "canary"}}, "secret_refs/token", "invalid_secret_ref"),
    ({"secret_refs": {"key": "file:token"}}, "secret_refs/key", "unknown_field"),
    ({"account": "canary"}, "account", "unknown_field"),
]


@pytest.mark.req("B-CONN-01", "B-CONN-02", "B-CONN-05", "B-SCHEMA-06")
def test_a_connection_is_checked_by_its_type(tmp_path: Path) -> None:
    config = _config()
    config["connections"] = GOOD
    assert _found(tmp_path, config) == []
    config["connections"] = [
        CONNECTION | {"id": f"c{index}"} | change
        for index, (change, _, _) in enumerate(WRONG)
    ]
    assert _found(tmp_path, config) == [
        ("error", f"connections/{index}/{place}", code)
        for index, (_, place, code) in enumerate(WRONG)
    ]


@pytest.mark.req("B-CONN-01")
def test_a_connection_needs_an_id_and_a_type(tmp_path: Path) -> None:
    config = _config()
    config["connections"] = [{}]
    assert _found(tmp_path, config) == [
        ("error", f"connections/0/{key}", "missing_field") for key in ("id", "type")
    ]


@pytest.mark.req("B-VALID-15")
def test_a_connection_has_to_be_named_to_be_used(tmp_path: Path) -> None:
    binding = {"name": "caller", "executor": "dialing"}
    config = _config(binding, authorization={"connections": ["tracker"]})
    config["connections"] = [CONNECTION]
    assert _found(tmp_path, config) == [
        ("error", "scopes/0/bindings/0/connection", "missing_field")
    ]
    binding["connection"] = "tracker"
    assert _found(tmp_path, config) == []


@pytest.mark.req("B-VALID-15")
def test_a_secret_has_to_be_named_to_be_used(tmp_path: Path) -> None:
    door: dict[str, Any] = {
        "name": "door",
        "type": "bell",
        "config": {"namespace": "door", "scope": "shop", "secret": "bell"},
    }
    config = _config(secret_refs={"bell": "file:bell"}, extensions=[door])
    assert _found(tmp_path, config) == [
        ("error", "scopes/0/extensions/0/config/secret", "unknown_reference")
    ]
    door["secret_names"] = ["bell"]
    assert _found(tmp_path, config) == []


@pytest.mark.req("B-VALID-18")
def test_an_executor_without_a_spec_takes_any_object(tmp_path: Path) -> None:
    config = {"say": ["anything", {"at": None}], "loud": 1}
    hooked = _config({"name": "a", "executor": "hooked", "config": config})
    assert _found(tmp_path, hooked) == []
    able = _config({"name": "a", "executor": "able", "config": config})
    assert _found(tmp_path, able) == [
        ("error", f"scopes/0/bindings/0/config/{key}", "invalid_config")
        for key in ("loud", "say")
    ]
    hooked["scopes"][0]["bindings"][0]["config"] = []
    assert _found(tmp_path, hooked) == [
        ("error", "scopes/0/bindings/0/config", "invalid_type")
    ]


@pytest.mark.req("B-VALID-18")
def test_an_executor_with_a_check_is_asked(tmp_path: Path) -> None:
    binding = {"name": "a", "executor": "picky", "config": {"loud": True}}
    assert _found(tmp_path, _config(binding)) == []
    assert {"what": "check", "executor": "picky", "binding": "a"} in notes(tmp_path)
    both = copy.deepcopy(binding) | {"config": {"loud": True, "quiet": True}}
    assert _found(tmp_path, _config(both)) == [
        ("error", "scopes/0/bindings/0/config/quiet", "invalid_config")
    ]


@pytest.mark.req("B-GRANT-10")
def test_a_handler_sees_the_grants_of_its_binding(tmp_path: Path) -> None:
    grants = [{"name": name} for name in ("tracking", "shouting")]
    route = {
        "name": "r",
        "handler": "sees_grants",
        "binding": "a",
        "active_policy": "queue",
    }
    binding = {"name": "a", "executor": "able", "grants": grants}
    config = _config(binding, routes=[route])
    assert _found(tmp_path, config) == []
    seen = [item["names"] for item in notes(tmp_path) if item["what"] == "grants"]
    assert seen == [["tracking", "shouting"]]
    route["config"] = {"allowed": ["tracking"]}  # type: ignore[assignment]
    assert _found(tmp_path, config) == [
        ("error", "scopes/0/routes/0/binding", "invalid_config")
    ]


UNREGISTERED = [
    (
        "scopes/0/extensions/0/type",
        ("bell", "conduck_chat", "conduck_files"),
        _config(extensions=[{"name": "e", "type": "nope"}]),
    ),
    (
        "connections/0/type",
        ("account", "openai_http", "other"),
        _config() | {"connections": [{"id": "c", "type": "nope"}]},
    ),
    (
        "scopes/0/bindings/0/resource/provider",
        ("shelf",),
        _config({"name": "a", "executor": "able", "resource": {"provider": "nope"}}),
    ),
]


@pytest.mark.req("B-DIAG-04", "B-DIAG-06")
@pytest.mark.parametrize(("place", "names", "config"), UNREGISTERED)
def test_what_is_registered_is_listed(
    place: str, names: tuple[str, ...], config: Any, tmp_path: Path
) -> None:
    (problem,) = _check(tmp_path, config, sample_environment(tmp_path))
    assert (problem["path"], problem["code"]) == (place, "unregistered")
    for name in names:
        assert name in problem["remedy"]
