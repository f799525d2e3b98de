"""The report as one HTML file that loads nothing: light and dark, for a wide window, a phone and print."""

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from draftproof.experiments.grid.figures import as_svg, draw_delay, line_style, matplotlib_pyplot
from draftproof.experiments.grid.report import equal_terms, section
from draftproof.experiments.grid.report.section import Cell, Section, axis_position
from draftproof.experiments.grid.report.summary import percent as in_percent

#: Colours of the verifiers after the highlighted lines of the figure, which have those of `line_style`.
_COLOURS = (
    "#7a5195", "#b15928", "#6a8f00", "#c2185b", "#00838f", "#8d6e63", "#5c6bc0", "#ef5675", "#4b7c4b", "#bc80bd",
    "#556b2f", "#4682b4", "#708090", "#8fbc3f", "#e377c2", "#17becf", "#a05d00", "#9e9ac8", "#2e8b57", "#cd5c5c",
)  # fmt: skip
_NAMED = 7
#: Colours of a figure, and the CSS variables of the page that replace them.
_THEME = {
    "#000000": "currentColor", "#404040": "var(--ink)", "#e0e0e0": "var(--soft)", "#e6e6e6": "var(--line)",
    "#bfbfbf": "var(--faint)", "#b3b3b3": "var(--faint)", "#ffffff": "var(--paper)",
}  # fmt: skip
#: Tables with a line for each row, by the field of the summary: title, and by heading a field and its cell's function.
_VERIFIER = ("verifier", section.name)
_LISTINGS: tuple[tuple[str, str, dict[str, tuple[str, section.Maker]]], ...] = (
    ("refuted", "Refuted", {
        "verifier": ("verifier", section.text), "control": ("control", lambda is_one: section.text("yes" * is_one)),
        "rows": ("rows", section.count), "refuted by": ("refuted", section.count),
        "largest deviation from p": ("deviation", section.number), "on": ("scheme", section.text),
        "command": ("command", section.command),
    }),
    ("cells", "On real models", {
        "verifier": _VERIFIER, "scheme": ("shape", section.text), "predicted": ("predicted", section.number),
        "measured": ("measured", section.number), "standard error": ("total_error", section.number),
        "z": ("z", lambda z: Cell(f"{z:+.2f}", kind="n")), "blocks": ("blocks", section.count),
    }),
    ("theorems", "Proved for all p and q", {
        "verifier": _VERIFIER, "scheme": ("shape", section.text), "V": ("vocab_size", section.count),
        "identities": ("identities", section.count),
    }),
)  # fmt: skip
_REFUTED = (
    "On schemes of this kind these are in no other table: the block efficiency of a lossy verifier does not count. "
    "Controls are wrong on purpose; where no row here refutes one, draftproof check does."
)
#: The most lines of a table, and the most of a table whose cells have texts on hover.
MOST_LINES, MOST_LINES_WITH_HOVER = 120, 40


def page(summary: Mapping[str, Any], stores: Sequence[str], version: str) -> str:
    """The whole report. stores: the files that it was made from."""
    loader = PackageLoader("draftproof.experiments.grid.report", "")
    template = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return template.get_template("report.html.j2").render(
        summary=summary,
        named=", ".join(stores),
        version=version,
        again=shlex.join(["draftproof", "report", *stores, "--json"]),
        colours=_colours(summary),
        pictures=_pictures(summary["delay"]["lines"]),
        places={
            row["verifier"]: [100 * axis_position(1 - share) for share in row["deciles"]]
            for row in summary["verifiers"]
        },
        axis_position=axis_position,
        percent=in_percent,
        notes=list(equal_terms.findings(summary)),
        sections=sorted((_shortened(part) for part in _sections(summary) if part.rows), key=lambda part: part.folded),
    )


def _colours(summary: Mapping[str, Any]) -> dict[str, str]:
    """One colour for each verifier; the colours of the figure first."""
    rows = [*summary["verifiers"], *summary["cells"], *summary["theorems"]]
    names = dict.fromkeys([*summary["delay"]["named"], *(row["verifier"] for row in rows)])
    palette = cycle([*(line_style(place)["color"].lower() for place in range(_NAMED)), *_COLOURS])
    return {name: _THEME.get(colour, colour) for name, colour in zip(names, palette, strict=False)}


def _pictures(lines: Mapping[str, Any]) -> list[Markup]:
    """The figure of delays for a wide window and for a narrow one; none without lines."""
    pictures = []
    for width, size, room in (("wide", (8.4, 4.6), 0.3), ("narrow", (4.3, 4.6), 0.68)) if lines else ():
        figure, axes = matplotlib_pyplot().subplots(figsize=size, layout="constrained")
        draw_delay(axes, lines, room)
        axes.set_xlabel("delay depth L1 (tokens before the tree branches)")
        svg = as_svg(figure, width)
        for colour, role in _THEME.items():
            svg = svg.replace(colour, role)
        pictures.append(Markup(svg.replace("<svg ", f'<svg class="{width}" role="img" ', 1)))  # names are escaped in it
    return pictures


def _sections(summary: Mapping[str, Any]) -> Iterator[Section]:
    refuted, *others = (section.listing(name, title, summary[name], columns) for name, title, columns in _LISTINGS)
    yield replace(refuted, note=_REFUTED)
    yield _schemes(summary)
    yield from equal_terms.sections(summary)
    yield from others


def _shortened(section: Section) -> Section:
    """The section with at most `MOST_LINES` lines, and without texts on hover where it is long."""
    rows, note = section.rows, section.note
    if len(rows) > MOST_LINES:
        note = f"{note} The first {MOST_LINES} of {len(rows):,} lines; --json has all.".strip()
    if len(rows) > MOST_LINES_WITH_HOVER:
        rows = [[cell._replace(hover="") for cell in row] for row in rows[:MOST_LINES]]
    return replace(section, rows=rows, note=note)


def _schemes(summary: Mapping[str, Any]) -> Section:
    names = [row["verifier"] for row in summary["verifiers"]]
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in summary["by_scheme"]:
        groups[row["scheme"]].append(row)
    cells: list[list[Cell]] = []
    for scheme, group in groups.items():
        first = group[0]
        top = max(row["mean"] for row in group) if first["optimum"] is None else first["optimum"]
        shares = {row["verifier"]: (1 - row["mean"] / top, f"{row['mean']:.4f}") for row in group}
        about = [section.text(scheme.removeprefix("delayed:")), section.count(first["nodes"]), section.number(top)]
        cells.append([*about, *section.shaded(shares, names), section.command(summary["commands"][scheme])])
    note = (
        "Percent below the best possible, of mean tokens a block: below the optimum, or below the best verifier where "
        "the optimum is not known."
    )
    labels = ("scheme", "drafted", "best possible")
    return Section("schemes", "Draft schemes", [*labels, *names, "command"], cells, note, verifier_columns=True)
