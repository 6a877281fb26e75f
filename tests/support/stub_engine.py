"""A stand-in for a user's engine: records how it was run, does what it is told.

usage: python stub_engine.py RECORDS STEPS [ARGUMENT ...]

RECORDS is a folder; one JSON file a run is written there before anything else
happens and again at the end. STEPS is a JSON list of steps, each a list of a verb
and its values:

    ["echo"]                 print standard input as it came
    ["obey"]                 print X when told "Reply with exactly: X", else "ok"
    ["print", TEXT]          print the text, flushed
    ["print_bytes", HEX]     print bytes given in hexadecimal
    ["error", TEXT]          print on standard error
    ["flood"]                print without end
    ["sleep", SECONDS]
    ["wait_for", PATH]       sleep until the file is there
    ["write", PATH, TEXT]    write a file, folders included
    ["answer", TEXT]         write the file that the last argument names
    ["answer_pipe"]          make a pipe of that name instead
    ["ignore_term"]          ignore SIGTERM from now on
    ["exit", STATUS]
    ["signal", NUMBER]       send a signal to itself
    ["child", SECONDS]       leave a child in the same group that sleeps
    ["daemon", SECONDS]      leave a grandchild that forked twice, has its own
                             session and no environment, and holds stdout open
    ["tty"]                  print whether /dev/tty can be opened
    ["recognise", {SHA: TEXT}]  print the text for each attached file of that SHA-256
    ["make", PATH]           make a folder, all missing ones above it included
    ["cat", PATH]            print the text of a file
    ["writer", PATH]         leave a child that writes its number to PATH.pid and then
                             to the file for ever
    ["follow"]               do each step that stands as JSON in a line "do: STEP" of
                             standard input

The record holds argv, stdin (text), environment, cwd, umask, pid, parent, group,
session, started, ended (monotonic seconds), open descriptors, and for each
argument or line ``Attached image file: PATH`` that names a file: path, mode,
folder mode, size and SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PREFIX = "Attached image file: "


def described(path: Path) -> dict[str, Any]:
    return {
        "path": str(path),
        "mode": path.stat().st_mode & 0o777,
        "folder_mode": path.parent.stat().st_mode & 0o777,
        "size": path.stat().st_size,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }


def named_files(arguments: list[str], prompt: str) -> list[dict[str, Any]]:
    lines = [line[len(PREFIX) :] for line in prompt.split("\n") if PREFIX in line]
    paths = [Path(text) for text in [*arguments, *lines] if text.startswith("/")]
    return [described(path) for path in paths if path.is_file()]


def record(prompt: str) -> dict[str, Any]:
    mask = os.umask(0)
    os.umask(mask)
    return {
        "argv": sys.argv,
        "stdin": prompt,
        "environment": dict(os.environ),
        "cwd": str(Path.cwd()),
        "umask": mask,
        "pid": os.getpid(),
        "parent": os.getppid(),
        "group": os.getpgrp(),
        "session": os.getsid(0),
        "started": time.monotonic(),
        "ended": None,
        "files": named_files(sys.argv[3:], prompt),
    }


def leave_daemon(seconds: float) -> None:
    code = (
        "import os, sys, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        f"time.sleep({seconds})\n"
    )
    program = [sys.executable, "-I", "-S", "-c", code]
    with subprocess.Popen(program, env={}):
        pass


def obey(prompt: str) -> str:
    wanted = "Reply with exactly: "
    return prompt.rsplit(wanted, 1)[1] if wanted in prompt else "ok"


def flood() -> None:
    while True:
        os.write(1, b"x" * 65536)


def recognise(known: dict[str, str], prompt: str) -> None:
    for file in named_files(sys.argv[3:], prompt):
        sys.stdout.write(known.get(file["sha256"], ""))


def run(step: list[Any], prompt: str) -> None:
    verb, *values = step
    actions: dict[str, Any] = {
        "echo": lambda: sys.stdout.write(prompt),
        "obey": lambda: sys.stdout.write(obey(prompt)),
        "print": sys.stdout.write,
        "print_bytes": lambda text: os.write(1, bytes.fromhex(text)),
        "error": sys.stderr.write,
        "flood": flood,
        "sleep": time.sleep,
        "wait_for": wait_for,
        "write": write,
        "answer": lambda text: write(sys.argv[-1], text),
        "answer_pipe": lambda: os.mkfifo(sys.argv[-1]),
        "ignore_term": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
        "exit": sys.exit,
        "signal": lambda number: os.kill(os.getpid(), number),
        "child": lambda seconds: subprocess.Popen(["sleep", str(seconds)]),
        "daemon": leave_daemon,
        "tty": tell_tty,
        "recognise": lambda known: recognise(known, prompt),
        "make": lambda path: Path(path).mkdir(parents=True, exist_ok=True),
        "cat": lambda path: sys.stdout.write(Path(path).read_text("utf-8")),
        "writer": leave_writer,
        "follow": lambda: follow(prompt),
    }
    actions[verb](*values)
    sys.stdout.flush()
    sys.stderr.flush()


def wait_for(path: str) -> None:
    while not Path(path).exists():
        time.sleep(0.01)


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def leave_writer(path: str) -> None:
    code = (
        "import os, sys\n"
        "path = sys.argv[1]\n"
        "with open(path + '.part', 'w') as file: file.write(str(os.getpid()))\n"
        "os.rename(path + '.part', path + '.pid')\n"
        "while True:\n"
        "    with open(path, 'a') as file: file.write('x')\n"
    )
    subprocess.Popen([sys.executable, "-I", "-S", "-c", code, path])
    wait_for(path + ".pid")


def follow(prompt: str) -> None:
    for line in prompt.splitlines():
        if line.startswith("do: "):
            run(json.loads(line.removeprefix("do: ")), prompt)


def tell_tty() -> None:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        sys.stdout.write("no tty")
    else:
        sys.stdout.write("tty")


def main() -> None:
    folder, steps = Path(sys.argv[1]), json.loads(sys.argv[2])
    prompt = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    sys.stdout.reconfigure(encoding="utf-8", newline="\n", errors="surrogateescape")  # type: ignore[union-attr]  # it is a TextIOWrapper
    notes = record(prompt)
    target = folder / f"{time.monotonic_ns()}-{os.getpid()}.json"

    def save() -> None:
        text = json.dumps(notes, ensure_ascii=True)
        part = target.with_suffix(".part")
        part.write_text(text, encoding="ascii")
        part.rename(target)

    save()
    try:
        for step in steps:
            run(step, prompt)
    finally:
        notes["ended"] = time.monotonic()
        save()


if __name__ == "__main__":
    main()
