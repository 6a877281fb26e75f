"""The picture of a code: in a terminal, and as a file."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import segno

from conduck_service.pairing.refusal import RefusedError

BORDER = 4
"""Light modules around a QR code, without which it may not be found."""

NARROW_BORDER = 2
"""As many do for a phone; for terminals that would not show the picture at all."""

_SCALE = 8
# Numbers of the fixed part of the palette: themes change the first sixteen colours
# only. So dark is dark in every terminal, whatever its own background is.
_PAPER = "\x1b[38;5;16;48;5;231m"
_END = "\x1b[0m"
_HALVES = {(0, 0): " ", (1, 0): "▀", (0, 1): "▄", (1, 1): "█"}


@dataclass(frozen=True, slots=True)
class Picture:
    """A QR code with its quiet zone.

    Attributes:
        border: Light modules on each side.
    """

    _symbol: segno.QRCode
    border: int = BORDER

    @classmethod
    def of(cls, code: str) -> Picture:
        """Return the picture of a code, with the best correction at its least size.

        Raises:
            RefusedError: The code is too long for any picture.
        """
        try:
            symbol = segno.make_qr(code, error="l")
        except segno.DataOverflowError:
            raise RefusedError(
                "code_too_long",
                "the code is too long for a picture",
                "use a shorter token, address or name; or --text, and paste it",
            ) from None
        return cls(symbol)

    def within(self, columns: int) -> Picture | None:
        """Return it for a terminal of so many columns; None when none is so small."""
        borders = (self.border, NARROW_BORDER)
        pictures = (replace(self, border=border) for border in borders)
        return next((x for x in pictures if x.columns <= columns), None)

    @property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """Its modules; 1 is dark."""
        return tuple(map(tuple, self._symbol.matrix_iter(border=self.border)))

    @property
    def columns(self) -> int:
        """How many columns of a terminal it takes."""
        return int(self._symbol.symbol_size(border=self.border)[0])

    @property
    def lines(self) -> int:
        """How many lines of a terminal it takes."""
        return (self.columns + 1) // 2

    def in_terminal(self) -> Iterator[str]:
        """Yield its lines, in colours that no theme changes."""
        blank: Sequence[int] = (0,) * self.columns
        rows = self.rows
        for index in range(0, len(rows), 2):
            upper = rows[index]
            lower = rows[index + 1] if index + 1 < len(rows) else blank
            signs = (_HALVES[pair] for pair in zip(upper, lower, strict=True))
            yield f"{_PAPER}{''.join(signs)}{_END}"

    def png(self) -> bytes:
        """Return it as a PNG."""
        return self._saved("png")

    def svg(self) -> bytes:
        """Return it as an SVG, dark on white."""
        return self._saved("svg")

    def _saved(self, kind: str) -> bytes:
        into = io.BytesIO()
        self._symbol.save(into, kind=kind, scale=_SCALE, border=BORDER, light="white")
        return into.getvalue()
