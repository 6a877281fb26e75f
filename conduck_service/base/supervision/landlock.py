"""Landlock: a thread gives up every file that it is not allowed, for good.

What it starts afterwards inherits that, whatever it runs as. The warden enters it
for the engine, so this module needs the standard library only.

Landlock knows paths, and before version 9 of its interface no sockets that lie at
one. Whoever may connect to those of the same user (the session bus, a container
engine, a key agent) reaches any file through them. So on an older kernel a second
filter, on system calls, lets nobody make a Unix socket; pairs of connected ones,
with which programs talk to their own children, stay.

Limits that no version lifts: files that are opened already stay open, and names,
sizes and modes outside can be looked at; whoever owns a file may change its mode.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import struct
from collections.abc import Iterable

OLDEST = 2
"""Before this version nothing can be renamed from one folder into another."""

READ, WRITE, USE = b"r", b"w", b"u"
"""What a rule allows: reading and running; everything but devices; using a device."""

_LIBC = ctypes.CDLL(None, use_errno=True)

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # on every machine alike
_ASK_VERSION = 1
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16, 9: 17}
"""How many rights a version knows, each one bit, from the version that adds some."""

_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_ALLOWED = {
    READ: _EXECUTE | _READ_FILE | _READ_DIR,
    WRITE: ~(_MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEV),
    USE: _READ_FILE | _WRITE_FILE | _IOCTL_DEV,
}

_SCOPES_SINCE = 6
_ALL_SCOPES = 0b11  # abstract Unix sockets, and signals
_TRUNCATE_SINCE = 3
_SOCKETS_SINCE = 9

_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_CAPABILITIES = 0x20080522  # the version with two words for each set
_TOO_STRONG = sum(1 << number for number in (2, 16, 17, 19, 21, 22, 38, 39))
"""Files by number, modules, raw devices, tracing, administration, reboot, perf, BPF."""

_AF_UNIX = 1
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_AT_NUMBER, _AT_MACHINE, _AT_FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_X32 = 0x40000000
_IO_URING_SETUP = 425  # its rings open sockets past the filter


_MACHINES = {
    "x86_64": (0xC000003E, 41, 76),
    "aarch64": (0xC00000B7, 198, 45),
    "riscv64": (0xC00000F3, 198, 45),
}
"""How each kind of machine is marked, and its numbers of socket and truncate."""


def version() -> int:
    """Return the version of the interface, zero where there is none."""
    if os.uname().sysname != "Linux":
        return 0
    found = _LIBC.syscall(_CREATE_RULESET, None, _size(0), _ASK_VERSION)
    return max(int(found), 0)


def why_not(found: int) -> str | None:
    """Return why Landlock of this version cannot be used here, or None if it can."""
    if found == 0:
        return "the kernel has no Landlock"
    if found < OLDEST:
        return f"Landlock (ABI {found}) is too old"
    if found < _SOCKETS_SINCE and os.uname().machine not in _MACHINES:
        return "Landlock leaves sockets open on this machine"
    return None


def enter(rules: Iterable[bytes]) -> None:
    """Confine the calling thread, and what it will start, to what the rules allow.

    Args:
        rules: Each is one of ``READ``, ``WRITE`` and ``USE``, then a path; a link
            is followed. Paths that are not there allow nothing.

    Raises:
        OSError: It cannot be done; the thread must start nothing then.
    """
    found = version()
    if why_not(found) is not None:
        raise OSError(errno.EOPNOTSUPP, "no Landlock")
    handled = (1 << max(n for since, n in _RIGHTS.items() if since <= found)) - 1
    scopes = _ALL_SCOPES if found >= _SCOPES_SINCE else 0
    attributes = struct.pack("=QQQ", handled, 0, scopes)
    ruleset = _call(_CREATE_RULESET, attributes, _size(len(attributes)), 0)
    try:
        for rule in rules:
            _allow(ruleset, rule[1:], _ALLOWED[rule[:1]] & handled)
        _checked(_LIBC.prctl(_NO_NEW_PRIVILEGES, *map(_size, (1, 0, 0, 0))))
        _drop_capabilities()
        _call(_RESTRICT_SELF, _size(ruleset), 0)
    finally:
        os.close(ruleset)
    if found < _SOCKETS_SINCE:
        _filter_calls(*_MACHINES[os.uname().machine], found >= _TRUNCATE_SINCE)


def _allow(ruleset: int, path: bytes, rights: int) -> None:
    assert hasattr(os, "O_PATH")
    try:
        number = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # not there, or out of reach: nothing to be allowed
    try:
        if not stat.S_ISDIR(os.fstat(number).st_mode):
            rights &= _OF_FILES
        beneath = struct.pack("=Qi", rights, number)
        # Files that no disk holds cannot be named in a rule, and need none.
        with contextlib.suppress(_UnnameableError):
            _call(_ADD_RULE, _size(ruleset), _RULE_PATH_BENEATH, beneath, 0)
    finally:
        os.close(number)


def _drop_capabilities() -> None:
    """Give up what takes root past the limits, such as others' environments."""
    header = struct.pack("=Ii", _CAPABILITIES, 0)
    own = ctypes.create_string_buffer(24)
    _checked(_LIBC.capget(header, own))
    kept = [
        value & ~(_TOO_STRONG >> shift & 0xFFFFFFFF)
        for value, shift in zip(
            struct.unpack("=6I", own), (0, 0, 0, 32, 32, 32), strict=True
        )
    ]
    _checked(_LIBC.capset(header, struct.pack("=6I", *kept)))


def _filter_calls(machine: int, socket: int, truncate: int, may_truncate: bool) -> None:
    """Refuse new Unix sockets, and what could get round that."""
    refused = _ERROR | errno.EACCES
    absent = _ERROR | errno.ENOSYS
    # Each line: what to do, with what, and how many lines to skip if so and if not.
    lines = [
        (_LOAD, _AT_MACHINE, 0, 0),
        (_EQUAL, machine, 1, 0),
        (_RETURN, _KILL, 0, 0),  # of another kind, where numbers mean other calls
        (_LOAD, _AT_NUMBER, 0, 0),
        (_AT_LEAST, _X32, 1, 0),
        (_EQUAL, _IO_URING_SETUP, 0, 1),
        (_RETURN, absent, 0, 0),
        # Landlock's own right for this came later; to shorten an open file is fine.
        (_EQUAL, truncate, 0, 1),
        (_RETURN, _ALLOW if may_truncate else refused, 0, 0),
        (_EQUAL, socket, 1, 0),
        (_RETURN, _ALLOW, 0, 0),
        (_LOAD, _AT_FIRST_ARGUMENT, 0, 0),
        (_EQUAL, _AF_UNIX, 0, 1),
        (_RETURN, refused, 0, 0),
        (_RETURN, _ALLOW, 0, 0),
    ]
    code = b"".join(
        struct.pack("=HBBI", what, yes, no, value) for what, value, yes, no in lines
    )
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HP", len(lines), ctypes.addressof(buffer))
    _checked(_LIBC.prctl(_SET_SECCOMP, _size(_FILTER), program, _size(0), _size(0)))


class _UnnameableError(OSError):
    """Raised for a path in a file system that no rule can name."""


def _size(value: int) -> ctypes.c_ulong:
    # A plain number would be passed as 32 bits, with whatever beside it.
    return ctypes.c_ulong(value)


def _call(number: int, *arguments: object) -> int:
    values = (_size(value) if isinstance(value, int) else value for value in arguments)
    return _checked(_LIBC.syscall(ctypes.c_long(number), *values))


def _checked(result: int) -> int:
    if result >= 0:
        return result
    number = ctypes.get_errno()
    if number == errno.EBADFD:
        raise _UnnameableError(number, os.strerror(number))
    raise OSError(number, os.strerror(number))
