"""Something that was accepted; the first link of every causal chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

CHAT_TURN = "conduck.chat.turn"
"""Type of the event that a chat request becomes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An accepted Event, without any content of what caused it.

    Attributes:
        id: Opaque id.
        scope_id: Scope of the entry that observed it.
        type: Family, such as ``conduck.chat.turn``.
        source: Namespace of the entry, such as ``conduck/home_chat``.
        delivery_id: Unique within the source.
        received_at: When it was accepted, UTC.
        data: Counts, flags and ids only.
    """

    id: str
    scope_id: str
    type: str
    source: str
    delivery_id: str
    received_at: datetime
    data: Mapping[str, int | bool | str]
