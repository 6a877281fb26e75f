"""The ``os`` command, with which a running engine calls its toolbelt.

It stays on the standard library so that it starts at once. The toolbelt itself
is not served yet, so there is nothing to call.
"""

from __future__ import annotations

import os
import sys

from conduck_service import __version__

EXIT_REFUSED = 1
EXIT_USAGE = 2


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] == ["--version"]:
        print(f"os {__version__}")
        return
    if not os.environ.get("OS_ENDPOINT"):
        print(
            "os: OS_ENDPOINT is not set; this command works only inside an execution "
            "that has a toolbelt",
            file=sys.stderr,
        )
        sys.exit(EXIT_USAGE)
    print("os: this version serves no toolbelt operations", file=sys.stderr)
    sys.exit(EXIT_REFUSED)
