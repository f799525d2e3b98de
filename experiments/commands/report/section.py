"""A section of the report, and its cells: what is shown, with the number behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from markupsafe import Markup

#: What is shown, and the number that it is sorted by and that stands on hover.
Cell: TypeAlias = tuple[str, float | None]


@dataclass(frozen=True)
class Section:
    """A table with a heading. commands: the column that holds commands, if there is one; figure: above the table."""

    name: str
    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    commands: int | None = None
    note: str = ""
    figure: Markup | None = None


def text(words: object) -> Cell:
    """Words."""
    return str(words), None


def count(value: int) -> Cell:
    """A whole number."""
    return f"{value:,}", float(value)


def number(value: float | None) -> Cell:
    """A number with four digits behind the point; nothing for None."""
    return ("", None) if value is None else (f"{value:.4f}", value)


def percent(value: float | None) -> Cell:
    """A share; nothing for None."""
    return ("", None) if value is None else (f"{value:.2%}", value)
