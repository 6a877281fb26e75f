"""Variables that choose a keyring for a process, and what that keyring was asked."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.service import PROGRAM, variables

ROOT = Path(__file__).parents[2]

SET = ("secret", "set")

NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
"""No keyring can be used, whatever this machine has."""


def fake_keyring(folder: Path, fault: str = "", **values: str) -> dict[str, str]:
    """Return the variables of a keyring in a folder that holds these values.

    Args:
        folder: Where it keeps and notes things; made when it is missing.
        fault: ``locked`` (it waits for ever), ``broken``, ``dies``, ``forgets``,
            ``talks`` or ``refuses`` (until there is a file ``unlocked``).
        values: What it holds for the service ``open-conduit``.
    """
    folder.mkdir(exist_ok=True)
    if values:
        held = {f"open-conduit/{name}": value for name, value in values.items()}
        (folder / "keyring.json").write_text(json.dumps(held))
    return {
        "PYTHON_KEYRING_BACKEND": "tests.secrets.fake_keyring.Keyring",
        "PYTHONPATH": str(ROOT),
        "FAKE_KEYRING": str(folder),
        "FAKE_KEYRING_FAULT": fault,
    }


def held(folder: Path) -> dict[str, str]:
    """Return what a fake keyring holds, by ``service/name``."""
    file = folder / "keyring.json"
    values: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    return values


def calls(folder: Path) -> list[str]:
    """Return what a fake keyring was asked, in order, such as ``get SERVICE NAME``."""
    file = folder / "calls"
    return file.read_text().splitlines() if file.exists() else []


def secret_set(
    root: Path,
    name: str,
    value: bytes,
    *options: str,
    environment: Mapping[str, str] = NO_KEYRING,
) -> subprocess.CompletedProcess[bytes]:
    """Pipe a value into ``secret set`` for the config and the state below a folder."""
    config, state = str(root / "config/config.json"), str(root / "state")
    return subprocess.run(
        [*PROGRAM, *SET, name, "--config", config, "--data-dir", state, *options],
        env=variables(environment),
        input=value,
        capture_output=True,
        timeout=60,
        check=False,
    )
