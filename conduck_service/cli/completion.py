"""``open-conduit completion``: complete commands and options in a shell."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

PROGRAMS = ("open-conduit", "conduck")
"""The names that the command is installed under."""

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print a script that completes commands and options in SHELL.

    For bash: open-conduit completion bash >> ~/.bashrc; for zsh likewise with
    ~/.zshrc; for fish: into ~/.config/fish/completions/open-conduit.fish.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    group = context.find_root().command
    for program in PROGRAMS:
        variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
        # The subclass for bash would first run bash to ask for its version.
        click.echo(ShellComplete.source(kind(group, {}, program, variable)))
