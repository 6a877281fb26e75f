"""Follows each page as its reader would: the commands in their order, to their end.

``tests/support/pages.py`` says which commands are meant, and who runs the others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.pages import blocks_of
from tests.support.reader import Following, Reader, following, reading

pytestmark = pytest.mark.skipif(os.geteuid() == 0, reason="no reader is root")

AGENT = '#!/bin/sh\nwords=$(wc -w)\necho "You sent $words words."\n'
PATH = 'PATH="$PWD/.venv/bin:$PATH"'
CONFIG = ".config/open-conduit/config.json"
SECRETS = ".config/open-conduit/secrets.json"


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with reading(tmp_path) as it:
        yield it


@pytest.fixture
def settled(reader: Reader) -> Reader:
    """A reader who has been through the page on ``init``."""
    reader.write("agent.sh", AGENT).chmod(0o755)
    reader.run(f"{PATH}\nopen-conduit init --yes --engine ./agent.sh")
    return reader


def secret(reader: Reader, name: str) -> str:
    value: str = json.loads((reader.home / SECRETS).read_text("utf-8"))[name]
    return value


def config(reader: Reader) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((reader.home / CONFIG).read_text("utf-8"))
    return found


def executor(reader: Reader) -> str:
    found: str = config(reader)["scopes"][0]["bindings"][0]["executor"]
    return found


def start_anew(reader: Reader) -> None:
    reader.end()
    reader.run("rm -f ~/.config/open-conduit/*.json")


def test_the_readme(reader: Reader) -> None:
    with following(reader, "README.md") as page:
        page.do()
        models, status, answer = page.do().splitlines()
        assert '"object": "list"' in models or '"object":"list"' in models
        assert status == "401"
        assert json.loads(answer)["choices"][0]["message"]["content"] == "pong"
        said = page.do()
        assert "hello.txt" in said
        assert said.endswith("hello\n")
        reader.end()
        assert "ready" in page.do()


def test_init(reader: Reader) -> None:
    with following(reader, "docs/howto/init.md") as page:
        page.do()
        assert "ready" in page.do(typed="")
        assert "is valid" in page.do() or config(reader)


def test_the_config_by_hand(reader: Reader) -> None:
    with following(reader, "docs/howto/own-engine.md") as page:
        page.do()
        page.do()
        reader.run(f"cd {reader.checkout}")
        page.do()
        assert "You sent 3 words." in page.do()


def test_files(reader: Reader) -> None:
    before = Following(reader, "docs/howto/own-engine.md", "")
    before.do()
    before.do()
    reader.run(f"cd {reader.checkout}")
    with following(reader, "docs/howto/files.md") as page:
        page.do()
        page.do()
        add_the_lane(reader)
        reader.run(f"cd {reader.checkout}\n.venv/bin/open-conduit serve")
        said = page.do()
        assert "hello.txt</" in said
        assert "\nhello\n" in said
    with following(reader, "docs/howto/hand-files-back.md") as page:
        said = page.do()
        assert "You sent" in said
        assert said.splitlines()[-1].strip().isdecimal()


def add_the_lane(reader: Reader) -> None:
    """Change the three places of the config that the page names."""
    (entry,) = [
        json.loads(reader.own(block.text).replace("/home/me", str(reader.home)))
        for block in blocks_of("docs/howto/files.md")
        if block.language == "json"
    ]
    changed = config(reader)
    (scope,) = changed["scopes"]
    scope["secret_refs"]["files_password"] = "file:files_password"
    del scope["bindings"][0]["config"]["cwd"]
    scope["extensions"].append(entry)
    (reader.home / CONFIG).write_text(json.dumps(changed), "utf-8")


def test_configure(settled: Reader) -> None:
    with following(settled, "docs/howto/configure.md") as page:
        page.do()
        start_anew(settled)
        settled.write("~/agent/agent.sh", AGENT).chmod(0o755)
        page.do()


def test_a_local_model_server(reader: Reader) -> None:
    with following(reader, "docs/howto/local-model.md") as page:
        reader.run(PATH)
        page.do()
        page.do()
        assert "ready" in page.do()


def test_secrets(settled: Reader) -> None:
    with following(settled, "docs/howto/secrets.md") as page:
        page.do()
        settled.write("key.pem", "made up\n")
        page.do()
        settled.run("open-conduit serve")
        assert page.do(typed=secret(settled, "chat_token")).endswith("200\n")


def test_engines(reader: Reader) -> None:
    reader.write("~/bin/claude", "#!/bin/sh\necho 2.0.0\n").chmod(0o755)
    reader.write("~/bin/agent.sh", AGENT).chmod(0o755)
    reader.run(f'{PATH}\nPATH="$HOME/bin:$PATH"')
    with following(reader, "docs/howto/engines.md") as page:
        page.do(typed="\n")
        assert executor(reader) == "claude_code"
        start_anew(reader)
        reader.run("open-conduit init --yes --engine agent.sh")
        page.do()
        assert executor(reader) == "claude_code"
        page.do()


def test_operating(settled: Reader) -> None:
    settled.run("open-conduit serve")
    before = secret(settled, "chat_token")
    with following(settled, "docs/howto/operate.md") as page:
        page.do()
        page.do()
        assert config(settled)["settings"]["concurrency"] == 2
        page.do()
    assert secret(settled, "chat_token") != before


def test_upgraded(settled: Reader) -> None:
    settled.run("open-conduit serve")
    with following(settled, "docs/howto/upgrade.md") as page:
        assert "version" in page.do()


def test_a_backup(settled: Reader) -> None:
    (settled.home / "Conduck/kept.txt").write_text("kept\n")
    before = config(settled), secret(settled, "chat_token")
    with following(settled, "docs/howto/back-up.md") as page:
        page.do()
        settled.run("rm -r ~/.config/open-conduit ~/Conduck")
        page.do()
        assert (config(settled), secret(settled, "chat_token")) == before
        assert (settled.home / "Conduck/kept.txt").read_text() == "kept\n"
        page.do()
        settled.run("open-conduit config set settings/concurrency 2")
        page.do()
        assert "settings" not in config(settled)


def test_installing_a_clone(reader: Reader) -> None:
    with following(reader, "docs/howto/install.md") as page:
        assert "version" in page.do()


@pytest.mark.slow
def test_doctor(reader: Reader) -> None:
    reader.run("make run")
    folder = reader.checkout / "conduck-demo"
    reader.run(
        f"{PATH}\nexport OPEN_CONDUIT_CONFIG={folder}/config/config.json "
        f"OPEN_CONDUIT_DATA_DIR={folder}/state"
    )
    with following(reader, "docs/howto/doctor.md") as page:
        page.do()
        assert page.do().count("failed=0 exit=0") == 3


def test_a_new_token_and_password(settled: Reader) -> None:
    before = secret(settled, "chat_token")
    with following(settled, "docs/howto/pair.md") as page:
        page.do()
    assert secret(settled, "chat_token") != before


def test_confine(settled: Reader) -> None:
    with following(settled, "docs/howto/confine.md") as page:
        page.do()
    assert (settled.home / "canary").exists()
