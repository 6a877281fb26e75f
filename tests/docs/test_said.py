"""What the pages have to say, they say."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from conduck_service.cli.main import group
from tests.support.trace import ROOT


def section(page: str, heading: str) -> str:
    """Return what stands below a heading, with every space as one blank."""
    text = (ROOT / page).read_text(encoding="utf-8")
    pattern = rf"(?ms)^(#+) {re.escape(heading)}$(.*?)(?=^#{{1,2}} |\Z)"
    found = re.search(pattern, text)
    assert found is not None, f"{page}: {heading}"
    return " ".join(found[2].split())


def commands(
    command: click.Command = group, name: str = "open-conduit"
) -> Iterator[str]:
    """Yield every command that is no group, as it is called."""
    if not isinstance(command, click.Group):
        yield name
        return
    context = click.Context(command)
    for word in command.list_commands(context):
        inner = command.get_command(context, word)
        assert inner is not None
        yield from commands(inner, f"{name} {word}")


@pytest.mark.req("P-07")
def test_every_command_is_in_the_reference() -> None:
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    assert [name for name in commands() if f"`{name}" not in page] == []


@pytest.mark.req("P-30")
def test_conducks_own_tool() -> None:
    said = section("docs/howto/pair.md", "With Conduck's own tool")
    for word in ("--emit-code", "--setup", "http://127.0.0.1:8480", "--files-url"):
        assert word in said
    assert 'CONDUCK_TOKEN="$TOKEN" CONDUCK_FILES_PASS="$PASSWORD"' in said


@pytest.mark.req("P-31")
@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_contract_and_its_revision(page: str) -> None:
    words = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert re.search(
        r"Conduck Adapter Contract v1 ?,? \(?document revision 1\.10", words
    )


@pytest.mark.req("P-32")
def test_what_chat_text_can_read() -> None:
    said = section("docs/explanation/security.md", "What is not protected")
    assert "replace `@path` in a message with a file's content" in said
    assert "lets chat text read whatever the engine can read" in said
    of_engines = section("docs/howto/engines.md", "3. What it may do")
    assert "chat text can read the files of the working folder" in of_engines


@pytest.mark.req("P-34")
def test_one_user_or_two_of_a_group() -> None:
    said = section("docs/howto/files.md", "1. A folder")
    assert "**One user.**" in said
    assert "**Two users of one group.**" in said
    for word in ("chmod 2770", "usermod -aG conduck", "umask"):
        assert word in said


@pytest.mark.req("P-40")
def test_whose_login_the_engine_has() -> None:
    said = section("docs/howto/service.md", "The machine's service")
    assert "Your engine has your logins" in said
    assert "sudo open-conduit service run-as" in said
    assert "It has none of your logins either, so give it keys" in said
