"""The environment of an engine."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from conduck_service.executors import environment
from conduck_service.executors.environment import (
    DEFAULT_PATH,
    baseline,
    engine_environment,
)

DAEMON = {
    "PATH": "/bin",
    "HOME": "/home/ann",
    "USER": "ann",
    "LOGNAME": "ann",
    "SHELL": "/bin/zsh",
    "LANG": "de_DE.UTF-8",
    "LC_ALL": "C",
    "LC_TIME": "C",
    "TZ": "Europe/Berlin",
    "TMPDIR": "/tmp",
    "TERM": "xterm-256color",
    "LANGUAGE": "de",
    "SSL_CERT_FILE": "/c",
    "XDG_CONFIG_HOME": "/x",
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
TAKEN = {
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_TIME",
    "TZ",
    "TMPDIR",
}


def path_of(rest: str) -> str:
    """Return a PATH behind the folder of the program ``os``."""
    return f"{environment.toolbelt_folder()}:{rest}"


@pytest.mark.req("B-ENV-05", "B-ENV-06", "B-ENV-07", "B-ENV-27")
def test_only_names_known_to_be_harmless_are_passed_on() -> None:
    assert baseline(DAEMON) == {
        **{name: DAEMON[name] for name in TAKEN},
        "PATH": path_of("/bin"),
        "TERM": "dumb",
    }


def test_there_is_always_a_path() -> None:
    assert baseline({}) == {"PATH": path_of(DEFAULT_PATH), "TERM": "dumb"}
    assert engine_environment({}, {}, {"PATH": "/x"}, {})["PATH"] == "/x"


@pytest.mark.req("B-NAME-02")
def test_the_program_os_is_found_first() -> None:
    program = shutil.which("os", path=baseline(DAEMON)["PATH"])
    assert program is not None
    assert "conduck_service" in Path(program).read_text("utf-8")


def test_an_installation_may_have_no_program_os(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "os").mkdir()
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(sys, "argv", ["open-conduit"])
    assert environment.toolbelt_folder.__wrapped__() is None


def test_the_folder_that_the_command_was_called_from_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "os").touch(0o755)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "open-conduit")])
    assert environment.toolbelt_folder.__wrapped__() == str(tmp_path)


@pytest.mark.req("B-NAME-02")
def test_a_package_for_a_whole_machine_has_a_folder_for_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("lib", "bin", "elsewhere"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "elsewhere/open-conduit")])
    for folder in ("bin", "elsewhere"):
        (tmp_path / folder / "os").touch(0o755)
    find = environment.toolbelt_folder.__wrapped__
    monkeypatch.setattr(environment, "_LIB", tmp_path / "lib")
    assert find() == str(tmp_path / "bin")
    monkeypatch.setattr(environment, "_LIB", tmp_path / "site-packages")
    assert find() == str(tmp_path / "elsewhere")


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


@pytest.mark.parametrize("layer", range(4))
@pytest.mark.parametrize("name", ["OS_TOKEN", "OS_ENDPOINT", "OPEN_CONDUIT_CONFIG"])
def test_the_toolbelts_variables_come_from_no_layer(layer: int, name: str) -> None:
    layers: list[dict[str, str]] = [{} for _ in range(4)]
    layers[layer][name] = "x"
    assert name not in engine_environment(*layers)
