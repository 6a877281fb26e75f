"""What the service is called by systemd, launchd and Homebrew, in every release.

A name that changed would leave the old service running beside the new one.
"""

from __future__ import annotations

from collections.abc import Mapping

UNIT = "conduck.service"
"""Of systemd, for the system's service and for a person's own."""

BREW_UNIT = "homebrew.conduck.service"
"""What Homebrew calls it on Linux."""

LABEL = "local.conduck"
"""Of launchd, for a person's own agent."""

BREW_LABEL = "homebrew.mxcl.conduck"
"""What Homebrew calls it on macOS."""

USER = "conduck"
"""The user that the package makes, and its group."""


def is_job_of_launchd(environment: Mapping[str, str]) -> bool:
    """Say whether launchd runs this process as the service, and starts it anew.

    It gives each of its jobs the label in a variable; programs of a terminal have
    another there.
    """
    return environment.get("XPC_SERVICE_NAME") in (LABEL, BREW_LABEL)
