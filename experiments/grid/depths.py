"""Figures by depth: the L1 distance of p and q, acceptance, and the gain of one more branch that begins there.

Depth `d` is that of a drafted token: 1 for the first. A branch that begins with it has a trunk of `L1 = d - 1`.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from textwrap import wrap
from typing import Any

import numpy as np

from draftproof.experiments.grid.figures import as_png, line_style, matplotlib_pyplot, style_axes
from draftproof.experiments.grid.rows import mixture
from draftproof.experiments.shared.output import number_fields
from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import MarkovProcess, told_of

#: The panels of the picture: field, title, what is on the horizontal axis.
_PANELS = (
    ("distance", "mean L1(p, q), faint: accepted contexts", "depth d of the drafted token"),
    ("accepted", "P(tau ≥ d | tau ≥ d - 1), faint: K - 1", "depth d of the drafted token"),
    ("gain", "gain in E[tau + 1] of one more branch", "depth d at which it begins"),
    ("gain_per_token", "gain per added token", "depth d at which it begins"),
)
#: What a faint line beside it shows.
_FAINT = {"distance": "distance_accepted", "accepted": "accepted_fewer"}


def mean_distances(roots: Sequence[Case], depth: int, accepted: bool = False) -> list[Fraction | float | None]:
    """The mean of `sum |p - q|` for the tokens of depth `1..depth`, over weighted roots and contexts below them.

    roots: with tables to that depth or Markov processes; the means are exact where the rows are. accepted: contexts are
    those that token-by-token verification of one path accepts, by the rows that it is told, rather than all that the
    draft draws. None where there are none.
    """
    by_root = [_distances(root, depth, accepted) for root in roots]
    weights = [root.weight for root in roots]
    means = []
    for at in range(depth):
        mass, total = (mixture(weights, [sums[at][side] for sums in by_root]) for side in range(2))
        means.append(total / mass if mass else None)
    return means


def _distances(case: Case, depth: int, accepted: bool) -> list[tuple[Fraction | float, Fraction | float]]:
    """For each length the probability of the contexts, and the sum of probability times distance over them."""
    told = told_of(case.draft)
    sides = (case.target, case.draft) if told is None else (case.target, case.draft, told)
    size, order = case.target.vocab_size, max(getattr(each, "order", depth) for each in sides)
    mass, sums = case.draft.row(())[:1] * 0 + 1, []
    for length in range(depth):
        known = min(length, order)  # the rows of Markov processes depend on no more tokens
        p, q, *shown = (each.table(known) if isinstance(each, MarkovProcess) else each.tables[known] for each in sides)  # type: ignore[attr-defined]
        gaps = abs(p - q)
        kept = (p + q - gaps) / 2 if accepted else q
        if accepted and told is not None:
            [r] = shown
            kept = q * (np.minimum(p, r) + (r <= 0)) / (r + (r <= 0))
        sums.append((as_python(mass.sum()), as_python((mass * gaps.sum(axis=1)).sum())))
        mass = (mass[:, None] * kept).reshape(-1)
        if known == order:
            mass = mass.reshape(size, -1).sum(axis=0)
    return sums


def trees(branches: int, length: int) -> tuple[list[Delayed], list[Delayed]]:
    """The trees of depth `length` with one branch less and with `branches`, for trunks of `0..length - 1` tokens."""
    fewer, more = ([Delayed(k, at, length - at) for at in range(length)] for k in (branches - 1, branches))
    return ([Delayed(1, 0, length)] * length if branches == 2 else fewer), more  # one path has one shape


def depth_rows(
    fewer: Sequence[Mapping[str, Any]],
    more: Sequence[Mapping[str, Any]],
    means: Sequence[Any],
    met: Sequence[Any],
    trunk: int = 0,
) -> list[dict[str, Any]]:
    """A row for each depth, from the rows of one verifier on `trees` and `mean_distances`; met: over accepted ones.

    trunk: that of the two trees whose acceptance is told. Where `fewer` is empty, `more` is the row of one tree of any
    scheme, and there is no gain.
    """
    rows = []
    below, above = _reached(fewer[trunk]) if fewer else None, _reached(more[trunk])
    for at, distance in enumerate(means):
        pair = (more[at], fewer[at]) if fewer else None
        gain = None if pair is None else _number(pair[0], "block_efficiency") - _number(pair[1], "block_efficiency")
        laws = (more[0],) if pair is None else (fewer[trunk], more[trunk], *pair[::-1])
        numbers = {
            "distance": distance,
            "distance_accepted": met[at],
            "accepted_fewer": below[at + 1] / below[at] if below and below[at] else None,
            "accepted": above[at + 1] / above[at] if above[at] else None,
            "reached_fewer": below[at + 1] if below else None,
            "reached": above[at + 1],
            "gain": gain,
            "gain_per_token": None if pair is None else gain / (pair[0]["nodes"] - pair[1]["nodes"]),
        }
        rows.append(
            {
                "verifier": more[0]["verifier"],
                "K": more[0]["K"],
                "depth": at + 1,
                **({} if pair is None else {"L1": at, "L2": len(means) - at}),
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
                if field in _FAINT:
                    values = [row[f"{_FAINT[field]}_float"] for row in points]
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
    figure.suptitle("\n".join(wrap(f"{caption}, K = {rows[0]['K']}", 160)), x=0.01, ha="left", fontsize=9)
    if len(samplings) > 1:
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)
    return as_png(figure, 120)
