"""The report as one HTML file that loads nothing: light and dark, for a window, a phone and print."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from draftproof.experiments.grid.figures import as_svg, best_budget, delay_lines, draw_delay, matplotlib_pyplot
from draftproof.experiments.grid.report.rows import WorldOnScheme, grouped
from draftproof.experiments.grid.report.tables import COLUMNS
from draftproof.experiments.result import NUMBERS, Result, Table

#: Colours of a figure, and the CSS variables of the page that replace them.
_THEME = {
    "#000000": "currentColor", "#404040": "var(--ink)", "#e0e0e0": "var(--soft)", "#e6e6e6": "var(--line)",
    "#bfbfbf": "var(--faint)", "#b3b3b3": "var(--faint)", "#ffffff": "var(--paper)",
}  # fmt: skip
#: The most lines of a table; longer tables than the second number are opened by a click.
MOST_LINES, MOST_OPEN = 300, 60


def page(result: Result, pairs: Sequence[WorldOnScheme], stores: Sequence[str], version: str) -> str:
    """The whole report. pairs: of the figure. stores: the files that it was made from."""
    loader = PackageLoader("draftproof.experiments.grid.report", "")
    template = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return template.get_template("report.html.j2").render(
        named=", ".join(stores),
        version=version,
        again=shlex.join(["draftproof", "report", *stores, "--json"]),
        findings=result.notes,
        figure=_figure(pairs),
        sections=[_section(table) for table in result.tables],
    )


def _figure(pairs: Sequence[WorldOnScheme]) -> Markup:
    """The figure of delays; empty without a line of two points."""
    rows = list(_means(pairs))
    lines = delay_lines(rows, budget := best_budget(rows))
    if all(len(line) < 2 for line in lines.values()):
        return Markup("")
    figure, axes = matplotlib_pyplot().subplots(figsize=(8.4, 4.6), layout="constrained")
    draw_delay(axes, lines)
    axes.set_title(f"Trees of {budget} drafted tokens (L1 + K L2 = {budget}), the best shape at each delay", loc="left")
    svg = as_svg(figure)
    for colour, role in _THEME.items():
        svg = svg.replace(colour, role)
    return Markup(svg)  # names are escaped in it


def _means(pairs: Sequence[WorldOnScheme]) -> Iterator[dict[str, Any]]:
    """The rows of the figure: means over worlds of delayed trees, of the shapes with the most worlds."""
    groups = grouped((pair for pair in pairs if pair.is_delayed), lambda pair: pair.row["shape"])
    most = max(map(len, groups.values()), default=0)
    for group in groups.values():
        first, bounds = group[0], [pair.upper for pair in group if pair.upper is not None]
        for name in first.values:
            values = [pair.values[name] for pair in group if name in pair.values]
            if len(values) == most:
                yield {
                    **first.row, **first.row["scheme"], "verifier": name, "control": False, "lossless": True,
                    "block_efficiency_float": fmean(values),
                    "optimum_upper_float": fmean(bounds) if len(bounds) == most else None,
                }  # fmt: skip


def _section(table: Table) -> dict[str, Any]:
    """What the template shows of a table, commands too."""
    table = replace(table, columns=[replace(column, shown=True) for column in table.columns])
    columns, cells = table.texts()
    styles = [_style(column.kind) for column in columns]
    note = COLUMNS[table.name][1]
    if len(cells) > MOST_LINES:
        note = f"{note} The first {MOST_LINES} of {len(cells):,} lines; --json has all.".strip()
    return {
        "name": table.name,
        "title": table.caption,
        "note": note,
        "folded": len(cells) > MOST_OPEN,
        "headings": list(zip([column.heading for column in columns], styles, strict=True)),
        "rows": [list(zip(row, styles, strict=True)) for row in cells[:MOST_LINES]],
    }


def _style(kind: str) -> str:
    return "command" if kind == "command" else "number" if kind in NUMBERS else ""
