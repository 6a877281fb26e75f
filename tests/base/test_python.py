"""Modules of this program in a Python of their own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from conduck_service.base.python import module_argv
from conduck_service.secrets import keyring_helper


@pytest.mark.parametrize("is_isolated", [True, False])
def test_a_module_is_found_where_no_python_looks(*, is_isolated: bool) -> None:
    argv = module_argv(keyring_helper.__name__, is_isolated=is_isolated)
    # Without site-packages, as it is where a package has a folder of its own.
    command = [argv[0], "-S", *argv[1:]]
    run = subprocess.run(command, input=b'{"get": []}', check=True, capture_output=True)
    assert json.loads(run.stdout) == {"refused": keyring_helper.NO_LIBRARY}


def test_an_isolated_program_starts_isolated_ones() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from conduck_service.base.python import module_argv; "
        "print(module_argv('x', is_isolated=False)[1])"
    )
    root = module_argv("x", is_isolated=True)[-1]
    for option, expected in (("-I", "-I"), ("-P", "-P")):
        command = [sys.executable, option, "-c", code, root]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        assert run.stdout == f"{expected}\n"
