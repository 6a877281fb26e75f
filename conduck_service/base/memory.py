"""Makes the C library give large blocks back as soon as they are freed."""

from __future__ import annotations

import ctypes
import sys

LARGE_BYTES = 256 * 1024

_M_MMAP_THRESHOLD = -3


def give_back_large_blocks() -> None:
    """Keep every block of 256 KiB or more apart from the heap from now on.

    glibc raises this threshold whenever a large block is freed, and then keeps
    the room of later ones: a daemon that once read a body of 50 MiB would stay
    that large. Elsewhere there is nothing to set.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
