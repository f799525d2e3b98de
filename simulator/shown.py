"""How results are shown in a notebook: a small table, its numbers as fractions with their rounded value beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

#: Fractions of more characters are shown rounded only.
LONGEST = 24


def _escape(text: str) -> str:
    from html import escape  # noqa: PLC0415 - its table of entities takes longer to load than most of our modules

    return escape(text)


def number_text(value: Any) -> str:
    """A value for people: `91/36 = 2.527778`, a float to six digits, anything else as text."""
    if isinstance(value, Fraction) and value.denominator != 1:
        exact = f"{value.numerator}/{value.denominator}" if value.denominator < 10**LONGEST else ""
        rounded = f"{float(value):.6g}"
        return f"{exact} = {rounded}" if exact and len(exact) <= LONGEST else rounded
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def fields_html(title: str, fields: Mapping[str, Any]) -> str:
    """One line for every field."""
    lines = "".join(
        f"<tr><th style='text-align:left'>{_escape(key)}</th><td>{_escape(number_text(value))}</td></tr>"
        for key, value in fields.items()
    )
    return f"<table><caption>{_escape(title)}</caption>{lines}</table>"


def rows_html(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line for every row; the columns of the first."""
    keys = list(rows[0]) if rows else []
    head = "".join(f"<th>{_escape(key)}</th>" for key in keys)
    body = "".join(
        "<tr>" + "".join(f"<td>{_escape(number_text(row.get(key)))}</td>" for key in keys) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"
