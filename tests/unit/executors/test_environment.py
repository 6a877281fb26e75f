"""The environment of an engine."""

from __future__ import annotations

import pytest

from conduck_service.executors.environment import (
    DEFAULT_PATH,
    baseline,
    engine_environment,
)

DAEMON = {
    "PATH": "/bin",
    "HOME": "/home/ann",
    "LANG": "de_DE.UTF-8",
    "LC_ALL": "C",
    "TMPDIR": "/tmp",
    "SECRET_TOKEN": "s",
    "ANTHROPIC_API_KEY": "s",
    "AWS_SECRET_ACCESS_KEY": "s",
    "CONDUCK_FILES_DIR": "/srv",
    "OPEN_CONDUIT_CONFIG": "/c",
    "OS_TOKEN": "s",
    "NOTIFY_SOCKET": "/run/n",
    "LISTEN_FDS": "1",
    "LD_PRELOAD": "/x.so",
    "PYTHONPATH": "/x",
    "SSH_AUTH_SOCK": "/run/s",
    "LCX": "x",
    "PATHS": "x",
}
HARMLESS = {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"}


def test_only_names_known_to_be_harmless_are_passed_on() -> None:
    assert baseline(DAEMON) == {name: DAEMON[name] for name in HARMLESS}


def test_there_is_always_a_path() -> None:
    assert baseline({}) == {"PATH": DEFAULT_PATH}
    assert engine_environment({}, {}, {"PATH": "/x"}, {}) == {"PATH": "/x"}


@pytest.mark.parametrize("layers", range(1, 5))
def test_later_layers_win(layers: int) -> None:
    given = [{"HOME": f"layer {index}"} for index in range(layers)]
    given += [{} for _ in range(4 - layers)]
    made = engine_environment(*given)
    assert made["HOME"] == f"layer {layers - 1}"


def test_every_layer_is_there() -> None:
    made = engine_environment(
        DAEMON, {"HTTPS_PROXY": "p"}, {"MODE": ""}, {"API_KEY": "k"}
    )
    assert made == baseline(DAEMON) | {"HTTPS_PROXY": "p", "MODE": "", "API_KEY": "k"}
