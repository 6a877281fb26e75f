"""The rows of the lane's table, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRow:
    """One measured promise of the lane.

    Attributes:
        name: Stable name of the row.
        what: What was done, for people.
        unit: Unit of the figures.
        ours: Our figure.
        rclone: That of rclone in the same run; None when it could not be had.
        stock: That of stock WsgiDAV in the same run.
        is_rate: Whether a larger figure is the better one.
        over_rclone: How many times better than rclone it has to be; None when that
            is not promised.
        over_stock: Likewise stock WsgiDAV.
        bound: Largest acceptable value of ``ours``; None when none is promised.
        samples: How many samples our figure comes from.
        notes: More about the same run, by name.
    """

    name: str
    what: str
    unit: str
    ours: float
    rclone: float | None
    stock: float
    is_rate: bool = False
    over_rclone: float | None = None
    over_stock: float | None = None
    bound: float | None = None
    samples: int
    notes: dict[str, str]

    def better_than(self, peer: float | None) -> float | None:
        """Return how many times better we are; None when there is nothing to divide."""
        if not peer or not self.ours:
            return None
        above, below = (self.ours, peer) if self.is_rate else (peer, self.ours)
        return above / below

    @property
    def is_met(self) -> bool:
        """Whether the promise is kept, as far as it was measured."""
        pairs = ((self.rclone, self.over_rclone), (self.stock, self.over_stock))
        for peer, needed in pairs:
            times = self.better_than(peer)
            if needed is not None and times is not None and times < needed:
                return False
        return self.bound is None or self.ours <= self.bound

    @property
    def is_measured(self) -> bool:
        """Whether everything that is promised about was there."""
        return self.over_rclone is None or self.rclone is not None

    @property
    def promise(self) -> str:
        """The promise in words; empty when there is none."""
        parts = []
        if self.over_rclone == 1:
            parts.append("no worse than rclone")
        elif self.over_rclone is not None:
            parts.append(f"{self.over_rclone:g} times rclone")
        if self.over_stock is not None:
            parts.append(f"{self.over_stock:g} times stock")
        if self.bound is not None:
            parts.append(f"at most {self.bound:g} {self.unit}")
        return ", ".join(parts)
