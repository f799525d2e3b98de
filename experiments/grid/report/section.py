"""A section of the report and its cells: what is shown, with the number that it is sorted and shaded by."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any, NamedTuple, TypeAlias

#: Powers of ten on the line of shares, and shades of a cell.
DECADES, SHADES = 6, 8


class Cell(NamedTuple):
    """What is shown. hover: said beside the pointer; kind: a name of a verifier, a command, or a class of the page."""

    text: str
    hover: str = ""
    kind: str = ""


Maker: TypeAlias = Callable[[Any], Cell]


@dataclass(frozen=True)
class Section:
    """A table with a heading. folded: shown on demand; square: most columns are verifiers."""

    name: str
    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    folded: bool = False
    square: bool = False


def text(words: object) -> Cell:
    """Words; nothing for None."""
    return Cell("" if words is None else str(words))


def name(verifier: str) -> Cell:
    """A verifier, with its colour."""
    return Cell(verifier, kind="name")


def command(line: str) -> Cell:
    """A command, behind a button."""
    return Cell(line, kind="command")


def count(value: int) -> Cell:
    """A whole number."""
    return Cell(f"{value:,}", kind="n")


def number(value: float | None) -> Cell:
    """A number with four digits behind the point; nothing for None."""
    return Cell("" if value is None else f"{value:.4f}", kind="n")


def percent(value: float | None) -> Cell:
    """A share; nothing for None."""
    return Cell("" if value is None else f"{value:.2%}", kind="n")


def along(share: float) -> float:
    """Where a share stands on a logarithmic line from a millionth, at 0, to all, at 1."""
    return min(max(log10(share) / DECADES + 1, 0.0), 1.0) if share > 0 else 0.0


def shaded(shares: Mapping[str, tuple[float, str]], verifiers: Sequence[str], logarithmic: bool = True) -> list[Cell]:
    """A cell for each verifier: its share in percent, the darker the larger, with more on hover."""
    cells = []
    for each in verifiers:
        share, hover = shares.get(each, (None, ""))
        shown = "" if share is None else _few_digits(share, 2 if logarithmic else 0)
        cells.append(Cell(shown, hover, f"n h{_shade(share or 0.0, logarithmic)}"))
    return cells


def _few_digits(share: float, digits: int) -> str:
    """Percent; what is not nothing is never 0."""
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
    """A table with a line for each row. columns: by heading the field of the row, and what makes a cell of it."""
    cells = [[make(row[field]) for field, make in columns.values()] for row in rows]
    return Section(name, title, [*columns], cells, **options)
