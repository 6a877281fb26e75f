"""What an executor is given, and what is left of an attempt: nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conduck_service.domain.execution import (
    FailureCode,
    Finish,
    OutcomeKind,
    Usage,
)
from conduck_service.domain.scope import Scope
from conduck_service.extension.executor import (
    Completed,
    ExecutionContext,
    Failed,
    RunResult,
)
from conduck_service.runtime.attempts import outcome_of
from tests.support.core import core_bench, scope_of

SECRET = "opensesame-1234"


def pong(_context: ExecutionContext) -> RunResult:
    return Completed(answer="the answer itself")


def scope_with(folder: Path, **more: Any) -> Scope:
    """Return a scope whose one binding has these fields."""
    scope = scope_of(folder, secret_refs={"key": "env:KEY", "lost": "env:LOST"})
    (binding,) = scope.bindings
    return replace(scope, bindings=(replace(binding, **more),))


def test_only_the_secrets_of_the_binding_are_resolved(tmp_path: Path) -> None:
    scope = scope_with(tmp_path, secret_names=("key",))
    bench = core_bench(tmp_path, pong, scope=scope, environment={"KEY": SECRET})
    bench.turns.run(bench.request())
    (context,) = bench.executor.contexts
    assert context.secrets == {"key": SECRET}
    assert SECRET not in repr(context)


def test_a_secret_that_is_missing_fails_the_attempt_before_the_engine(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "conduck_service.runtime.attempts")
    scope = scope_with(tmp_path, secret_names=("key", "lost"))
    bench = core_bench(tmp_path, pong, scope=scope, environment={"KEY": SECRET})
    with pytest.raises(Exception, match="a secret of the engine is not available"):
        bench.turns.run(bench.request())
    assert bench.executor.contexts == []
    # The operator is told which one, and nobody is told its reference or value.
    assert "secret lost" in caplog.text
    assert "LOST" not in caplog.text
    assert SECRET not in caplog.text


def test_only_the_variables_that_the_binding_passes_are_given(tmp_path: Path) -> None:
    scope = scope_with(tmp_path, pass_env=("WANTED", "ABSENT"))
    variables = {"WANTED": "1", "OTHER": "2"}
    bench = core_bench(tmp_path, pong, scope=scope, environment=variables)
    bench.turns.run(bench.request())
    assert bench.executor.contexts[0].host_env == {"WANTED": "1"}


@pytest.mark.req("C-CONC-12")
def test_no_two_attempts_share_a_folder_or_a_marker(tmp_path: Path) -> None:
    folders: list[Path] = []

    def behaviour(context: ExecutionContext) -> RunResult:
        folders.append(context.scratch(None))
        return Completed(answer="x")

    bench = core_bench(tmp_path, behaviour)
    for _ in range(3):
        bench.turns.run(bench.request())
    markers = {context.marker for context in bench.executor.contexts}
    assert len(set(folders)) == 3
    assert len(markers) == 3
    assert {name for name, _ in markers} == {"CONDUCK_EXECUTION"}
    assert all(value.startswith("instance_x.") for _, value in markers)
    assert [folder for folder in folders if folder.exists()] == []


def test_the_folder_is_the_bindings_own_or_the_scopes(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    bindings = {"own": {"folder": tmp_path / "link"}, "lane": {}}
    bench = core_bench(tmp_path, pong, scope=scope_of(tmp_path, bindings))
    for model in bindings:
        bench.turns.run(bench.request(model))
    own, lane = bench.executor.contexts
    assert own.folder == (tmp_path / "real").resolve()
    assert lane.folder == tmp_path.resolve()


def test_a_folder_that_links_to_itself_is_left_to_the_executor(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    bindings = {"agent": {"folder": tmp_path / "loop"}}
    bench = core_bench(tmp_path, pong, scope=scope_of(tmp_path, bindings))
    assert bench.turns.run(bench.request()).answer == "the answer itself"


def test_the_log_of_an_attempt_has_its_end_and_nothing_of_its_content(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    results: list[RunResult] = [
        Failed(FailureCode.EXIT, "exit status 3"),
        Completed(answer="the answer itself"),
    ]
    bench = core_bench(tmp_path, lambda _context: results.pop())
    bench.turns.run(bench.request())
    with pytest.raises(Exception, match="error status"):
        bench.turns.run(bench.request())
    assert "completed" in caplog.messages
    assert "exit (exit status 3)" in caplog.messages
    assert "the answer itself" not in caplog.text


def test_an_outcome_holds_no_content() -> None:
    usage = Usage(total_tokens=3)
    done = outcome_of(Completed(answer="x", usage=usage, finish=Finish.LENGTH))
    assert (done.kind, done.usage, done.finish) == (
        OutcomeKind.COMPLETED,
        usage,
        Finish.LENGTH,
    )
    for code in FailureCode:
        is_cancelled = code in (FailureCode.CLIENT_GONE, FailureCode.OVERLOADED)
        wanted = OutcomeKind.CANCELLED if is_cancelled else OutcomeKind.FAILED
        assert outcome_of(Failed(code, "detail")).kind is wanted
        assert outcome_of(Failed(code, "detail")).code is code
