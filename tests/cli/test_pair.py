"""``open-conduit pair`` against a real service, and what it refuses."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.doctor.asking import places
from tests.support.commands import run
from tests.support.documents import document
from tests.support.fronts import front
from tests.support.lane import serving_files
from tests.support.qr import of_png, of_svg, payload, read_code
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
)

Done = subprocess.CompletedProcess[str]


def pair(service: Service, *options: str, **more: Any) -> Done:
    """Run the command; nothing that it prints beside a code may hold a secret."""
    done = run("pair", *places(service.root), *options, **more)
    assert "Traceback" not in done.stderr
    for secret in (TOKEN, PASSWORD):
        assert secret not in done.stdout + done.stderr
    return done


def refused(done: Done) -> list[tuple[str, str]]:
    """Return option and code of all that was refused, from ``--json``."""
    assert done.returncode == 1, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["ok"] is False
    assert all(item["message"] and item["remedy"] for item in answer["problems"])
    return [(item["option"], item["code"]) for item in answer["problems"]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving_files(tmp_path_factory.mktemp("pair")) as running_service:
        yield running_service


@pytest.fixture
def urls(service: Service) -> tuple[str, ...]:
    files = f"http://127.0.0.1:{service.files_port}"
    return ("--url", service.url, "--files-url", files)


def test_the_code_lets_in_whoever_has_it(
    service: Service, urls: tuple[str, ...]
) -> None:
    done = pair(service, *urls, "--text", "--name", "my agent")
    assert done.returncode == 0, done.stderr
    said = payload(done.stdout.strip())
    assert said["gateway"] == {
        "kind": "custom",
        "url": service.url,
        "auth": "bearer",
        "name": "my agent",
        "token": TOKEN,
    }
    assert said["fileServer"]["credential"] == PASSWORD
    assert "only an app on this very machine" in done.stderr
    assert list(service.folder.iterdir()) == []


def test_the_code_goes_only_where_it_was_asked_for(
    service: Service, urls: tuple[str, ...]
) -> None:
    # Output that is no terminal may be somebody's log.
    done = pair(service, *urls)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no_terminal" in done.stderr
    report = json.loads(pair(service, *urls, "--json").stdout)
    assert report["ok"]
    assert "setup_code" not in report
    assert {row["check"] for row in report["checks"]} == {
        "public.answer", "public.pass", "public.body", "public.methods",
    }  # fmt: skip
    asked = json.loads(pair(service, *urls, "--json", "--text", "--no-check").stdout)
    assert payload(asked["setup_code"])["gateway"]["token"] == TOKEN
    assert "conduck-setup" not in service.log


def test_pictures_are_their_owners_alone_and_never_written_over(
    service: Service, urls: tuple[str, ...], tmp_path: Path
) -> None:
    png, svg = tmp_path / "code.png", tmp_path / "code.svg"
    files = ("--png", str(png), "--svg", str(svg), "--no-check")
    old = os.umask(0)
    try:
        done = pair(service, *urls, *files)
    finally:
        os.umask(old)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    for path, pixels in ((png, of_png), (svg, of_svg)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert payload(read_code(pixels(path.read_bytes())))["v"] == 1
    svg.write_text("mine")
    again = pair(service, *urls, *files, "--json")
    assert refused(again) == [("--png", "file_there"), ("--svg", "file_there")]
    assert svg.read_text() == "mine"
    assert pair(service, *urls, *files, "--force").returncode == 0
    assert svg.read_text() != "mine"
    assert sorted(tmp_path.iterdir()) == [png, svg]


def test_a_picture_goes_through_no_link(service: Service, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    link = tmp_path / "code.png"
    link.symlink_to(mine)
    options = ("--url", service.url, "--no-check", "--png", str(link))
    assert refused(pair(service, *options, "--json")) == [("--png", "file_there")]
    assert pair(service, *options, "--force").returncode == 0
    assert mine.read_text() == "mine"
    assert not link.is_symlink()
    gone = ("--png", str(tmp_path / "nowhere/code.png"), "--json")
    found = refused(pair(service, "--url", service.url, "--no-check", *gone))
    assert found == [("--png", "file_not_written")]


def test_all_that_is_inadmissible_is_told_at_once(service: Service) -> None:
    options = ("--url", "http://nas", "--files-url", "http://a.example", "--name", " ")
    assert refused(pair(service, *options, "--json")) == [
        ("--url", "url_single_label"),
        ("--files-url", "url_not_private"),
        ("--name", "name_length"),
    ]
    words = pair(service, *options)
    assert words.stderr.count("→") == 3
    assert words.stdout == ""


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"refuses": 502}, "public_stale"),
        ({"refuses": 403}, "public_host_refused"),
        ({"refuses": 401}, "public_other_login"),
        ({"drops_authorization": True}, "public_login_lost"),
        ({"most_bytes": 1 << 20}, "public_body_limit"),
    ],
)
def test_a_front_that_is_wrong_gets_no_code(
    service: Service, options: dict[str, Any], code: str
) -> None:
    with front(service.port, **options) as address:
        done = pair(service, "--url", address, "--text", "--json")
        assert refused(done) == [("--url", code)]
        assert "conduck-setup" not in done.stdout
        anyway = pair(service, "--url", address, "--text", "--no-check")
    assert payload(anyway.stdout.strip())["gateway"]["url"] == address


def test_the_lanes_address_has_to_lead_to_the_lane(service: Service) -> None:
    options = ("--url", service.url, "--files-url", service.url, "--json")
    assert refused(pair(service, *options)) == [("--files-url", "public_other_login")]
    with front(service.files_port, refuses_method="PROPFIND") as address:
        options = ("--url", service.url, "--files-url", address, "--json")
        assert refused(pair(service, *options)) == [("--files-url", "public_methods")]


def test_what_the_config_has_not_is_refused(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["obey"])
    with running(tmp_path, engine) as service:
        url = ("--url", service.url, "--json")
        lane = ("--files-url", "https://files.example.org")
        assert refused(pair(service, *url, *lane)) == [("--files-url", "no_lane")]
        found = refused(pair(service, *url, "--model", "other"))
        assert found == [("--model", "model_unknown")]
        found = refused(pair(service, *url, "--scope", "nobody"))
        assert found == [("--scope", "no_chat")]
        (service.root / "config/secrets.json").write_text("{}")
        assert refused(pair(service, *url)) == [("", "secret_unavailable")]
        (service.root / "config/config.json").write_text("{}")
        assert refused(pair(service, *url)) == [("", "config_invalid")]


def test_several_models_and_a_turn(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["obey"])
    bindings = {name: binding(engine, name=name) for name in ("small", "large")}
    chat = {"default_model": "large"}
    with running(tmp_path, bindings=bindings, chat=chat) as service:
        url = ("--url", service.url, "--text")
        first = pair(service, *url)
        assert engine.records == []
        assert payload(first.stdout.strip())["gateway"]["model"] == "large"
        second = pair(service, *url, "--turn", "--model", "small")
        assert payload(second.stdout.strip())["gateway"]["model"] == "small"
        assert len(engine.records) == 1


def test_an_address_is_not_believed_while_the_service_is_down(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["obey"])
    with running(tmp_path, engine) as service:
        pass
    url = ("--url", "https://chat.example.org", "--text")
    assert refused(pair(service, *url, "--json")) == [("--url", "not_checked")]
    assert pair(service, *url, "--no-check").returncode == 0


def household(root: Path) -> Service:
    """Return a service of two scopes with chat and tokens of their own."""
    config = document({"agent": binding(stub(root, ["obey"]))}, free_port())
    first = config["scopes"][0]
    second = json.loads(json.dumps(first))
    second |= {"id": "ben", "name": "Ben", "secret_refs": {"chat_token": "file:ben"}}
    second["extensions"][0]["config"] |= {
        "namespace": "ben_chat",
        "scope": "ben",
        "port": free_port(),
    }
    config["scopes"].append(second)
    return prepared(root, config, secrets={"ben": "token-of-ben-12345678"})


def test_an_address_belongs_to_one_scope(tmp_path: Path) -> None:
    service = household(tmp_path)
    text = (tmp_path / "config/config.json").read_text()
    ports = [
        scope["extensions"][0]["config"]["port"] for scope in json.loads(text)["scopes"]
    ]
    with started(service):
        home, ben = (("--url", f"http://127.0.0.1:{port}") for port in ports)
        assert refused(pair(service, *home, "--json")) == [("--scope", "which_scope")]
        # Tokens differ, so one scope's address is no other's.
        wrong = pair(service, *home, "--scope", "ben", "--json")
        assert refused(wrong) == [("--url", "public_login_lost")]
        for url, scope, token in (
            (home, "home", TOKEN),
            (ben, "ben", "token-of-ben-12345678"),
        ):
            done = pair(service, *url, "--scope", scope, "--text")
            assert payload(done.stdout.strip())["gateway"]["token"] == token
