"""Secrets of a running daemon: who gets which, and what a write changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import requests

from tests.secrets.fake_keyring import CANARY
from tests.secrets.keyrings import NO_KEYRING, calls, fake_keyring, held, secret_set
from tests.support.commands import run
from tests.support.documents import document
from tests.support.service import (
    PASSWORD,
    TOKEN,
    Service,
    binding,
    free_port,
    prepared,
    running,
    started,
    stub,
    wait_until,
)

OLD, NEW = "old-value-0123456789", "new-value-9876543210"


def lane_status(service: Service, password: str) -> int:
    address = f"http://127.0.0.1:{service.files_port}/"
    answer = requests.request(
        "PROPFIND",
        address,
        auth=("conduck", password),
        headers={"Depth": "0"},
        timeout=30,
    )
    return answer.status_code


def models_status(service: Service, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return service.models(headers=headers).status_code


@pytest.mark.req(
    "B-SECRET-01", "B-SECRET-02", "B-SECRET-03", "B-SECRET-04", "B-CLI-17", "B-ENV-24"
)
def test_each_form_reaches_the_consumer_that_refers_to_it(tmp_path: Path) -> None:
    references = {
        "chat_token": "keyring:chat_token",
        "from_keyring": "keyring:stored",
        "from_file": "file:stored",
        "from_env": "env:ENGINE_KEY",
        "from_cmd": "cmd:printf 'of a command\\n'",
        "unmapped": "env:ENGINE_KEY",
    }
    wanted = {name.upper(): name for name in references if name.startswith("from")}
    ring = fake_keyring(tmp_path / "ring", chat_token=TOKEN, stored="of the keyring")
    with running(
        tmp_path,
        stub(tmp_path, ["print", "hello"]),
        secret_refs=references,
        secrets={"stored": "of the file"},
        environment={**ring, "ENGINE_KEY": "of a variable"},
        secret_names=[*wanted.values(), "unmapped"],
        secret_env=wanted,
    ) as service:
        checked = run("config", "check", str(service.root / "config/config.json"))
        assert checked.returncode == 0, checked.stderr
        assert service.chat("hi") == "hello"  # the token came from the keyring
    environment = stub(tmp_path).only["environment"]
    assert {name: environment[name] for name in wanted} == {
        "FROM_KEYRING": "of the keyring",
        "FROM_FILE": "of the file",
        "FROM_ENV": "of a variable",
        "FROM_CMD": "of a command",
    }
    assert not {"unmapped", "UNMAPPED", "ENGINE_KEY"} & environment.keys()


@pytest.mark.req("B-SECRET-28", "B-SECRET-29", "B-SECRET-31")
def test_each_consumer_asks_for_its_own_secrets_alone(tmp_path: Path) -> None:
    names = ("chat_token", "for_engine", "for_nobody")
    ring = tmp_path / "ring"
    values = dict.fromkeys(names, TOKEN)
    with running(
        tmp_path,
        stub(tmp_path, ["print", "hello"]),
        secret_refs={name: f"keyring:{name}" for name in names}
        | {"broken": "cmd:exit 1"},
        environment=fake_keyring(ring, **values),
        secret_names=["for_engine"],
    ) as service:
        assert calls(ring) == ["get open-conduit chat_token"]  # B-SECRET-29
        service.chat("hi")
        service.chat("hi")
        for_the_engine = ["get open-conduit for_engine"] * 2
        assert calls(ring)[1:] == for_the_engine  # B-SECRET-31, B-SECRET-28


@pytest.mark.req("B-SECRET-35", "B-SECRET-36", "B-SECRET-26")
@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("cmd:echo canary; echo canary >&2; exit 1", "command_failed"),
        ("cmd:nosuch canary", "command_not_found"),
        ("keyring:chat_token", "keyring_unavailable"),
        ("env:CANARY_GONE", "secret_missing"),
        ("file:canary_gone", "secret_missing"),
    ],
)
def test_without_its_token_a_listener_lets_nobody_in(
    tmp_path: Path, reference: str, code: str
) -> None:
    with running(
        tmp_path,
        stub(tmp_path, ["print", "hello"]),
        secret_refs={"chat_token": reference},
        environment=NO_KEYRING,
    ) as service:
        for token in (TOKEN, "", "None", reference):
            assert models_status(service, token) == 401
        assert f"secret chat_token: {code}" in service.log
        assert service.log.count("a secret is not available") == 1
        (line,) = [x for x in service.log.splitlines() if "not available" in x]
        assert line.endswith(" scope=home entry=chat")
    assert "canary" not in service.log.lower()


@pytest.mark.req("B-SECRET-35", "B-SECRET-50")
def test_a_secret_that_fails_blocks_its_engine_and_no_other(tmp_path: Path) -> None:
    good = stub(tmp_path, ["print", "hello"])
    with running(
        tmp_path,
        bindings={
            "good": binding(good, name="good"),
            "bad": binding(good, name="bad", secret_names=["key"]),
        },
        secret_refs={"key": "keyring:key"},
        environment=fake_keyring(tmp_path / "ring", "broken"),
    ) as service:
        answer = service.turn({"role": "user", "content": "hi"}, model="bad")
        assert answer.status_code == 502
        assert CANARY not in answer.text
        assert service.chat("hi", model="good") == "hello"
        assert "secret key: keyring_unavailable" in service.log
    assert CANARY not in service.log


@pytest.mark.req("B-SECRET-45", "B-SECRET-54")
def test_a_write_is_noticed_by_running_listeners(tmp_path: Path) -> None:
    with running(
        tmp_path, stub(tmp_path, ["print", "hello"]), files={"port": free_port()}
    ) as service:
        assert models_status(service, TOKEN) == 200
        assert lane_status(service, PASSWORD) == 207
        for name in ("chat_token", "files_password"):
            done = secret_set(tmp_path, name, NEW.encode() + b"\n")
            assert done.returncode == 0, done.stderr
        assert models_status(service, TOKEN) == 401
        assert models_status(service, NEW) == 200
        assert lane_status(service, PASSWORD) == 401
        assert lane_status(service, NEW) == 207
    assert NEW not in service.log


@pytest.mark.req("B-SECRET-36")
def test_a_value_that_is_gone_after_a_write_lets_nobody_in(tmp_path: Path) -> None:
    with running(tmp_path, stub(tmp_path, ["print", "hello"])) as service:
        secrets = tmp_path / "config/secrets.json"
        secrets.write_text("{}")
        assert models_status(service, TOKEN) == 200  # nothing watches the file
        assert secret_set(tmp_path, "other", b"value").returncode == 0
        assert [models_status(service, TOKEN) for _ in range(3)] == [401] * 3
        assert service.log.count("secret chat_token: secret_missing") == 1
        assert secret_set(tmp_path, "chat_token", NEW.encode()).returncode == 0
        assert models_status(service, NEW) == 200


@pytest.mark.req("B-SECRET-45", "B-SECRET-54")
def test_a_value_that_moves_is_the_next_request_s_too(tmp_path: Path) -> None:
    ring = fake_keyring(tmp_path / "ring")
    with running(
        tmp_path, stub(tmp_path, ["print", "hello"]), environment=ring
    ) as service:
        assert models_status(service, TOKEN) == 200
        config = tmp_path / "config/config.json"
        other = config.with_name("other.json")
        other.write_bytes(config.read_bytes())
        done = secret_set(tmp_path, "chat_token", NEW.encode(), environment=ring)
        assert done.returncode == 0, done.stderr
        assert "keyring:chat_token" in config.read_text()
        assert models_status(service, TOKEN) == 401
        assert models_status(service, NEW) == 200
        assert b"restart" in done.stdout
        # As a service does that was started with another config of the folder.
        config.write_bytes(other.read_bytes())
        service.stop()
        service.start()
        assert [models_status(service, token) for token in (TOKEN, NEW)] == [401, 200]
    assert held(tmp_path / "ring") == {"open-conduit/chat_token": NEW}


@pytest.mark.req("B-SECRET-35", "B-SECRET-36")
def test_what_was_mended_is_noticed_without_a_restart(tmp_path: Path) -> None:
    config = document({"agent": binding(stub(tmp_path, ["print", "x"]))}, free_port())
    service = prepared(tmp_path, config)
    file = tmp_path / "config/secrets.json"
    file.chmod(0o644)
    with started(service):
        assert models_status(service, TOKEN) == 401
        assert "chmod 600 secrets.json" in service.log
        file.chmod(0o600)
        wait_until(lambda: models_status(service, TOKEN) == 200)
        assert service.log.count("a secret is not available") == 1
        assert str(tmp_path) not in "".join(
            line for line in service.log.splitlines() if "secret" in line
        )


@pytest.mark.req("B-SECRET-38", "B-SECRET-41")
def test_each_attempt_has_the_value_of_its_time(tmp_path: Path) -> None:
    variables: dict[str, Any] = {
        "secret_refs": {"key": "file:key"},
        "secrets": {"key": OLD},
        "secret_names": ["key"],
        "secret_env": {"ENGINE_KEY": "key"},
    }
    engine = stub(tmp_path, ["print", "hello"])
    with running(tmp_path, engine, **variables) as service:
        service.chat("hi")
        assert engine.only["environment"]["ENGINE_KEY"] == OLD
        engine.clear()
        assert secret_set(tmp_path, "key", NEW.encode()).returncode == 0
        service.chat("hi")
        assert engine.only["environment"]["ENGINE_KEY"] == NEW


@pytest.mark.req("B-SECRET-37")
def test_a_connections_credential_reaches_no_environment(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["print", "hello"])
    config = document({"agent": binding(engine)}, free_port())
    config["connections"] = [
        {
            "id": "desk",
            "type": "openai_http",
            "config": {"base_url": "http://127.0.0.1:9/v1"},
            "secret_refs": {"api_key": "env:DESK_KEY"},
        }
    ]
    (scope,) = config["scopes"]
    scope["authorization"] = {"connections": ["desk"]}
    scope["bindings"][0]["connection"] = "desk"
    service = prepared(tmp_path, config, environment={"DESK_KEY": OLD})
    with started(service):
        assert service.chat("hi") == "hello"
    environment = engine.only["environment"]
    assert OLD not in environment.values()
    assert "DESK_KEY" not in environment
