"""The manual page of the command, made of what the command says of itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

_HEAD = """\
.TH OPEN-CONDUIT 1 "{date}" "conduck {version}" "User Commands"
.SH NAME
open-conduit, conduck \\- connect the Conduck app with the AI agent on this machine
.SH SYNOPSIS
.B open-conduit
[\\fIOPTION\\fR]... \\fICOMMAND\\fR [\\fIARGUMENT\\fR]...
.SH DESCRIPTION
.B open\\-conduit
serves chat and a file lane for the Conduck app, and answers with the AI agent of this
machine. It listens on the loopback addresses only.
.PP
.B conduck
is the same program under another name.
.SH OPTIONS
{options}.SH COMMANDS
{commands}"""

_TAIL = """\
.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
Refused, or something is wrong; standard error says what.
.TP
.B 2
The command line was not understood.
.TP
.B 78
.BR serve :
config, owner or folder are wrong, which no restart cures.
.SH FILES
.TP
.I ~/.config/open\\-conduit/config.json
The config. XDG_CONFIG_HOME and OPEN_CONDUIT_CONFIG move it.
.TP
.I ~/.local/state/open\\-conduit
The state directory. XDG_STATE_HOME and OPEN_CONDUIT_DATA_DIR move it.
.SH SEE ALSO
.BR systemctl (1),
.BR journalctl (1)
"""


def manual(group: click.Group, version: str, date: str) -> str:
    """Return the page in the language of man.

    Args:
        group: The whole command.
        version: Of the program.
        date: Of the release, as YYYY-MM-DD.
    """
    settings = group.context_settings
    context = click.Context(group, info_name="open-conduit", **settings)
    head = _HEAD.format(
        date=date,
        version=version,
        options="".join(_options(group, context)),
        commands="".join(_commands(group, context)),
    )
    return head + _TAIL


def _commands(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from _commands(command, inner)
            continue
        usage = " ".join(command.collect_usage_pieces(inner))
        words = inner.command_path.split(" ", 1)[1]
        yield f".SS {_plain(words)} {_plain(usage)}\n"
        yield _prose(command.help or "")
        yield "".join(_options(command, inner))


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        is_told = context.parent is not None and parameter.name == "help"
        if record is None or is_told or isinstance(parameter, click.Argument):
            continue
        yield f".TP\n.B {_plain(record[0])}\n{_line(record[1])}\n"


def _prose(text: str) -> str:
    """Return paragraphs; what click leaves alone is left alone here too."""
    parts = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b\n"):
            lines = "\n".join(_line(line) for line in paragraph[2:].split("\n"))
            parts.append(f".PP\n.nf\n{lines}\n.fi\n")
        else:
            parts.append(f".PP\n{_line(' '.join(paragraph.split()))}\n")
    return "".join(parts)


def _line(text: str) -> str:
    """Return a line of text; a dot or quote in front would be an instruction."""
    plain = _plain(" ".join(text.split()))
    return rf"\&{plain}" if plain[:1] in (".", "'") else plain


def _plain(text: str) -> str:
    escaped = re.sub(r"[\\]", r"\\e", text)
    return escaped.replace("-", "\\-").replace("…", "...")
