"""Runs jobs in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from tests.bench.lane.client import Job, Result
from tests.support.trace import ROOT

_ARGV = (sys.executable, "-m", "tests.bench.lane.client")


def run(job: Job) -> Result:
    """Do a job and wait for its result.

    Raises:
        subprocess.CalledProcessError: An answer was not what the job expects.
    """
    done = subprocess.run(
        [*_ARGV, json.dumps(asdict(job))],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    return read_result(done.stdout)


def read_result(text: str) -> Result:
    """Return what a client process printed."""
    return Result(**json.loads(text))


@contextmanager
def running(job: Job) -> Iterator[None]:
    """Let a job go on for the block, from when its clock started."""
    text = json.dumps(asdict(job) | {"says_ready": True})
    with subprocess.Popen(
        [*_ARGV, text], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield
        read_result(process.stdout.read())
        assert process.wait(60) == 0
