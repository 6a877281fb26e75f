"""The small process that forks wardens, so that the large daemon need not.

It is started by exec, has one thread, no environment and one socket, and keeps
one warden waiting ahead of time: forking is the dearest part of a turn's start.
It imports little, and nothing of ours but the warden.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import socket
import time

from conduck_service.base.supervision import warden

_SET_CHILD_SUBREAPER = 36
_RETRY_SECONDS = 0.05


def main(control: int) -> None:
    """Fork wardens until the daemon closes its end of the control socket.

    Args:
        control: Descriptor of the keeper's end.
    """
    os.set_inheritable(control, False)
    gc.disable()  # a collection would copy the pages shared with the wardens
    _settle_signals()
    prctl = ctypes.CDLL(None).prctl
    with socket.socket(fileno=control) as daemon:
        while True:
            if _fork_warden(daemon, prctl):
                continue
            if _is_gone(daemon):
                return
            time.sleep(_RETRY_SECONDS)


def _settle_signals() -> None:
    # Engines inherit what is set here, whatever the daemon was started with.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    for number in warden.IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # wardens leave no zombies


def _fork_warden(daemon: socket.socket, prctl: ctypes._NamedFuncPointer) -> bool:
    """Make a warden, and say whether it got a turn to see through."""
    ready, taken = os.pipe()
    try:
        if os.fork() == 0:
            _be_warden(daemon, prctl, ready, taken)
    except OSError:  # no room for another process
        os.close(taken)
        os.close(ready)
        return False
    os.close(taken)
    turn = os.read(ready, 1)
    os.close(ready)
    return bool(turn)


def _be_warden(
    daemon: socket.socket, prctl: ctypes._NamedFuncPointer, ready: int, taken: int
) -> None:
    try:
        os.close(ready)
        os.setsid()
        if prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0:
            warden.serve(daemon, taken)
    finally:
        os._exit(0)


def _is_gone(daemon: socket.socket) -> bool:
    try:
        return not daemon.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
