"""The tables and the picture of a validation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np

from draftproof.experiments.grid.figures import as_png, line_style, matplotlib_pyplot, style_axes
from draftproof.experiments.grid.groups import FEWEST, GROUPS_NOTE, few_text, group_columns, mean_by_group
from draftproof.experiments.inputs.schemes import shape_name
from draftproof.experiments.models.expect.expected import SUMS
from draftproof.experiments.models.measure.setting import Setting
from draftproof.experiments.models.measure.verifiers import claims
from draftproof.experiments.models.validate.agreement import MOST_ERRORS
from draftproof.experiments.models.validate.run import Report, Validation
from draftproof.experiments.result import Column, Result, Table

Row = Mapping[str, Any]
_CELLS = (
    Column("verifier"),
    Column("predicted", "exact"),
    Column("sampling_error", "exact", "± of it"),
    Column("measured", "exact"),
    Column("total_error", "exact", "std. error"),
    Column("z", "exact"),
    Column("draft_passes", "exact", "draft passes"),
    Column("blocks", "count"),
    Column("outcomes_p", "exact", "outcomes: p"),
    Column("own_efficiency", "exact", "own law"),
    Column("own_z", "exact", "z of it"),
    Column("law", "verdict", "lossless"),
    Column("agrees", "verdict", "predicted?"),
)
_CHECKS = (
    Column("check"),
    Column("verdict", "verdict"),
    Column("largest", "exact", "largest difference"),
    Column("scale", "exact", "numbers up to"),
    Column("shape", title="schemes"),
    *(Column(name, "count") for name in ("trees", "blocks", "tokens", "runs")),
    Column("differs", title="differs"),
)


def validation_result(report: Report, plot: str | None, files: Mapping[str, str]) -> Result:
    """The tables of a validation, refuted where something is not as predicted. files: of measured times, by name."""
    setting, wrong = report.validation.setting, report.failures
    figures: dict[str, str | bytes] = dict(files)
    notes = [*report.planned, *left_out(report.validation), *table_lines(report.rows, report.table)]
    tables = [cells(report.rows, report.table), checks(report.same)]
    grouped, how_sure = by_group(setting, report.rows, _shape(report.rows))
    tables, notes = [*tables, *grouped], [*notes, *how_sure]
    tables += [Table.whole(_CHECKED, report.checked, title="exact checks", name="exact_checks")]
    tables.append(Table.whole([], [about(setting, report)], name="about", shown=False))
    if plot:
        lossy = {cell["verifier"] for cell in report.table["lossy"]}
        figures[plot] = figure(report.rows, caption(setting, report.table), lossy)
    notes += [f"times: {name}, for compare --cost" for name in files]
    return Result(title(setting), tables, [*notes, outcome(report.table, wrong)], 1 if wrong else 0, figures)


_CHECKED = (Column("verifier"), Column("verdict", "verdict"), Column("instances", "count"), Column("again", "command"))


def title(setting: Setting) -> str:
    """Which pair it is, and after which roots."""
    target, draft = setting.pair.names
    about = (
        f"V = {setting.pair.vocab_size}, {setting.sampling}, {setting.fields['dtype']} on {setting.fields['device']}"
    )
    return f"target {target}, draft {draft}: {about}; after {setting.root_set}"


def about(setting: Setting, report: Report) -> dict[str, Any]:
    """Pair, roots and machine, and the table as a whole, for programs."""
    target, draft = setting.pair.names
    named = {"target": target, "draft": draft, "after": str(setting.root_set)}
    return {**named, **setting.fields, "known_lossy": list(report.known), **report.table}


def left_out(validation: Validation) -> list[str]:
    """Lines that name the verifiers left out on each scheme."""
    lines = []
    for scheme in validation.schemes:
        names = [tested.label for tested in validation.verifiers if not claims(tested.predicted, scheme)]
        if names:
            lines.append(f"left out on {shape_name(scheme)}, which their cards do not claim: {', '.join(names)}")
    return lines


def checks(same: Mapping[str, Row]) -> Table:
    """Tree attention, caches and greedy text: logits and numbers of two ways of computing them, and two texts."""
    rows = []
    for name, row in same.items():
        differ = ", ".join(f"{x['verifier']} ({x['shape']}) at token {x['token']}" for x in row.get("differ", ()))
        verdict = "DIFFERENT" if not row["passed"] else "identical" if name == "greedy" else "same up to rounding"
        rows.append({**row, "check": name.replace("_", " "), "verdict": verdict, "differs": differ or None})
    return Table.whole(_CHECKS, rows, title="two ways of computing the same", name="same")


def cells(rows: Sequence[Row], table: Row) -> Table:
    """Predicted against measured, a line for each verifier and scheme."""
    failed, lossy = _places(table["failed"]), _places(table["lossy"])
    listed = [
        {
            **row,
            "sampling_error": row["predicted_error"] or None,
            "outcomes_p": row["outcomes"] and row["outcomes"]["probability"],
            "own_efficiency": row["own_law"] and row["own_law"]["block_efficiency"],
            "own_z": row["own_law"] and row["own_law"]["z"],
            "law": "LOSSY" if _place(row) in lossy else row["verdict"],
            "agrees": "NOT as predicted" if _place(row) in failed else "as predicted",
        }
        for row in rows
    ]
    return Table.whole([_shape(rows), *_CELLS], listed, title="block efficiency, predicted against measured")


def _shape(rows: Sequence[Row]) -> Column:
    return Column("shape", title=_tree_heading(rows))


def _place(row: Row) -> tuple[str, str]:
    return row["verifier"], row["shape"]


def _places(rows: Sequence[Row]) -> set[tuple[str, str]]:
    return {_place(row) for row in rows}


def by_group(setting: Setting, rows: Sequence[Row], first: Column) -> tuple[list[Table], list[str]]:
    """Block efficiency by group of prompts, predicted and measured, if there are groups; and a note on how sure it is.

    rows: with `by_root`. first: the column that names a row beside its verifier.
    """
    groups = setting.root_set.groups
    if not groups:
        return [], [few_text("roots")] if len(setting.roots) < FEWEST else []
    listed = [
        {**row, **group, "what": what}
        for row in rows
        for what, means in row["by_root"].items()
        for group in mean_by_group(groups, means)
    ]
    columns = [first, Column("verifier"), Column("what", title=""), *group_columns("block efficiency")]
    return [Table.of(columns, listed, title="block efficiency by group of prompts", name="groups")], [GROUPS_NOTE]


def outcome(table: Row, wrong: Sequence[str]) -> str:
    """The last line: what is wrong, else what is as predicted and what is lossy."""
    lossy: dict[str, int] = Counter(cell["verifier"] for cell in table["lossy"])
    if wrong:
        return f"NOT as predicted: {', '.join(wrong)}"
    if not lossy:
        return "all as predicted"
    left = table["cells"] - sum(lossy.values())
    names = ", ".join(f"{name} ({count} {'cell' if count == 1 else 'cells'})" for name, count in lossy.items())
    others = f"the other {left} as predicted" if left else "no other cell"
    return f"lossy, as is known: {names}; {others}"


def _tree_heading(rows: Sequence[Row]) -> str:
    delayed = all(row["scheme"]["name"] == "delayed" for row in rows)
    return "K, L1, L2" if delayed else "scheme"


def table_lines(rows: Sequence[Row], table: Row) -> list[str]:
    """The table as a whole, in words."""
    means, outcomes = table["means"], table["outcomes"]
    lines = [
        f"{table['cells']} cells, largest |z| {table['largest_z']:.2f} (at most {MOST_ERRORS:g}), largest standard "
        f"error {table['largest_error']:.4f}",
        f"sum of z^2 {means['statistic']:,.4g} on {means['freedom']} degrees of freedom, "
        f"p = {means['probability']:.3g}",
    ]
    if outcomes["freedom"]:
        lines.append(
            f"outcomes (accepted tokens and correction): chi-square {outcomes['statistic']:,.6g} on "
            f"{outcomes['freedom']:,} degrees of freedom, p = {outcomes['probability']:.3g}"
        )
    summed = sum(row["prediction"] == SUMS for row in rows)
    if summed:
        lines.append(f"predicted by exact sums, without tables: {summed} cells; outcomes there are accepted depths")
    if table["lossy"]:
        lines.append("lossy: its law is not the target's, and tokens a block of it are no merit")
    if any(row["predicted_error"] for row in rows):
        lines.append("predicted from sampled trees where ± says so; blocks there are compared by their mean only")
    return lines


def figure(rows: Sequence[Row], caption: str, lossy: Container[str] = ()) -> bytes:
    """A PNG: measured against predicted, and the distance of the two in standard errors.

    lossy: the lossy verifiers; the picture labels them.
    """
    drawing, panels = matplotlib_pyplot().subplots(1, 2, figsize=(11.5, 5.0), layout="constrained", width_ratios=[4, 5])
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    names = list(dict.fromkeys(row["verifier"] for row in rows))
    ends = [f([row[key] for row in rows for key in ("predicted", "measured")]) for f in (min, max)]
    panels[0].plot(ends, ends, color="0.8", linewidth=4, zorder=1)
    for number, shape in enumerate(shapes):
        here = [row for row in rows if row["shape"] == shape]
        style = {**line_style(number), "linestyle": "none"}
        errors = [2 * row["total_error"] for row in here]
        points = [row["predicted"] for row in here], [row["measured"] for row in here]
        panels[0].errorbar(*points, yerr=errors, **style, markersize=6, elinewidth=1.2, label=shape)
        places = [names.index(row["verifier"]) + 0.12 * (number - (len(shapes) - 1) / 2) for row in here]
        panels[1].plot([np.clip(row["z"], -8, 8) for row in here], places, **style, markersize=6)
    panels[0].set_xlabel("predicted E[tau + 1]")
    panels[0].set_ylabel("measured, ± 2 standard errors")
    panels[0].legend(title=_tree_heading(rows), frameon=False, fontsize=9)
    panels[1].axvspan(-2, 2, color="0.94", zorder=0)
    for bound in (-MOST_ERRORS, MOST_ERRORS):
        panels[1].axvline(bound, color="#D55E00", linewidth=1.2, linestyle="--")
    shown = [f"{name} (lossy)" if name in lossy else name for name in names]
    panels[1].set_yticks(range(len(names)), shown, fontsize=9)
    panels[1].invert_yaxis()
    panels[1].set_xlim(-8.5, 8.5)
    panels[1].set_xlabel("z: measured minus predicted in standard errors (beyond 8: at 8)")
    for axes in panels:
        style_axes(axes)
    drawing.suptitle(caption, x=0.01, ha="left", fontsize=9)
    return as_png(drawing, 160)


def caption(setting: Setting, table: Row) -> str:
    """Where the numbers of a picture come from."""
    means = table["means"]
    return (
        f"Real models, predicted against measured, {table['cells']} cells: sum of z^2 {means['statistic']:.1f} on "
        f"{means['freedom']} degrees of freedom (p = {means['probability']:.2g})\n{title(setting)}"
    )
