"""What an engine sees of the variables of the service."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from conduck_service.toolbelt import cli
from tests.support.commands import problems
from tests.support.documents import document
from tests.support.service import binding, free_port, running, stub

CANARY = "env-canary"
DAEMON = {
    "HOME": "/home/ann",
    "USER": "ann",
    "LOGNAME": "ann",
    "SHELL": "/bin/sh",
    "LANG": "C.UTF-8",
    "LC_TIME": "C",
    "TZ": "UTC",
    "TMPDIR": "/tmp",
    "TERM": "xterm",
    "AWS_SECRET_ACCESS_KEY": CANARY,
    "OS_TOKEN": CANARY,
    "OS_ENDPOINT": CANARY,
    "XDG_DATA_HOME": CANARY,
    "HTTP_PROXY": "http://127.0.0.1:9",
}
DOCUMENTED = {
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_TIME", "TZ", "TMPDIR"),
    "TERM",
}
MARK = "CONDUCK_EXECUTION"
ADDED_BY_PYTHON = {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"}
"""What the stub's own interpreter puts into its environment."""


def seen(folder: Path, **config: Any) -> dict[str, str]:
    """Return the environment of a turn's engine."""
    engine = stub(folder, ["print", "hello"])
    with running(folder, engine, environment=DAEMON, **config) as service:
        service.chat("hi")
    environment: dict[str, str] = engine.only["environment"]
    return environment


@pytest.mark.req("B-ENV-04", "B-ENV-05", "B-ENV-06", "B-ENV-07", "B-ENV-27")
def test_an_engine_sees_the_documented_variables_only(tmp_path: Path) -> None:
    environment = seen(tmp_path)
    assert environment.keys() - ADDED_BY_PYTHON == DOCUMENTED | {MARK}
    assert environment["TERM"] == "dumb"
    assert CANARY not in environment.values()
    kept = DOCUMENTED - {"PATH", "TERM"}
    assert {name: environment[name] for name in kept} == {
        name: DAEMON[name] for name in kept
    }


@pytest.mark.req("B-NAME-02")
def test_the_path_of_an_engine_leads_to_the_toolbelt(tmp_path: Path) -> None:
    first, *_ = seen(tmp_path)["PATH"].split(":")
    program = shutil.which("os", path=first)
    assert program is not None
    assert cli.__name__ in Path(program).read_text("utf-8")


@pytest.mark.req("B-ENV-09", "B-ENV-13", "B-ENV-14")
def test_variables_that_a_binding_names_are_added(tmp_path: Path) -> None:
    environment = seen(tmp_path, pass_env=["HTTP_PROXY", "NOT_SET"])
    added = DOCUMENTED | {MARK, "HTTP_PROXY"}
    assert environment.keys() - ADDED_BY_PYTHON == added
    assert environment["HTTP_PROXY"] == DAEMON["HTTP_PROXY"]


@pytest.mark.req("B-ENV-08")
def test_a_file_of_variables_in_the_working_folder_is_no_layer(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/.env").write_text(f"FROM_FILE={CANARY}")
    assert "FROM_FILE" not in seen(tmp_path)


@pytest.mark.req("B-ENV-24")
def test_secrets_win_over_plain_values_and_those_over_the_baseline(
    tmp_path: Path,
) -> None:
    environment = seen(
        tmp_path,
        pass_env=["HTTP_PROXY"],
        env={"TZ": "plain", "HTTP_PROXY": "plain", "LANG": "plain"},
        secret_names=["key", "other"],
        secret_env={"LANG": "key"},
        secret_refs={"key": "file:key", "other": "file:other"},
        secrets={"key": "secret", "other": CANARY},
    )
    assert [environment[name] for name in ("LANG", "TZ", "HTTP_PROXY")] == [
        *("secret", "plain", "plain")
    ]
    assert CANARY not in environment.values()


@pytest.mark.req("B-ENV-03", "B-ENV-25")
@pytest.mark.parametrize(
    "config",
    [
        {"env": {"OS_TOKEN": "x"}},
        {"env": {"OPEN_CONDUIT_CONFIG": "x"}},
        {"secret_env": {"OS_ENDPOINT": "chat_token"}, "secret_names": ["chat_token"]},
        {"secret_env": {"KEY": "chat_token"}},
    ],
)
def test_reserved_variables_and_unselected_secrets_are_refused(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    item = binding(stub(tmp_path), **config)
    assert problems(tmp_path, document({"agent": item}, free_port()))
