"""The value of a secret, typed without being seen or read from a pipe."""

from __future__ import annotations

import getpass
import os
import sys
import warnings

from conduck_service.secrets.source import is_usable

LIMIT = 1 << 16
"""Most bytes that are read from a pipe."""

_LINUX_LINE = 4095
_OTHER_LINE = 1023
"""Bytes of a line from which on a terminal may have dropped some, without a word."""


class ValueRefusedError(Exception):
    """Raised when there is no value to store; the text holds nothing of it."""


def read_value(name: str) -> str:
    """Return the value from a terminal or, all of it, from a pipe.

    It is no argument: those are seen by every user of the machine and stay in the
    history of the shell.

    Args:
        name: What the person is asked for.

    Raises:
        ValueRefusedError: It is empty, too long, or no text.

    Keeps: B-CLI-13, B-CLI-14, B-CLI-15, B-CLI-16.
    """
    if sys.stdin is None:
        raise ValueRefusedError("there is no standard input; pipe the value in")
    value = _typed(name) if sys.stdin.isatty() else _piped()
    if not value:
        raise ValueRefusedError("the value is empty; give one")
    if not is_usable(value):
        raise ValueRefusedError("the value holds NUL; give a text without")
    return value


def _typed(name: str) -> str:
    try:
        with warnings.catch_warnings():
            # Without it the value would be asked for with everything shown.
            warnings.simplefilter("error", getpass.GetPassWarning)
            value = getpass.getpass(f"Value of {name} (it is not shown): ")
    except getpass.GetPassWarning:
        raise ValueRefusedError(
            "the terminal cannot hide what is typed; pipe the value in"
        ) from None
    except EOFError:
        return ""
    except UnicodeDecodeError:
        raise _no_utf8() from None
    limit = _LINUX_LINE if os.uname().sysname == "Linux" else _OTHER_LINE
    if len(value.encode("utf-8", "surrogatepass")) >= limit:
        raise ValueRefusedError(
            "a terminal cuts lines of this length; pipe the value in"
        )
    return value


def _piped() -> str:
    data = sys.stdin.buffer.read(LIMIT + 1)
    if len(data) > LIMIT:
        raise ValueRefusedError(f"the value is longer than {LIMIT} bytes; shorten it")
    data = data.removesuffix(b"\r\n" if data.endswith(b"\r\n") else b"\n")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise _no_utf8() from None


def _no_utf8() -> ValueRefusedError:
    return ValueRefusedError("the value is not UTF-8; encode it, such as with base64")
