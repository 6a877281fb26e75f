from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conduck_service.config.paths import PathError, config_path, state_dir

CONFIG = "open-conduit/config.json"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def env(home: Path) -> dict[str, str]:
    return {"HOME": str(home)}


@pytest.mark.parametrize("platform", ["linux", "darwin"])
@pytest.mark.req("B-PATH-01", "B-PATH-03", "B-PATH-05")
def test_the_defaults_are_below_home_on_every_platform(
    home: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)  # B-PATH-05
    config = config_path(None, env, home)
    state = state_dir(None, env, home)
    assert config == home / ".config" / CONFIG  # B-PATH-01
    assert state == home / ".local/state/open-conduit"  # B-PATH-03


@pytest.mark.req("B-PATH-02", "B-PATH-04")
def test_xdg_folders_stand_in_for_those_of_home(
    home: Path, env: dict[str, str]
) -> None:
    env |= {"XDG_CONFIG_HOME": f"{home}/c", "XDG_STATE_HOME": f"{home}/s"}
    assert config_path(None, env, home) == home / "c" / CONFIG  # B-PATH-02
    assert state_dir(None, env, home) == home / "s/open-conduit"  # B-PATH-04


@pytest.mark.req("B-PATH-22")
@pytest.mark.parametrize("value", ["x", "./x", "", "~/x"])
def test_a_relative_xdg_folder_is_ignored(
    home: Path, env: dict[str, str], value: str
) -> None:
    env |= {"XDG_CONFIG_HOME": value, "XDG_STATE_HOME": value}
    assert config_path(None, env, home) == home / ".config" / CONFIG
    assert state_dir(None, env, home) == home / ".local/state/open-conduit"


@pytest.mark.req("B-PATH-06", "B-PATH-07")
def test_flag_then_variable_then_default_for_the_config(
    home: Path, env: dict[str, str]
) -> None:
    env["OPEN_CONDUIT_CONFIG"] = f"{home}/variable.json"
    assert config_path(f"{home}/flag.json", env, home) == home / "flag.json"  # 06
    assert config_path(None, env, home) == home / "variable.json"  # B-PATH-07
    env["OPEN_CONDUIT_CONFIG"] = ""
    assert config_path(None, env, home) == home / ".config" / CONFIG


@pytest.mark.req("B-PATH-08", "B-PATH-09")
def test_flag_then_variable_then_default_for_the_state(
    home: Path, env: dict[str, str]
) -> None:
    env["OPEN_CONDUIT_DATA_DIR"] = f"{home}/variable"
    assert state_dir(f"{home}/flag", env, home) == home / "flag"  # B-PATH-08
    assert state_dir(None, env, home) == home / "variable"  # B-PATH-09


@pytest.mark.req("B-PATH-11")
def test_relative_explicit_paths_begin_at_the_start_folder(
    home: Path, env: dict[str, str]
) -> None:
    start = home / "start"
    assert config_path("./c.json", env, start) == start / "c.json"
    assert state_dir("../s", env, start) == home / "s"
    env |= {"OPEN_CONDUIT_CONFIG": "c.json", "OPEN_CONDUIT_DATA_DIR": "s"}
    assert config_path(None, env, start) == start / "c.json"
    assert state_dir(None, env, start) == start / "s"


@pytest.mark.req("B-PATH-12")
def test_links_to_folders_are_followed_once(home: Path, env: dict[str, str]) -> None:
    (home / "real").mkdir()
    (home / "link").symlink_to("real")
    config = config_path(f"{home}/link/c.json", env, home)
    state = state_dir(f"{home}/link", env, home)
    (home / "link").unlink()
    assert config == home / "real" / "c.json"
    assert state == home / "real"


def test_a_link_in_the_place_of_the_config_file_is_kept_to_be_refused(
    home: Path, env: dict[str, str]
) -> None:
    (home / "c.json").symlink_to("elsewhere.json")
    assert config_path("c.json", env, home) == home / "c.json"


def test_a_loop_of_links_ends(home: Path, env: dict[str, str]) -> None:
    (home / "loop").symlink_to("loop")
    assert config_path("loop/c.json", env, home).name == "c.json"
    state_dir("loop", env, home)


@pytest.mark.req("B-PATH-21")
@pytest.mark.parametrize("env", [{}, {"HOME": ""}, {"HOME": "relative"}])
def test_without_home_the_remedy_names_the_option(
    env: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(PathError, match="--config"):
        config_path(None, env, tmp_path)
    with pytest.raises(PathError, match="--data-dir"):
        state_dir(None, env, tmp_path)
    assert config_path("c.json", env, tmp_path).name == "c.json"
    assert state_dir("s", env, tmp_path).name == "s"


def test_an_empty_option_is_refused(env: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(PathError, match="--config"):
        config_path("", env, tmp_path)
    with pytest.raises(PathError, match="--data-dir"):
        state_dir("", env, tmp_path)
