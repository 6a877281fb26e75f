"""A person in a machine, who follows a page there.

with following(Person(machine), "docs/quickstart.md", "root") as page:
    page.do()
"""

from __future__ import annotations

from pathlib import Path

from tests.roots.machine import Machine

NAME = "me"
HOME = f"/home/{NAME}"


class Person:
    """A user who may call sudo, and begins each step in the home.

    Args:
        machine: Where; the user is made in it.
        one_login: Whether all is typed into one terminal, opened before the first
            step: what she runs is not in a group that she joins meanwhile.
    """

    def __init__(self, machine: Machine, *, one_login: bool = False) -> None:
        self._machine = machine
        self._one_login = one_login
        machine.says("useradd", "-m", "-s", "/bin/bash", NAME)
        rule = machine.path(f"/etc/sudoers.d/{NAME}")
        rule.write_text(f"{NAME} ALL=(ALL) NOPASSWD: ALL\n", "ascii")
        rule.chmod(0o440)

    def write(self, name: str, text: str) -> Path:
        """Write a file of hers; ``~`` is the home."""
        inside = name.replace("~", HOME)
        path = self._machine.path(inside)
        path.write_text(text, "utf-8")
        path.chmod(0o644)
        self._machine.says("chown", f"{NAME}:", inside)
        return path

    def run(self, text: str, typed: str = "") -> str:
        """Do what a text says, to its end; return what was printed."""
        shell = ("bash", "-eo", "pipefail", "-c", f"cd\n{text}")
        feed = f"{typed}\n"
        if not self._one_login:
            return self._machine.run(*shell, user=NAME, feed=feed).stdout
        identity = (f"--reuid={NAME}", f"--regid={NAME}", "--clear-groups")
        variables = {"HOME": HOME, "USER": NAME, "LOGNAME": NAME}
        return self._machine.run(
            *("setpriv", *identity, *shell), feed=feed, environment=variables
        ).stdout
