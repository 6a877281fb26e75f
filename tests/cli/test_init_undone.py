"""Setting up that is broken off at any call leaves nothing, or a whole setup."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conduck_service.base.diagnostics import Diagnostic
from conduck_service.cli.init.document import SECRETS, Plan
from conduck_service.cli.init.engine import Engine
from conduck_service.cli.init.setup import SetupError, set_up
from tests.secrets.keyrings import NO_KEYRING, calls, fake_keyring, held
from tests.support.commands import tree
from tests.support.service import variables

req = pytest.mark.req


def nothing_wrong(_text: str) -> list[Diagnostic]:
    return []


def judging(
    verdicts: Iterator[list[Diagnostic]],
) -> Callable[[str], list[Diagnostic]]:
    return lambda _text: next(verdicts, [])


def plan(root: Path) -> Plan:
    engine = Engine(
        executor="command",
        label="agent",
        program=Path("/bin/cat"),
        config={"argv": ["/bin/cat"]},
    )
    return Plan(engine=engine, folder=root / "Conduck", chat_port=8480, files_port=8481)


def in_child(action: Callable[[], None]) -> int:
    """Run an action in a child; return 0 when it ended, 1 when it was broken off."""
    child = os.fork()
    if not child:
        status = 2
        try:
            action()
            status = 0
        except KeyboardInterrupt:
            status = 1
        finally:
            os._exit(status)
    waited = os.waitpid(child, 0)[1]
    return -os.WTERMSIG(waited) if os.WIFSIGNALED(waited) else os.WEXITSTATUS(waited)


def broken_off(root: Path, name: str, count: int, number: int) -> int:
    """Set up in a child that gets a signal at a call of ``os``; return its status."""

    def action() -> None:
        real, seen = getattr(os, name), iter(range(1_000))

        def signalled(*words: Any, **options: Any) -> Any:
            result = real(*words, **options)
            if next(seen) == count:
                os.kill(os.getpid(), number)
            return result

        setattr(os, name, signalled)
        path = root / "config" / "config.json"
        set_up(plan(root), path, variables(NO_KEYRING), nothing_wrong)

    return in_child(action)


@req("B-CLI-31")
@pytest.mark.parametrize("name", ["mkdir", "replace"])
def test_a_setup_that_is_broken_off_leaves_nothing(tmp_path: Path, name: str) -> None:
    count = 0
    while (
        status := broken_off(
            tmp_path, name, count, (signal.SIGINT, signal.SIGTERM)[count % 2]
        )
    ) == 1:
        assert tree(tmp_path) == {}, (name, count)
        count += 1
    assert status == 0
    assert count >= 2
    assert (tmp_path / "config" / "config.json").exists()


@req("B-CLI-31")
def test_a_setup_that_is_killed_has_a_config_only_with_its_secrets(
    tmp_path: Path,
) -> None:
    count, found = 0, []
    while True:
        root = tmp_path / str(count)
        root.mkdir()
        if broken_off(root, "replace", count, signal.SIGKILL) == 0:
            break
        if (root / "config" / "config.json").exists():
            kept = json.loads((root / "config" / "secrets.json").read_text())
            assert set(kept) == set(SECRETS)
            assert (root / "Conduck").is_dir()
            found.append(count)
        count += 1
    assert found == [count - 1]  # the config is the last


@req("B-CLI-31")
def test_a_refused_setup_takes_its_secrets_out_of_the_keyring(tmp_path: Path) -> None:
    ring = tmp_path / "ring"
    environment = variables(fake_keyring(ring))
    verdicts = iter([False, True])

    def at_last_wrong(_text: str) -> list[Diagnostic]:
        if next(verdicts):
            return [Diagnostic(pointer=(), code="c", message="m", remedy="r")]
        return []

    root = tmp_path / "root"
    root.mkdir()
    with pytest.raises(SetupError):
        set_up(plan(root), root / "config/config.json", environment, at_last_wrong)
    assert any(call.startswith("set ") for call in calls(ring))
    assert held(ring) == {}
    assert tree(root) == {}


@req("B-CLI-31")
def test_a_failed_setup_keeps_what_others_wrote_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "config" / "config.json"
    path.parent.mkdir(mode=0o700)

    def slow(_text: str) -> list[Diagnostic]:
        if (path.parent / "secrets.json").exists():
            path.write_text("{}")  # an editor that knows of no lock
            path.chmod(0o600)
        return []

    with pytest.raises(Exception, match="config_exists"):
        set_up(plan(tmp_path), path, variables(NO_KEYRING), slow)
    assert path.read_text() == "{}"
    assert not (tmp_path / "Conduck").exists()


@req("B-CLI-31")
def test_a_keyring_that_opens_late_keeps_what_it_held(tmp_path: Path) -> None:
    ring = tmp_path / "ring"
    before = {f"open-conduit/{name}": "mine" for name in SECRETS}
    values = dict.fromkeys(SECRETS, "mine")
    environment = variables(fake_keyring(ring, "refuses", **values))

    def unlocks(_text: str) -> list[Diagnostic]:
        (ring / "unlocked").touch()
        return []

    root = tmp_path / "root"
    root.mkdir()
    with pytest.raises(SetupError, match=r"kept already \(keyring:"):
        set_up(plan(root), root / "config/config.json", environment, unlocks)
    assert held(ring) == before
    assert tree(root) == {}


@req("B-CLI-31")
def test_a_refused_setup_forgets_its_own_values_only(tmp_path: Path) -> None:
    ring, root = tmp_path / "ring", tmp_path / "root"
    root.mkdir()
    environment = variables(fake_keyring(ring))
    other = f"open-conduit/{SECRETS[-1]}"
    verdicts = iter([False, True])

    def at_last_wrong(_text: str) -> list[Diagnostic]:
        if not next(verdicts):
            return []
        file = ring / "keyring.json"  # somebody stores another one meanwhile
        file.write_text(json.dumps(held(ring) | {other: "theirs"}))
        return [Diagnostic(pointer=(), code="c", message="m", remedy="r")]

    with pytest.raises(SetupError):
        set_up(plan(root), root / "config/config.json", environment, at_last_wrong)
    assert held(ring) == {other: "theirs"}


def test_signals_are_as_before_when_it_is_over(tmp_path: Path) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    assert signal.SIG_IGN not in before
    wrong = [Diagnostic(pointer=(), code="c", message="m", remedy="r")]
    for found in (wrong, []):
        # The second verdict is about the whole config.
        verdicts = iter([[], found])
        path = tmp_path / "config/config.json"
        with contextlib.suppress(SetupError):
            set_up(plan(tmp_path), path, variables(NO_KEYRING), judging(verdicts))
        assert path.exists() is (found == [])
        assert [signal.getsignal(number) for number in numbers] == before
