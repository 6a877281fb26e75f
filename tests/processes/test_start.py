"""How a program is started: with what, and how that fails."""

from __future__ import annotations

import json
import os
import resource
import stat
import sys
import threading
from pathlib import Path

import pytest

from conduck_service.base.processes import MARKER, Ended, LaunchError
from tests.support.misbehaving import Bench, python, shell

REPORT = """
import json, os, signal, sys
if os.path.isdir("/dev/fd"):
    listing = os.open("/dev/fd", os.O_RDONLY)
    opened = sorted(int(name) for name in os.listdir(listing))
    opened = [number for number in opened if number != listing]
    os.close(listing)
def opens(number):
    try:
        return bool(os.fstat(number))
    except OSError:
        return False
try:
    os.close(os.open("/dev/tty", os.O_RDWR))
    terminal = True
except OSError:
    terminal = False
os.umask(mask := os.umask(0))
print(json.dumps({
    "argv": sys.argv[1:],
    "environment": dict(os.environ),
    "folder": os.getcwd(),
    "umask": mask,
    "descriptors": [number for number in opened if opens(number)],
    "terminal": terminal,
    "stdin": sys.stdin.read(),
    "leads": os.getpid() == os.getsid(0) == os.getpgrp(),
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
}))
"""


def report(bench: Bench, *arguments: str, stdin: bytes = b"") -> dict[str, object]:
    run = bench.start(python(REPORT, *arguments), stdin)
    assert run.ended() == Ended(0)
    value: dict[str, object] = json.loads(run.output())
    return value


def test_a_good_program_ends_with_zero_and_all_its_output(bench: Bench) -> None:
    run = bench.start(shell("cat; echo hi"), b"prompt ")
    assert run.ended() == Ended(0)
    assert run.output() == "prompt hi\n"


@pytest.mark.parametrize("status", [1, 3, 127, 255])
def test_the_exit_status_is_told(bench: Bench, status: int) -> None:
    assert bench.start(shell(f"exit {status}")).ended() == Ended(status)


@pytest.mark.parametrize("name", ["SEGV", "KILL", "TERM", "PIPE"])
def test_the_signal_that_ended_it_is_told(bench: Bench, name: str) -> None:
    number = {"SEGV": 11, "KILL": 9, "TERM": 15, "PIPE": 13}[name]
    assert bench.start(shell(f"kill -{name} $$")).ended() == Ended(-number)


@pytest.mark.req("C-SEC-02")
def test_the_arguments_arrive_as_they_are_and_meet_no_shell(bench: Bench) -> None:
    words = ["$(touch made)", "a b", "", "*", "'\";&|", "ä\n\t\u2028", "-c"]
    assert report(bench, *words)["argv"] == words
    assert not (bench.folder / "made").exists()


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="reads /proc")
@pytest.mark.req("C-SEC-02")
def test_no_shell_stands_between_supervisor_and_program(bench: Bench) -> None:
    ask = "import os; print(open(f'/proc/{os.getppid()}/comm').read().strip())"
    run = bench.start(python(ask))
    assert run.ended() == Ended(0)
    own = Path("/proc/self/comm").read_text(encoding="utf-8").strip()
    program = Path(sys.executable)
    assert run.output().strip() in {own, program.name, program.resolve().name}


@pytest.mark.req("C-SEC-09")
def test_stdin_ends_with_the_prompt_and_there_is_no_terminal(bench: Bench) -> None:
    found = report(bench, stdin=b"prompt")
    assert found["stdin"] == "prompt"
    assert found["terminal"] is False


def test_it_leads_a_session_and_a_group_of_its_own(bench: Bench) -> None:
    assert report(bench)["leads"] is True


def test_it_has_three_descriptors(bench: Bench) -> None:
    extra = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(extra, True)
    try:
        assert report(bench)["descriptors"] == [0, 1, 2]
    finally:
        os.close(extra)


def test_its_signals_are_as_after_login(bench: Bench) -> None:
    assert report(bench)["blocked"] == []
    # Python itself ignores SIGPIPE; a program that inherited that would go on.
    writes = "(yes; echo status $? >&2) 2>status | head -n 1; cat status"
    run = bench.start(shell(writes))
    assert run.ended() == Ended(0)
    assert run.output() == "y\nstatus 141\n"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_no_signal_is_ignored_or_blocked_by_inheritance(kept_bench: Bench) -> None:
    run = kept_bench.start(("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"))
    assert run.ended() == Ended(0)
    _, blocked, _, ignored = run.output().split()
    assert int(blocked, 16) == 0
    # The C library ignores 32 and 33, which it keeps to itself, when it spawns.
    assert int(ignored, 16) & ~(0b11 << 31) == 0


def test_the_environment_is_what_was_given_and_the_marker(bench: Bench) -> None:
    given = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "EMPTY": "", "X": "a=b\nü"}
    run = bench.start(("env", "-0"), environment=given)
    assert run.ended() == Ended(0)
    found = dict(item.split("=", 1) for item in run.output().split("\0")[:-1])
    assert found == {**given, MARKER: run.marker}


def test_it_runs_in_the_folder_with_the_umask(bench: Bench) -> None:
    folder = bench.folder / "deep er"
    folder.mkdir()
    run = bench.start(shell("pwd -P; echo x > made"), folder=folder, umask=0o027)
    assert run.ended() == Ended(0)
    assert run.output() == f"{folder.resolve()}\n"
    assert stat.S_IMODE((folder / "made").stat().st_mode) == 0o640


def test_a_program_is_found_in_the_path_it_is_given(bench: Bench) -> None:
    for name in ("first", "second"):
        (bench.folder / name).mkdir()
    program = bench.folder / "second" / "engine"
    program.write_text("#!/bin/sh\necho mine\n")
    program.chmod(0o700)
    (bench.folder / "first" / "engine").mkdir()
    path = f"{bench.folder}/first:{bench.folder}/second"
    run = bench.start(("engine",), environment={"PATH": path})
    assert run.ended() == Ended(0)
    assert run.output() == "mine\n"


def test_a_folder_in_path_that_cannot_be_looked_at_is_passed_over(
    bench: Bench,
) -> None:
    # Too long rather than forbidden: to root nothing is forbidden.
    path = f"/{'x' * 300}:{os.defpath}"
    run = bench.start(shell("exit 3"), environment={"PATH": path})
    assert run.ended() == Ended(3)
    with pytest.raises(LaunchError) as caught:
        bench.start(("no-such-program",), environment={"PATH": path})
    assert caught.value.reason == "not_found"


def test_a_folder_that_cannot_be_looked_at_is_told(bench: Bench) -> None:
    with pytest.raises(LaunchError) as caught:
        bench.start(shell("exit 0"), folder=bench.folder / ("x" * 300))
    assert caught.value.reason == "folder"


def test_no_room_for_the_launch_is_told_and_leaves_nothing(kept_bench: Bench) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - only counted
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(LaunchError) as caught:
            kept_bench.start(shell("exit 0"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.reason == "other"
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - likewise
    assert kept_bench.start(shell("exit 4")).ended() == Ended(4)


def test_no_program_comes_from_a_relative_folder(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bench.folder)
    program = bench.folder / "engine"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    for path in ("", ".", ":/nowhere"):
        with pytest.raises(LaunchError) as caught:
            bench.start(("engine",), environment={"PATH": path})
        assert caught.value.reason == "not_found"


def test_a_program_named_by_path_starts_at_the_working_folder(bench: Bench) -> None:
    program = bench.folder / "engine"
    program.write_text("#!/bin/sh\necho here\n")
    program.chmod(0o700)
    run = bench.start(("./engine",))
    assert run.ended() == Ended(0)
    assert run.output() == "here\n"


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        ((), "not_found"),
        (("",), "not_found"),
        (("no-such-program",), "not_found"),
        (("/no/such/program",), "not_found"),
        (("/dev/null/program",), "not_found"),
        (("./interpreter-missing",), "not_found"),
        (("./plain",), "not_executable"),
        (("./folder",), "not_executable"),
        (("./binary",), "not_executable"),
        (("sh", "x" * 8_000_000), "too_long"),
        (("sh", "a\0b"), "other"),
        (("sh", "\ud800"), "other"),
    ],
)
def test_what_cannot_start_says_why(
    bench: Bench, argv: tuple[str, ...], reason: str
) -> None:
    (bench.folder / "plain").write_text("secret\n")
    (bench.folder / "folder").mkdir()
    for name, text in (("binary", "\0\0\0"), ("interpreter-missing", "#!/no/sh\n")):
        (bench.folder / name).write_text(text)
        (bench.folder / name).chmod(0o700)
    with pytest.raises(LaunchError) as caught:
        bench.start(argv)
    assert caught.value.reason == reason
    assert "/" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert bench.start(shell("exit 0")).ended() == Ended(0)


def test_a_program_in_path_that_may_not_run_is_not_executable(bench: Bench) -> None:
    (bench.folder / "engine").write_text("#!/bin/sh\n")
    with pytest.raises(LaunchError) as caught:
        bench.start(("engine",), environment={"PATH": str(bench.folder)})
    assert caught.value.reason == "not_executable"


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_folder_that_cannot_be_entered_is_told(bench: Bench, name: str) -> None:
    (bench.folder / "file").touch()
    with pytest.raises(LaunchError) as caught:
        bench.start(shell("exit 0"), folder=bench.folder / name)
    assert caught.value.reason == "folder"


def test_a_launch_shows_neither_arguments_nor_environment(bench: Bench) -> None:
    with pytest.raises(LaunchError) as caught:
        bench.start(("no-such-secret",), environment={"KEY": "hidden"})
    assert "secret" not in repr(caught.value)


def test_eight_turns_at_once_do_not_mix(bench: Bench) -> None:
    outputs: dict[int, str] = {}

    def turn(number: int) -> None:
        run = bench.start(python(REPORT, str(number)), b"prompt %d" % number)
        assert run.ended() == Ended(0)
        outputs[number] = run.output()

    threads = [threading.Thread(target=turn, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(8):
        found = json.loads(outputs[number])
        assert found["argv"] == [str(number)]
        assert found["stdin"] == f"prompt {number}"
        assert found["descriptors"] == [0, 1, 2]
