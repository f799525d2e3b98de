"""Figures by depth: the L1 distance of p and q, acceptance, and the gain of one more branch that begins there.

Depth `d` is that of a drafted token: 1 for the first. A branch that begins with it has a trunk of `L1 = d - 1`.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from textwrap import wrap
from typing import Any

from draftproof.experiments.grid.figures import as_png, line_style, matplotlib_pyplot, style_axes
from draftproof.experiments.shared.output import number_fields
from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import MarkovProcess

#: The panels of the picture: field, title, what is on the horizontal axis.
_PANELS = (
    ("distance", "mean L1(p, q)", "depth d of the drafted token"),
    ("accepted", "P(tau ≥ d | tau ≥ d - 1)", "depth d of the drafted token"),
    ("gain", "gain in E[tau + 1] of one more branch", "depth d at which it begins"),
    ("gain_per_token", "gain per added token", "depth d at which it begins"),
)


def distances(case: Case, depth: int) -> list[Fraction | float]:
    """The mean of `sum |p - q|` for the tokens of depth `1..depth`, over contexts drawn from the draft.

    case: tables to that depth or Markov processes; the means are exact where its rows are.
    """
    sides = case.target, case.draft
    size, order = case.target.vocab_size, max(getattr(each, "order", depth) for each in sides)
    mass, means = case.draft.row(())[:1] * 0 + 1, []
    for length in range(depth):
        known = min(length, order)  # the rows of Markov processes depend on no more tokens
        p, q = (each.table(known) if isinstance(each, MarkovProcess) else each.tables[known] for each in sides)  # type: ignore[attr-defined]
        means.append(as_python((mass * abs(p - q).sum(axis=1)).sum()))
        mass = (mass[:, None] * q).reshape(-1)
        if known == order:
            mass = mass.reshape(size, -1).sum(axis=0)
    return means


def trees(branches: int, length: int) -> tuple[list[Delayed], list[Delayed]]:
    """The trees of depth `length` with one branch less and with `branches`, for trunks of `0..length - 1` tokens."""
    fewer, more = ([Delayed(k, at, length - at) for at in range(length)] for k in (branches - 1, branches))
    return ([Delayed(1, 0, length)] * length if branches == 2 else fewer), more  # one path has one shape


def depth_rows(
    fewer: Sequence[Mapping[str, Any]], more: Sequence[Mapping[str, Any]], means: Sequence[Fraction | float]
) -> list[dict[str, Any]]:
    """A row for each depth, from the rows of one verifier on `trees` and the mean distances."""
    rows = []
    below, above = _reached(fewer[0]), _reached(more[0])
    for at, distance in enumerate(means):
        gain = _number(more[at], "block_efficiency") - _number(fewer[at], "block_efficiency")
        laws = fewer[0], more[0], fewer[at], more[at]
        numbers = {
            "distance": distance,
            "accepted_fewer": below[at + 1] / below[at] if below[at] else None,
            "accepted": above[at + 1] / above[at] if above[at] else None,
            "reached_fewer": below[at + 1],
            "reached": above[at + 1],
            "gain": gain,
            "gain_per_token": gain / (more[at]["nodes"] - fewer[at]["nodes"]),
        }
        rows.append(
            {
                "verifier": more[0]["verifier"],
                "K": more[at]["K"],
                "depth": at + 1,
                "L1": at,
                "L2": len(means) - at,
                **{key: field for name, each in numbers.items() for key, field in number_fields(name, each).items()},
                "arithmetic": more[0]["arithmetic"],
                **{name: any(law[name] for law in laws) for name in ("control", "assumed", "rounding_decides")},
                "lossless": all(law["lossless"] for law in laws),
                "laws": [law["strong_id"] for law in laws],
            }
        )
    return rows


def _reached(law: Mapping[str, Any]) -> list[Any]:
    """`P(tau >= d)` for `d = 0..L`."""
    masses = [Fraction(mass) for mass in law.get("depth_distribution_exact", ())] or law["depth_distribution"]
    return [sum(masses[depth:]) for depth in range(len(masses))]


def _number(law: Mapping[str, Any], name: str) -> Any:
    return Fraction(law[name]) if law["arithmetic"] == "rational" else law[f"{name}_float"]


def depths_figure(rows: Sequence[dict[str, Any]], caption: str) -> bytes:
    """A PNG: a line of panels for each verifier, in each panel a line for each way of sampling."""
    pyplot = matplotlib_pyplot()
    names = list(dict.fromkeys(row["verifier"] for row in rows))
    branches = rows[0]["K"]
    samplings = list(dict.fromkeys(row["sampling"] for row in rows))
    size = (3.3 * len(_PANELS), 0.9 + 2.5 * len(names))
    figure, grid = pyplot.subplots(
        len(names), len(_PANELS), figsize=size, layout="constrained", squeeze=False, sharex=True, sharey="col"
    )
    for line, name in zip(grid, names, strict=True):
        drawn = [row for row in rows if row["verifier"] == name]
        for axes, (field, _, _) in zip(line, _PANELS, strict=True):
            for number, sampling in enumerate(samplings):
                points = [row for row in drawn if row["sampling"] == sampling]
                depths, style = [row["depth"] for row in points], line_style(number)
                axes.plot(depths, [row[f"{field}_float"] for row in points], **style, markersize=5, label=sampling)
                if field == "accepted":
                    values = [row["accepted_fewer_float"] for row in points]
                    axes.plot(depths, values, color=style["color"], alpha=0.35, linewidth=1)
            axes.set_xticks(depths)
            axes.tick_params(labelsize=8)
            style_axes(axes)
        line[0].set_visible(name == names[0])  # the distance is that of the pair
        line[1].set_ylabel(name + " (lossy)" * (not all(row["lossless"] for row in drawn)), fontsize=10)
    for place, (_, title, across) in enumerate(_PANELS):
        grid[0][place].set_title(title, fontsize=9)
        last = grid[-1 if place else 0][place]
        last.set_xlabel(across, fontsize=8)
        last.tick_params(labelbottom=True)
    figure.suptitle(
        "\n".join(wrap(f"{caption}; K = {branches}, faint: K = {branches - 1}", 160)), x=0.01, ha="left", fontsize=9
    )
    if len(samplings) > 1:
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)
    return as_png(figure, 120)
