"""The gate of a server that takes one bearer token."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence

Gate = Callable[[Sequence[bytes]], bool]
"""Gets the values of all Authorization headers; says whether to let in."""


def bearer_gate(token: bytes | None) -> Gate:
    """Return a gate that one exact token opens; without one nobody passes.

    The scheme's name may be in any case and one space follows it. The token is
    compared byte by byte in constant time.

    Keeps: C-AUTH-01, C-AUTH-03, C-AUTH-05, C-AUTH-10, C-AUTH-11.
    """

    def admits(values: Sequence[bytes]) -> bool:
        if not token or len(values) != 1:
            return False
        scheme, _, given = values[0].partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(given, token)

    return admits


def renewed_gate(
    secret: Callable[[], bytes | None], make: Callable[[bytes | None], Gate]
) -> Gate:
    """Return a gate that always goes by the present value of a secret.

    Args:
        secret: Returns the value; None while there is none. It is asked for each
            request, from many threads.
        make: Returns the gate for a value.

    Keeps: B-SECRET-45, B-SECRET-54.
    """
    first = secret()
    made = (first, make(first))

    def admits(values: Sequence[bytes]) -> bool:
        nonlocal made
        value = secret()
        known, gate = made
        if value != known:
            gate = make(value)
            made = (value, gate)
        return gate(values)

    return admits
