"""``open-conduit secret set`` with a value from a pipe."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.secrets.keyrings import NO_KEYRING, calls, fake_keyring, held, secret_set
from tests.support.commands import found_in, tree
from tests.support.service import PROGRAM, variables, write_private

CANARY = b"canary-5f2a91"
PEM = b"-----BEGIN KEY-----\n" + b"YWJjZGVm\n" * 40 + b"-----END KEY-----\n"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def config(**secret_refs: str) -> dict[str, Any]:
    return {
        "version": 1,
        "connections": [
            {
                "id": "desk",
                "type": "openai_http",
                "config": {"base_url": "http://127.0.0.1:9/v1"},
                "secret_refs": {"api_key": "file:key"},
            }
        ],
        "scopes": [
            {"id": "home", "name": "Home", "secret_refs": secret_refs},
            {"id": "work", "name": "Work", "secret_refs": {"mine": "keyring:key"}},
        ],
    }


def written(root: Path, value: Any) -> Path:
    (root / "config").mkdir(mode=0o700)
    file = root / "config/config.json"
    write_private(file, value)
    return file


def kept(root: Path) -> dict[str, str]:
    values: dict[str, str] = json.loads((root / "config/secrets.json").read_text())
    return values


@pytest.mark.req("B-CLI-10", "B-SECRET-43", "B-NAME-03")
def test_a_value_goes_into_the_keyring_first(tmp_path: Path) -> None:
    ring = tmp_path / "ring"
    done = secret_set(tmp_path, "key", CANARY, environment=fake_keyring(ring))
    assert done.returncode == 0, done.stderr
    assert held(ring) == {"open-conduit/key": CANARY.decode()}
    assert "set open-conduit key" in calls(ring)
    assert b"keyring:key" in done.stdout
    assert not (tmp_path / "config/secrets.json").exists()  # B-SECRET-43
    assert mode(tmp_path / "config") == 0o700
    assert CANARY not in done.stdout + done.stderr


@pytest.mark.req("B-CLI-11", "B-PERM-05", "B-SECRET-43")
@pytest.mark.parametrize("fault", ["none", "broken"])
def test_without_a_keyring_the_file_is_used_and_named(
    tmp_path: Path, fault: str
) -> None:
    broken = fake_keyring(tmp_path / "ring", "broken")
    environment = NO_KEYRING if fault == "none" else broken
    done = secret_set(tmp_path, "key", CANARY, environment=environment)
    assert done.returncode == 0, done.stderr
    file = tmp_path / "config/secrets.json"
    assert os.fsencode(file) in done.stdout
    assert b'"file:key"' in done.stdout
    assert kept(tmp_path) == {"key": CANARY.decode()}
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)
    assert CANARY not in done.stdout + done.stderr


@pytest.mark.req("B-CLI-12", "B-SECRET-44")
def test_references_of_the_config_lead_to_where_the_value_lies(tmp_path: Path) -> None:
    refs = {"a": "keyring:key", "b": "file:key", "c": "env:key", "d": "file:key2"}
    file = written(tmp_path, config(**refs))
    done = secret_set(tmp_path, "key", CANARY)
    assert done.returncode == 0, done.stderr
    expected = config(**refs | {"a": "file:key"})
    expected["scopes"][1]["secret_refs"]["mine"] = "file:key"
    assert json.loads(file.read_text()) == expected
    assert mode(file) == 0o600
    assert CANARY not in file.read_bytes()
    assert b"restart" in done.stdout
    ring = tmp_path / "ring"
    done = secret_set(tmp_path, "key", CANARY, environment=fake_keyring(ring))
    assert done.returncode == 0, done.stderr
    text = file.read_text()
    assert text.count('"keyring:key"') == 4
    assert '"file:key"' not in text
    assert kept(tmp_path) == {"key": CANARY.decode()}


def test_a_config_that_refers_to_the_place_already_is_not_written(
    tmp_path: Path,
) -> None:
    value = config(a="file:key")
    del value["scopes"][1]
    file = written(tmp_path, value)
    before = (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino)
    done = secret_set(tmp_path, "key", CANARY)
    assert done.returncode == 0, done.stderr
    assert before == (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino)
    assert b"from now on" in done.stdout


@pytest.mark.req("B-CLI-12")
def test_a_scope_gets_the_reference_when_asked(tmp_path: Path) -> None:
    file = written(tmp_path, config())
    done = secret_set(tmp_path, "fresh", CANARY, "--scope", "home")
    assert done.returncode == 0, done.stderr
    (home, _) = json.loads(file.read_text())["scopes"]
    assert home["secret_refs"] == {"fresh": "file:fresh"}
    before = file.read_bytes()
    assert secret_set(tmp_path, "other", CANARY).returncode == 0
    assert file.read_bytes() == before


def test_a_scope_that_is_not_there_is_told_before_anything_is_stored(
    tmp_path: Path,
) -> None:
    written(tmp_path, config())
    done = secret_set(tmp_path, "key", CANARY, "--scope", "hom")
    assert done.returncode == 1
    assert b"did you mean 'home'?" in done.stderr
    assert not (tmp_path / "config/secrets.json").exists()


def test_a_scope_needs_a_config(tmp_path: Path) -> None:
    done = secret_set(tmp_path, "key", CANARY, "--scope", "home")
    assert (done.returncode, done.stdout) == (1, b"")
    assert not (tmp_path / "config/secrets.json").exists()


def test_when_the_config_is_refused_the_value_stays_and_nothing_else(
    tmp_path: Path,
) -> None:
    value = config(a="keyring:key")
    value["scopes"][0]["naem"] = "x"
    file = written(tmp_path, value)
    before = file.read_bytes()
    done = secret_set(tmp_path, "key", CANARY)
    assert done.returncode == 1
    assert b"scopes/0/naem" in done.stderr
    assert b"stored as file:key" in done.stderr
    assert file.read_bytes() == before
    assert kept(tmp_path) == {"key": CANARY.decode()}
    assert CANARY not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "text", ["{", "[]", '"x"', '{"scopes": 3, "connections": [1]}']
)
def test_a_config_of_any_shape_is_no_reason_to_fail(tmp_path: Path, text: str) -> None:
    file = written(tmp_path, {})
    file.write_text(text)
    done = secret_set(tmp_path, "key", CANARY)
    is_stored = (tmp_path / "config/secrets.json").exists()
    assert (done.returncode, is_stored) == ((1, False) if text == "{" else (0, True))
    assert b"Traceback" not in done.stderr
    assert file.read_text() == text


@pytest.mark.req("B-CLI-14")
def test_a_pipe_may_bring_64_kib(tmp_path: Path) -> None:
    assert secret_set(tmp_path, "key", b"x" * 65_536).returncode == 0
    assert kept(tmp_path) == {"key": "x" * 65_536}
    before = tree(tmp_path / "config")
    for value in (b"y" * 65_537, b"y" * 65_536 + b"\n", b"y" * 300_000):
        done = secret_set(tmp_path, "key", value)
        assert done.returncode == 1
        assert b"65536" in done.stderr
    assert tree(tmp_path / "config") == before


@pytest.mark.req("B-CLI-15", "B-CLI-16")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (b"v\n\n", "v\n"),
        (b"v\n", "v"),
        (b"v", "v"),
        (b"v\r\n", "v"),
        (b"  v \n", "  v "),
        ("tökén ✓\n".encode(), "tökén ✓"),
        (PEM, PEM[:-1].decode()),  # B-CLI-16
    ],
)
def test_one_newline_is_taken_off(tmp_path: Path, given: bytes, expected: str) -> None:
    assert secret_set(tmp_path, "key", given).returncode == 0
    assert kept(tmp_path) == {"key": expected}


@pytest.mark.parametrize("value", [b"", b"\n", b"canary\xff", b"canary\0"])
def test_what_is_no_text_is_refused(tmp_path: Path, value: bytes) -> None:
    done = secret_set(tmp_path, "key", value)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"nothing was stored" in done.stderr
    assert b"canary" not in done.stderr
    assert not (tmp_path / "config/secrets.json").exists()


@pytest.mark.parametrize("name", ["A", "1a", "../x", "a.b", "", "a" * 64, "a\n"])
def test_a_name_is_an_identifier(tmp_path: Path, name: str) -> None:
    assert secret_set(tmp_path, name, CANARY).returncode == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("folder", ["config", "state", "state/private"])
def test_a_folder_open_to_others_is_refused_first(tmp_path: Path, folder: str) -> None:
    for part in ("config", "state", "state/private"):
        (tmp_path / part).mkdir(mode=0o700)
    (tmp_path / folder).chmod(0o750)
    done = secret_set(tmp_path, "key", CANARY)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"chmod 700" in done.stderr
    assert not (tmp_path / "config/secrets.json").exists()
    assert mode(tmp_path / folder) == 0o750


@pytest.mark.req("B-PERM-17")
def test_a_linked_secrets_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir(mode=0o700)
    real = tmp_path / "real.json"
    write_private(real, {})
    (tmp_path / "config/secrets.json").symlink_to(real)
    done = secret_set(tmp_path, "key", CANARY)
    assert done.returncode == 1
    assert b"symbolic link" in done.stderr
    assert real.read_text() == "{}"


def test_json_tells_where_the_value_lies(tmp_path: Path) -> None:
    written(tmp_path, config(a="keyring:key"))
    done = secret_set(tmp_path, "key", CANARY, "--json")
    assert json.loads(done.stdout) == {
        "name": "key",
        "reference": "file:key",
        "file": str(tmp_path / "config/secrets.json"),
        "references": 3,
        "moved": 2,
        "also_in_file": False,
    }
    ring = fake_keyring(tmp_path / "ring")
    done = secret_set(tmp_path, "key", CANARY, "--json", environment=ring)
    answer = json.loads(done.stdout)
    assert (answer["file"], answer["moved"], answer["references"]) == (None, 3, 3)
    assert answer["also_in_file"]


@pytest.mark.req("B-SECRET-45")
def test_each_place_that_was_referred_to_gets_the_new_value(tmp_path: Path) -> None:
    ring = fake_keyring(tmp_path / "ring")
    written(tmp_path, config())  # "file:key" of a connection, and no file yet
    done = secret_set(tmp_path, "key", b"first", environment=ring)
    assert done.returncode == 0, done.stderr
    assert kept(tmp_path) == {"key": "first"}
    assert held(tmp_path / "ring") == {"open-conduit/key": "first"}
    # Another config of the folder may still name what this one no longer does.
    done = secret_set(tmp_path, "key", CANARY, environment=ring)
    assert done.returncode == 0, done.stderr
    assert kept(tmp_path) == {"key": CANARY.decode()}
    assert b"has the new value too" in done.stdout
    done = secret_set(tmp_path, "other", CANARY, environment=ring)
    assert b"has the new value too" not in done.stdout
    assert kept(tmp_path) == {"key": CANARY.decode()}


@pytest.mark.parametrize(
    "reference", [f"cmd:echo {CANARY.decode()}", "env:CANARY", "file:canary"]
)
def test_a_reference_of_the_operator_is_not_replaced(
    tmp_path: Path, reference: str
) -> None:
    file = written(tmp_path, config(mine=reference))
    before = file.read_bytes()
    done = secret_set(tmp_path, "mine", b"value", "--scope", "home")
    assert (done.returncode, done.stdout) == (1, b"")
    assert reference.partition(":")[0].encode() + b":" in done.stderr
    assert b"config unset scopes/home/secret_refs/mine" in done.stderr
    assert b"canary" not in done.stderr.lower()
    assert not (tmp_path / "config/secrets.json").exists()
    assert file.read_bytes() == before
    # One that a value of this name is stored for is led to where it lies.
    done = secret_set(tmp_path, "key", b"value", "--scope", "work")
    assert done.returncode == 0, done.stderr


@pytest.mark.req("B-PERM-03")
def test_the_service_that_is_told_is_the_one_of_the_data_dir(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        assert secret_set(tmp_path, "key", CANARY).returncode == 0
    finally:
        os.umask(old)
    file = tmp_path / "state/private/secrets.revision"
    assert (mode(file), mode(file.parent), mode(tmp_path / "state")) == (
        *(0o600, 0o700, 0o700),
    )
    first = file.read_bytes()
    assert secret_set(tmp_path, "key", CANARY).returncode == 0
    assert file.read_bytes() != first
    assert list(found_in(tmp_path / "state", [CANARY, b"key"])) == []


def test_without_any_input_nothing_is_stored(tmp_path: Path) -> None:
    config_file = str(tmp_path / "config/config.json")
    done = subprocess.run(
        [*PROGRAM, "--config", config_file, "secret", "set", "key"],
        env=variables(NO_KEYRING | {"OPEN_CONDUIT_DATA_DIR": str(tmp_path / "state")}),
        preexec_fn=lambda: os.close(0),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"nothing was stored" in done.stderr
