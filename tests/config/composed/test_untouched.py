"""What a check does not touch: network, secrets and processes (B-VALID)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.config.composed.desk import Desk, bell, binding, home, route
from tests.secrets.keyrings import calls, fake_keyring
from tests.support.commands import run, written
from tests.support.sample_package import SOURCE

WATCH = """
import os, sys

def _watch(event, arguments):
    if event in {
        "socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto",
        "subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty",
        "os.posix_spawn", "os.spawn", "pty.spawn",
    }:
        with open(os.environ["WATCHED"], "a") as file:
            file.write(event + "\\n")
        raise RuntimeError("blocked: " + event)

sys.addaudithook(_watch)
"""


def secretive(root: Path, *faults: str) -> dict[str, Any]:
    """Return a config with a secret of every form, for each kind of consumer."""
    refs = {
        "key": "keyring:main",
        "ran": f"cmd:touch {root / 'ran'}; echo x",
        "kept": "file:nowhere",
        "shown": "env:NOT_SET",
    }
    value = home(
        binding(secret_names=list(refs)),
        binding("engine", "command", config={"argv": ["sh"], "cwd": "../folder"}),
        binding("dialer", "dialing", connection="account"),
        secret_refs=refs,
        extensions=[bell("door", "home", "ran"), bell("gate", "home")],
        authorization={"connections": ["account"]},
        routes=[route()],
    )
    value["connections"] = [
        {
            "id": "account",
            "type": "account",
            "secret_refs": {"token": f"cmd:touch {root / 'ran'}"},
        },
        {
            "id": "server",
            "type": "openai_http",
            "config": {"base_url": "http://127.0.0.1:1/v1"},
        },
    ]
    for fault in faults:
        value["scopes"][0]["bindings"][0][fault] = True
    return value


@pytest.mark.req("B-VALID-01", "B-VALID-02", "B-VALID-03")
@pytest.mark.parametrize("faults", [(), ("config", "zzz")])
def test_a_check_uses_no_network_no_secret_and_no_process(
    faults: tuple[str, ...], desk: Desk
) -> None:
    (desk.root / "config").mkdir(mode=0o700)
    file = written(desk.root, secretive(desk.root, *faults))
    hook = desk.root / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(WATCH, encoding="utf-8")
    keyring = fake_keyring(desk.root / "keyring", main="secret")
    path = f"{desk.environment['PYTHONPATH']}:{keyring['PYTHONPATH']}"
    free = keyring | {"PYTHONPATH": path}
    watched = free | {
        "PYTHONPATH": f"{hook}:{path}",
        "WATCHED": str(desk.root / "watched"),
    }
    form = ("--json",) if faults else ()
    first, second = (
        run("config", "check", str(file), *form, environment=environment)
        for environment in (free, watched)
    )
    assert first.returncode == (1 if faults else 0)
    assert (first.returncode, first.stdout, first.stderr) == (
        second.returncode,
        second.stdout,
        second.stderr,
    )
    assert not (desk.root / "watched").exists()  # B-VALID-01, B-VALID-03
    assert not (desk.root / "ran").exists()  # B-VALID-02
    assert calls(desk.root / "keyring") == []  # B-VALID-02


@pytest.mark.req("B-VALID-01", "B-VALID-03")
def test_what_watches_the_check_would_see_a_socket_and_a_process(
    desk: Desk,
) -> None:
    """The hook of the test above works, within a package that a check loads."""
    hook = desk.root / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(WATCH, encoding="utf-8")
    source = desk.root / "site" / "conduck_sample" / "__init__.py"
    for line in (
        "import subprocess; subprocess.run(['true'])",
        "import socket; socket.create_connection(('127.0.0.1', 9))",
    ):
        text = (SOURCE / "conduck_sample" / "__init__.py").read_text("utf-8")
        future = "from __future__ import annotations\n"
        source.write_text(text.replace(future, f"{future}{line}\n"), encoding="utf-8")
        status, rows = desk.run(
            home(),
            environment={
                "PYTHONPATH": f"{hook}:{desk.environment['PYTHONPATH']}",
                "WATCHED": str(desk.root / "watched"),
            },
        )
        assert status == 1
        assert rows[0]["path"] == "settings/extensions/sample"
        assert (desk.root / "watched").read_text().count("\n") == 1
        (desk.root / "watched").unlink()
