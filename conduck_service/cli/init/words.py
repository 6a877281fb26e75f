"""What ``init`` says when it is done: what there is now, and how to go on."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from conduck_service.cli.init.document import CHAT, FILES, Plan
from conduck_service.cli.init.setup import Done
from conduck_service.cli.options import Places
from conduck_service.config.paths import PathError, config_path, state_dir
from conduck_service.domain.reference import Scheme, parse_reference
from conduck_service.secrets.keep import Kept

_PROGRAM = "open-conduit"

_MADE = """\
Made {config}.
{where}
{label} works in {folder}, and the app sees that folder.

Start the service:

  {program} serve{options}

See that it answers, in another terminal:

  TOKEN=$({token})
  printf 'Authorization: Bearer %s\\n' "$TOKEN" | curl -sS -H @- \\
    -H 'Content-Type: application/json' \\
    -d '{{"messages":[{{"role":"user","content":"Hello"}}]}}' \\
    http://127.0.0.1:{chat_port}/v1/chat/completions; echo

What the app wants to know:

  address    http://127.0.0.1:{chat_port}
  token      echo "$TOKEN" shows it
  files      http://127.0.0.1:{files_port}, user conduck
  password   {password}
"""


def say_what_next(plan: Plan, where: Places, done: Done) -> None:
    """Say what was made and how to go on; token and password stay where they are."""
    words = _MADE.format(
        config=click.format_filename(where.config),
        where=_kept(done),
        label=plan.engine.label,
        folder=click.format_filename(plan.folder),
        program=_program(where),
        options=_options(where),
        token=_reading(done.kept[CHAT]),
        password=_reading(done.kept[FILES]),
        chat_port=plan.chat_port,
        files_port=plan.files_port,
    )
    click.echo(words, nl=False)


def _kept(done: Done) -> str:
    files = {str(kept.file) for kept in done.kept.values() if kept.file}
    if not files:
        return "The token and the password are in the keyring, under open-conduit."
    return (
        "No keyring took the token and the password, so they are in "
        f"{' and '.join(sorted(files))} (mode 0600)."
    )


def _reading(kept: Kept) -> str:
    """Return a command that prints a value, which itself is not in it."""
    place = parse_reference(kept.reference)
    if place.scheme is Scheme.KEYRING:
        python = shlex.quote(sys.executable)
        return f"{python} -m keyring get open-conduit {place.target}"
    pattern = f's/.*"{place.target}": "\\([^"]*\\)".*/\\1/p'
    return f"sed -n {shlex.quote(pattern)} {shlex.quote(str(kept.file))}"


def _program(where: Places) -> str:
    """Return the words that call this program, as it was called now."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m conduck_service"
    found = shutil.which(called.name, path=where.environment.get("PATH", os.defpath))
    if found and Path(found).resolve() == called.resolve():
        return called.name
    return shlex.quote(str(called)) if called.name else _PROGRAM


def _options(where: Places) -> str:
    """Return the options without which ``serve`` would look elsewhere."""
    options = ""
    if where.config != _usual(config_path, where):
        options += f" --config {shlex.quote(str(where.config))}"
    if where.state and where.state != _usual(state_dir, where):
        options += f" --data-dir {shlex.quote(str(where.state))}"
    return options


def _usual(
    find: Callable[[str | None, Mapping[str, str], Path], Path], where: Places
) -> Path | None:
    try:
        return find(None, where.environment, Path("/"))
    except PathError:
        return None
