"""Certificates for this machine, which only those trust who are told to."""

from __future__ import annotations

import subprocess
from pathlib import Path


def certificate(folder: Path) -> tuple[Path, Path]:
    """Return a new certificate for ``localhost`` that signs itself, and its key."""
    made, key = folder / "certificate.pem", folder / "key.pem"
    options = "req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost"
    argv = ["openssl", *options.split(), "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(
        [*argv, "-keyout", str(key), "-out", str(made)], check=True, capture_output=True
    )
    return made, key
