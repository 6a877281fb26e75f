#!/usr/bin/python3 -I
"""The engine of the stories: does what it is told, else it is the demo's engine."""

import os
import runpy
import subprocess
import sys
import tempfile

ORDER = b"robot: "


def main() -> None:
    """Answer one turn."""
    prompt = sys.stdin.buffer.read()
    if prompt.startswith(ORDER):
        words = ["/bin/sh", "-c", prompt.removeprefix(ORDER).decode("utf-8")]
        sys.exit(subprocess.run(words, stderr=1, check=False).returncode)
    with tempfile.TemporaryFile() as file:
        file.write(prompt)
        file.seek(0)
        os.dup2(file.fileno(), 0)
    sys.path.insert(0, "/usr/lib/conduck/lib")
    runpy.run_module("conduck_service.demo_engine", run_name="__main__")


main()
