"""A section of the report and its cells."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any, NamedTuple, TypeAlias

#: Powers of ten on the axis of shares, and the number of shades of a cell.
DECADES, SHADES = 6, 8


class Cell(NamedTuple):
    """A cell of a table. hover: shown on hover; kind: "name" for that of a verifier, "command", or a CSS class."""

    text: str
    hover: str = ""
    kind: str = ""


Maker: TypeAlias = Callable[[Any], Cell]


@dataclass(frozen=True)
class Section:
    """A table with a heading. folded: shown only when it is opened; verifier_columns: most columns are verifiers."""

    name: str
    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    folded: bool = False
    verifier_columns: bool = False


def text(words: object) -> Cell:
    """Text; empty for None."""
    return Cell("" if words is None else str(words))


def name(verifier: str) -> Cell:
    """The name of a verifier, shown with its colour."""
    return Cell(verifier, kind="name")


def command(line: str) -> Cell:
    """A command, shown as a button that copies it."""
    return Cell(line, kind="command")


def count(value: int) -> Cell:
    """A whole number."""
    return Cell(f"{value:,}", kind="n")


def number(value: float | None) -> Cell:
    """A number with four decimals; empty for None."""
    return Cell("" if value is None else f"{value:.4f}", kind="n")


def percent(value: float | None) -> Cell:
    """A share in percent; empty for None."""
    return Cell("" if value is None else f"{value:.2%}", kind="n")


def axis_position(share: float) -> float:
    """The position of a share on a logarithmic axis: 0 for a millionth, 1 for the whole."""
    return min(max(log10(share) / DECADES + 1, 0.0), 1.0) if share > 0 else 0.0


def shaded(shares: Mapping[str, tuple[float, str]], verifiers: Sequence[str], logarithmic: bool = True) -> list[Cell]:
    """A cell for each verifier: its share in percent, darker where it is larger. shares: with the text on hover."""
    cells = []
    for verifier in verifiers:
        share, hover = shares.get(verifier, (None, ""))
        shown = "" if share is None else _few_digits(share, 2 if logarithmic else 0)
        cells.append(Cell(shown, hover, f"n h{_shade(share or 0.0, logarithmic)}"))
    return cells


def _few_digits(share: float, digits: int) -> str:
    """Percent in few digits; a share above rounding is never shown as 0."""
    least = 10.0 ** -(digits + 2)
    if share < least:
        return "0" if share < 1e-9 else f"<{100 * least:g}".replace("0.", ".")
    return f"{100 * share:.{digits if share < 0.1 else min(digits, 1)}f}"


def _shade(share: float, logarithmic: bool) -> int:
    """From 0 to `SHADES`; on a logarithmic scale two for each power of ten from a ten-thousandth on."""
    if not logarithmic:
        return round(share * SHADES / 2)
    return min(int(2 * log10(share) + SHADES + 1), SHADES) if share >= 1e-4 else 0


def listing(
    name: str, title: str, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, tuple[str, Maker]], **options: Any
) -> Section:
    """A table with a line for each row. columns: by heading, a field of the row and the function making its cell."""
    cells = [[make(row[field]) for field, make in columns.values()] for row in rows]
    return Section(name, title, [*columns], cells, **options)
