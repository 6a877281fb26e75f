"""Programs of ``cmd:`` references, which are looked for and never run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.build import check, document, scope
from tests.support.commands import run, written


@pytest.mark.req("B-SECRET-21")
def test_a_program_that_is_not_there_is_a_warning(tmp_path: Path) -> None:
    refs = {"key": "cmd:nosuchprogram canary", "other": "cmd:cat /dev/null"}
    config = written(tmp_path, document(scope(secret_refs=refs)))
    done = run("config", "check", str(config))
    assert done.returncode == 0
    assert "warning: scopes/0/secret_refs/key: program_not_found" in done.stderr
    assert "/opt/homebrew/bin" in done.stderr  # the folders that are searched
    assert "scopes/0/secret_refs/other" not in done.stderr
    assert "canary" not in done.stderr + done.stdout


@pytest.mark.parametrize(
    "command",
    [
        "cat x",
        "/bin/cat x",
        "A=b cat x",
        "printf x",
        "test -f x && cat x",
        "$HOME/bin/key",
        "(cat x)",
        "'unclosed",
        "# nothing",
    ],
)
def test_what_is_there_or_cannot_be_told_is_no_warning(command: str) -> None:
    _, problems = check(document(scope(secret_refs={"key": f"cmd:{command}"})))
    assert problems == []


@pytest.mark.parametrize("command", ["nosuch", "A=b nosuch x", "/no/such x"])
def test_what_is_not_there_is_told(command: str) -> None:
    found, problems = check(document(scope(secret_refs={"key": f"cmd:{command}"})))
    assert found is not None
    assert [item.code for item in problems] == ["program_not_found"]
