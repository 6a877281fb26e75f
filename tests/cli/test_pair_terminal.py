"""``open-conduit pair`` on a terminal: the picture can be scanned from it."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import termios
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.doctor.asking import places
from tests.support.documents import document
from tests.support.qr import of_terminal, payload, read_code
from tests.support.service import (
    PROGRAM,
    TOKEN,
    Service,
    binding,
    prepared,
    stub,
    variables,
)

URL = "https://chat.example.org"


@dataclass(frozen=True, slots=True)
class Shown:
    """What a command did on a terminal."""

    status: int
    screen: str
    said: str


def on_terminal(
    service: Service, columns: int, lines: int, environment: dict[str, str]
) -> Shown:
    """Run the command with its standard output on a terminal of a size."""
    argv = [*PROGRAM, "pair", *places(service.root), "--url", URL, "--no-check"]
    master, slave = os.openpty()
    size = struct.pack("HHHH", lines, columns, 0, 0)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, size)
    known = {"TERM": "xterm-256color", "PYTHONUTF8": "1", **environment}
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=subprocess.PIPE,
        env=variables(known),
    ) as process:
        os.close(slave)
        screen = b""
        while True:
            try:
                data = os.read(master, 65536)
            except OSError:  # Linux says so when the last one has closed it
                break
            if not data:
                break
            screen += data
        os.close(master)
        assert process.stderr is not None
        said = process.stderr.read().decode()
        status = process.wait(30)
    return Shown(status, screen.decode(), said)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """A service that is not started; nothing is asked of it here."""
    engine = binding(stub(tmp_path, ["obey"]))
    return prepared(tmp_path, document({"agent": engine}, 8480))


@pytest.mark.parametrize("paper", [0, 255])
@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}])
def test_the_picture_can_be_scanned_on_dark_and_on_light(
    service: Service, paper: int, environment: dict[str, str]
) -> None:
    shown = on_terminal(service, 100, 60, environment)
    assert shown.status == 0, shown.said
    code = read_code(of_terminal(shown.screen, columns=100, paper=paper))
    assert payload(code)["gateway"]["token"] == TOKEN
    assert "Whoever has this code" in shown.said
    assert TOKEN not in shown.screen + shown.said
    assert "lines and the terminal" not in shown.said


def test_a_low_terminal_is_told_that_it_cuts_the_picture(service: Service) -> None:
    shown = on_terminal(service, 100, 20, {})
    assert shown.status == 0
    assert "and the terminal 20" in shown.said
    assert payload(read_code(of_terminal(shown.screen, columns=100, paper=0)))


@pytest.mark.parametrize(
    ("columns", "environment", "code"),
    [
        (40, {}, "terminal_narrow"),
        (100, {"TERM": "dumb"}, "terminal_plain"),
        (100, {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
         "terminal_plain"),
    ],
)  # fmt: skip
def test_a_terminal_that_cannot_show_it_gets_none(
    service: Service, columns: int, environment: dict[str, str], code: str
) -> None:
    shown = on_terminal(service, columns, 60, environment)
    assert (shown.status, shown.screen) == (1, "")
    assert code in shown.said
    assert "--png" in shown.said


def test_a_terminal_that_does_not_know_its_size_shows_it_all(service: Service) -> None:
    shown = on_terminal(service, 0, 0, {})
    assert shown.status == 0, shown.said
    assert payload(read_code(of_terminal(shown.screen, columns=200, paper=0)))
