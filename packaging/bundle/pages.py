"""Write the manual page and the completions; run with the libraries of the bundle."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from click.shell_completion import ShellComplete, get_completion_class

from bundle.changelog import epoch
from bundle.manual import manual
from conduck_service import __version__
from conduck_service.cli.completion import PROGRAMS
from conduck_service.cli.main import group

PLACES = {
    "bash": "bash-completion/completions/{}",
    "zsh": "zsh/vendor-completions/_{}",
    "fish": "fish/vendor_completions.d/{}.fish",
}
"""Where shells look for completions, below ``share``."""

MANUAL = "man/man1/open-conduit.1"


def main() -> None:
    """Write into the folder that the argument names."""
    share = Path(sys.argv[1])
    date = datetime.fromtimestamp(epoch(), UTC).strftime("%Y-%m-%d")
    _write(share / MANUAL, manual(group, __version__, date))
    for shell, place in PLACES.items():
        for program in PROGRAMS:
            _write(share / place.format(program), _completion(shell, program))


def _completion(shell: str, program: str) -> str:
    kind = get_completion_class(shell)
    assert kind is not None
    variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
    # The subclass for bash would first run bash to ask for its version.
    return ShellComplete.source(kind(group, {}, program, variable)).lstrip() + "\n"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
