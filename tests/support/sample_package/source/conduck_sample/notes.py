"""What the package was asked to do, written down for the tests.

Each note is one line of JSON in the file that ``SAMPLE_RECORD`` names; without
that variable nothing is written.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def note(what: str, **more: Any) -> None:
    """Add a line to the record."""
    file = os.environ.get("SAMPLE_RECORD")
    if file:
        with Path(file).open("a", encoding="utf-8") as record:
            record.write(json.dumps({"what": what, **more}) + "\n")
