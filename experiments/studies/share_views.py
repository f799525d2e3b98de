"""The table and the figure of the study of shares, from its rows."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from rich.table import Table

from draftproof.experiments.grid.figures import as_png, line_style, matplotlib_pyplot, style_axes

QUANTILES = {"worst": 0.0, "5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75}

Row = dict[str, Any]


def summarise(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Mean and quantiles of the share by verifier, the best mean first."""
    shares = {name: np.array([row["shares"][name] for row in rows]) for name in rows[0]["shares"]}
    ranked = sorted(shares, key=lambda name: -shares[name].mean())
    return {
        name: {
            "mean": float(shares[name].mean()),
            **{label: float(np.quantile(shares[name], level)) for label, level in QUANTILES.items()},
        }
        for name in ranked
    }


def table(summary: dict[str, dict[str, float]], rows: Sequence[Row]) -> Table:
    """The summary on the terminal."""
    gap = max(row["gap_float"] for row in rows)
    view = Table(
        title=f"share of the optimum over {len(rows):,} instances (largest certified gap {gap:.1e})",
        title_justify="left",
    )
    view.add_column("verifier")
    for heading in ("mean", *QUANTILES):
        view.add_column(heading, justify="right")
    for name, values in summary.items():
        view.add_row(name, *(f"{value:.4f}" for value in values.values()))
    return view


def markdown(summary: dict[str, dict[str, float]], rows: Sequence[Row]) -> str:
    """Markdown tables: the summary, the mean share by branches and by shape, and the loss by depth."""
    levels = {label: {name: summary[name][label] for name in summary} for label in ("mean", *QUANTILES)}
    by_paths = {f"K = {K}": mean_shares(group) for K, group in _groups(rows, lambda row: row["K"])}
    shapes = _groups(rows, lambda row: (row["L1"], row["L2"]))
    by_shape = {f"{L1}, {L2}": mean_shares(group) for (L1, L2), group in shapes}
    deepest, lost = lost_by_depth(rows)
    by_depth = {f"d = {depth}": {name: lost[name][depth - 1] for name in lost} for depth in range(1, deepest + 1)}
    return "\n".join(_grid(list(summary), columns) for columns in (levels, by_paths, by_shape, by_depth))


def _grid(names: Sequence[str], columns: dict[str, dict[str, float]]) -> str:
    from tabulate import tabulate

    body = [[f"`{name}`", *(f"{round(column[name], 4) + 0.0:.4f}" for column in columns.values())] for name in names]
    text: str = tabulate(body, ["verifier", *columns], tablefmt="github", disable_numparse=True)
    return text + "\n"


def _groups(rows: Sequence[Row], key: Callable[[Row], Any]) -> list[tuple[Any, list[Row]]]:
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return sorted(groups.items())


def mean_shares(rows: Sequence[Row]) -> dict[str, float]:
    """The mean share of each verifier."""
    return {name: float(np.mean([row["shares"][name] for row in rows])) for name in rows[0]["shares"]}


def lost_by_depth(rows: Sequence[Row]) -> tuple[int, dict[str, list[float]]]:
    """The largest depth `L`, and by verifier the mean of `P(tau >= d)` of the optimum minus that of the verifier.

    For `d = 1..L`, on trees of depth `L`. Other optimal plans than the one found may have another `P(tau >= d)`.
    """
    deepest = max(row["L1"] + row["L2"] for row in rows)
    deep = [row for row in rows if row["L1"] + row["L2"] == deepest]
    lost = {name: np.mean([row["lost"][name][1:] for row in deep], axis=0).tolist() for name in rows[0]["lost"]}
    return deepest, lost


def figure(rows: Sequence[Row]) -> bytes:
    """A PNG: quantiles by verifier, loss by depth, and mean share by number of branches."""
    summary = summarise(rows)
    drawing, panels = matplotlib_pyplot().subplots(
        1, 3, figsize=(12.5, 5.2), layout="constrained", width_ratios=[4, 3, 3]
    )
    styles = {name: {**line_style(number), "markersize": 5, "linewidth": 1.2} for number, name in enumerate(summary)}
    _quantiles(panels[0], summary)
    _lost(panels[1], rows, styles)
    _by_branches(panels[2], rows, styles)
    panels[2].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8, handlelength=3.5)
    drawing.suptitle(f"Share of the certified optimum, {len(rows):,} random instances", x=0.01, ha="left", fontsize=10)
    return as_png(drawing, 160)


def _quantiles(axes: Any, summary: dict[str, dict[str, float]]) -> None:
    axes.axvline(1, color="0.6", linewidth=3, zorder=1)
    for place, values in enumerate(reversed(summary.values())):
        flat = {"color": "0.45", "solid_capstyle": "butt"}
        axes.plot([values["5 %"], values["25 %"]], [place, place], **flat, linewidth=1.5)
        axes.plot([values["25 %"], values["75 %"]], [place, place], **flat, linewidth=5)
        axes.plot(values["median"], place, "o", color="#D55E00", markersize=6, zorder=3)
        axes.plot(values["worst"], place, "|", color="0.4", markersize=9)
    axes.set_yticks(range(len(summary)), list(reversed(summary)), fontsize=9)
    axes.set_xlabel("share: worst |, from 5 % on, quartiles, median o")
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _lost(axes: Any, rows: Sequence[Row], styles: dict[str, Any]) -> None:
    deepest, lost = lost_by_depth(rows)
    for name, style in styles.items():
        axes.plot(range(1, deepest + 1), lost[name], label=name, **style)
    axes.set_xticks(range(1, deepest + 1))
    axes.set_xlabel(f"depth d (trees of depth {deepest})")
    axes.set_ylabel("P(tau >= d) of the optimum minus the verifier's")
    axes.axhline(0, color="0.6", linewidth=3, zorder=1)
    style_axes(axes)


def _by_branches(axes: Any, rows: Sequence[Row], styles: dict[str, Any]) -> None:
    means = {K: mean_shares(group) for K, group in _groups(rows, lambda row: row["K"])}
    for name, style in styles.items():
        axes.plot(list(means), [shares[name] for shares in means.values()], label=name, **style)
    axes.axhline(1, color="0.6", linewidth=3, zorder=1)
    axes.set_xticks(list(means))
    axes.set_xlabel("branches K")
    axes.set_ylabel("mean share of the optimum")
    style_axes(axes)


#: Shares closer than this count as equal: they are quotients of sums in float64.
CLOSE = 1e-9
#: The verifier that the figures of the page are about.
COMPARED = "layer_transport"
#: Shares within this of each other count as equally good.
AS_GOOD = 1e-4
#: Worst instances that are listed.
WORST = 10


def claims(rows: Sequence[Row]) -> str:
    """A list in Markdown, one line for each figure. rows: as stored."""
    return "".join(f"- {name}: {figure}\n" for name, figure in _figures(rows))


def _figures(rows: Sequence[Row]) -> Iterable[tuple[str, str]]:
    methods = Counter(row["method"] for row in rows)
    most = max(max(row["shares"].values()) for row in rows)
    names = list(rows[0]["shares"])
    yield "instances", f"{len(rows):,}, in {sum(row['seconds'] for row in rows) / 60:.0f} minutes of one core"
    yield "optima by method", _counted(methods)
    yield "largest certified gap", f"{max(row['gap_float'] for row in rows):.1e}"
    yield "largest share", f"{most:.4f}" if most <= 1 else f"1 + {most - 1:.1e}"
    leaders = [_leaders(row) for row in rows]
    others = [best for best in leaders if COMPARED not in best]
    yield "best, to 1e-9", _counted(Counter(name for best in leaders for name in best))
    yield (
        f"where `{COMPARED}` is not best ({len(others):,})",
        _counted(Counter(name for best in others for name in best)),
    )
    yield from _deep(rows)
    steps = [row for row in rows if row["L1"] + row["L2"] == 1]
    if steps:
        misses = {name: max(1 - row["shares"][name] for row in steps) for name in names}
        chosen = sorted(misses, key=lambda name: misses[name])[:3]
        text = ", ".join(f"`{name}` {max(misses[name], 0.0):.1e}" for name in chosen)
        yield f"largest misses at one step ({len(steps):,}), the best three", text
    below = {K: _share_of(rows, K, _greedy_below_block) for K in sorted({row["K"] for row in rows})}
    yield "`gbv` below `block`", ", ".join(f"{share:.0%} at K = {K}" for K, share in below.items())
    lost = sum(1 - row["shares"]["gbv"] for row in rows)
    left = sum(1 - row["shares"]["mixed_order, best a"] for row in rows)
    yield (
        "of the gap of `gbv`, the part that the best `a` closes",
        f"{(lost - left) / lost:.0%}" if lost > 0 else "nothing",
    )
    deepest = max(row["L1"] + row["L2"] for row in rows)
    yield f"instances of depth {deepest}", f"{sum(row['L1'] + row['L2'] == deepest for row in rows):,}"


def _deep(rows: Sequence[Row]) -> Iterable[tuple[str, str]]:
    """Figures of the verifier `COMPARED` on trees deeper than one step."""
    deep = [row for row in rows if row["L1"] + row["L2"] > 1]
    if not deep:
        return
    shares = sorted(row["shares"][COMPARED] for row in deep)
    yield f"`{COMPARED}` at L > 1 ({len(deep):,})", f"mean {sum(shares) / len(shares):.5f}, worst {shares[0]:.4f}"
    ahead = sum(row["shares"][COMPARED] >= _next(row)[1] - AS_GOOD for row in deep)
    yield f"there ahead of all others, or within {AS_GOOD:.0e}", f"{ahead:,}, {ahead / len(deep):.1%}"
    for number, row in enumerate(sorted(deep, key=lambda row: row["shares"][COMPARED])[:WORST], start=1):
        shape = ", ".join(f"{key} = {row[key]}" for key in ("K", "L1", "L2", "seed"))
        name, share = _next(row)
        family = f"{row['family']}{row['parameters'] or ''}"
        lost = ", ".join(f"{mass:.4f}" for mass in row["lost"][COMPARED][1:])
        yield (
            f"worst {number} of `{COMPARED}`",
            f"{row['shares'][COMPARED]:.4f} ({family}, V = {row['vocab_size']}, {shape}; `{name}` {share:.4f}; lost at "
            f"depths 1, 2, ..: {lost})",
        )
    errors = [error for row in rows for error in row.get("errors", {}).values()]
    if errors:
        yield "shares that are sampled", f"{len(errors):,}, largest standard error {max(errors):.1e}"


def _next(row: Row) -> tuple[str, float]:
    """The best verifier but `COMPARED`, with its share."""
    others = {name: share for name, share in row["shares"].items() if name != COMPARED}
    name = max(others, key=others.__getitem__)
    return name, others[name]


def _leaders(row: Row) -> list[str]:
    """The verifiers with the largest share on this instance."""
    most = max(row["shares"].values())
    return [name for name, share in row["shares"].items() if share >= most - CLOSE]


def _greedy_below_block(row: Row) -> bool:
    return bool(row["shares"]["gbv"] < row["shares"]["block"] - CLOSE)


def _share_of(rows: Sequence[Row], K: int, holds: Callable[[Row], bool]) -> float:
    group = [row for row in rows if row["K"] == K]
    return sum(holds(row) for row in group) / len(group)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"`{name}` {count:,}" for name, count in counts.most_common()) or "none"
