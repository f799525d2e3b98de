"""How results are shown in a notebook: small tables with exact and rounded numbers, and draft trees as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

#: Fractions of more characters are shown rounded only.
LONGEST = 24

#: Of a drawn tree: space of a leaf and of a level, radius of a node, in pixels.
ACROSS, DOWN, RADIUS = 124, 64, 15


def _escape(text: str) -> str:
    from html import escape  # noqa: PLC0415 - its table of entities takes longer to load than most of our modules

    return escape(text)


def number_text(value: Any) -> str:
    """A value for people: `91/36 = 2.527778`, a float to six digits, lists entry by entry, anything else as text."""
    if isinstance(value, list):
        return ", ".join(map(number_text, value))
    if isinstance(value, Mapping):
        return "; ".join(f"{key} {number_text(inner)}" for key, inner in value.items())
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


def tree_svg(children: Mapping[tuple[int, ...], Sequence[int]], reach: Mapping[tuple[int, ...], Any]) -> str:
    """A draft tree with the root on top: each node has its token, and beside it the number that `reach` has for it.

    children: drafted tokens by context; a token that is drafted n times is one node with "×n" before it. The darker a
    node, the larger its number. Colours are those of the text around it, so that it fits light and dark pages.
    """
    places: dict[tuple[int, ...], tuple[float, float]] = {}
    leaves = 0

    def place(context: tuple[int, ...]) -> float:
        nonlocal leaves
        below = [place((*context, token)) for token in dict.fromkeys(children.get(context, ()))]
        leaves += not below
        across = (below[0] + below[-1]) / 2 if below else (leaves - 0.5) * ACROSS
        places[context] = across, RADIUS + 5 + len(context) * DOWN
        return across

    place(())
    drawn = [_node_svg(context, *places[context], children, reach) for context in sorted(places)]
    lines = [_edge_svg(places[context[:-1]], places[context]) for context in places if context]
    width, height = leaves * ACROSS, max(down for _, down in places.values()) + RADIUS + 5
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img" '
        'style="max-width:100%;height:auto" font-family="sans-serif" font-size="12" fill="currentColor" '
        f'text-anchor="middle">{"".join(lines + drawn)}</svg>'
    )


def _edge_svg(above: tuple[float, float], below: tuple[float, float]) -> str:
    ends = f'x1="{above[0]:g}" y1="{above[1] + RADIUS:g}" x2="{below[0]:g}" y2="{below[1] - RADIUS:g}"'
    return f'<line {ends} stroke="currentColor" stroke-opacity="0.4"/>'


def _node_svg(
    context: tuple[int, ...],
    x: float,
    y: float,
    children: Mapping[tuple[int, ...], Sequence[int]],
    reach: Mapping[tuple[int, ...], Any],
) -> str:
    number = reach.get(context)
    times = list(children[context[:-1]]).count(context[-1]) if context else 1
    label, shown = str(context[-1]) if context else "root", "" if number is None else number_text(number)
    dark = 0.0 if number is None else 0.75 * float(number)
    beside = "".join(
        f'<text x="{x + RADIUS + 4:g}" y="{y + 13 * line:g}" font-size="11" text-anchor="start">{_escape(part)}</text>'
        for line, part in enumerate(filter(None, shown.split(" = ")))
    )
    return (
        f"<g><title>{_escape(str(context))} {_escape(shown)}</title>"
        f'<circle cx="{x:g}" cy="{y:g}" r="{RADIUS}" fill="#4f7cff" fill-opacity="{dark:.3g}" stroke="currentColor"/>'
        f'<text x="{x:g}" y="{y + 4:g}" font-size="{12 if context else 10}">{_escape(label)}</text>'
        + (f'<text x="{x - RADIUS - 10:g}" y="{y + 4:g}" font-size="11">×{times}</text>' if times > 1 else "")
        + f"{beside}</g>"
    )
