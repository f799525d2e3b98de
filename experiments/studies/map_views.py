"""Views of the study of which tree is best where (`map_of_trees`): tables, a figure and a list of numbers."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rich.table import Table

from draftproof.experiments.grid.figures import as_png, matplotlib_pyplot, style_axes
from draftproof.experiments.studies.map_points import (
    CHAIN,
    CLOSE,
    DRAFT_TIMES,
    SEVERAL,
    Budget,
    Row,
    advantage,
    at,
    budgets,
    crossings,
    gain,
    gains_from_target,
    points,
)
from draftproof.experiments.studies.map_schemes import KINDS

#: Colour (distinguishable by colour-blind readers) and marker of each kind of scheme, and of each temperature.
_KIND_STYLES = dict(zip(KINDS, (("#0072B2", "o"), ("#56B4E9", "^"), ("#009E73", "D"), ("#D55E00", "s")), strict=True))
_KIND_STYLES |= {CHAIN: ("#000000", "*"), SEVERAL: ("0.6", "x")}
_TEMPERATURE_STYLES = (("v", "#D55E00"), ("o", "#000000"), ("^", "#56B4E9"), ("s", "#0072B2"))


def table(rows: Sequence[Row]) -> Table:
    """The points on the terminal."""
    all_points = points(rows)
    view = Table(title=f"which tree wins where, {len(rows):,} instances", title_justify="left")
    headings = ("N, passes, V", "draft", "temperature", "distance", "largest optimum", "", "best pair", "")
    for heading, justify in zip(headings, ("left", "left", "right", "right", "left", "right") * 2, strict=False):
        view.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for budget in budgets(all_points):
        for point in at(all_points, budget):
            view.add_row(", ".join(map(str, budget)), *_cells(point))
        view.add_section()
    return view


def markdown(rows: Sequence[Row]) -> str:
    """A Markdown table of every point with its winners."""
    from tabulate import tabulate

    all_points = points(rows)
    headings = ("N, passes, V", "draft", "temperature", "distance", "largest optimum", "E", "best pair", "E")
    body = [
        [", ".join(map(str, budget)), *_cells(point, "`")]
        for budget in budgets(all_points)
        for point in at(all_points, budget)
    ]
    text: str = tabulate(body, headings, tablefmt="github", disable_numparse=True)
    return text + "\n"


def _cells(point: Row, quote: str = "") -> list[str]:
    scheme, verifier = point["best pair"].split()
    return [
        f"{point['kind']} {point['value']:g}",
        f"{point['temperature']:g}",
        f"{point['distance']:.3f}",
        quote + point["best"] + quote,
        f"{point['optima'][point['best']]:.3f}",
        f"{quote}{scheme}{quote}, {quote}{verifier}{quote}",
        f"{point['pairs'][point['best pair']]:.3f}",
    ]


def figure(rows: Sequence[Row]) -> bytes:
    """A PNG, a column a budget: kinds of the winners; random against deterministic; adaptive against delayed."""
    all_points = points(rows)
    every, temperatures = budgets(all_points), sorted({point["temperature"] for point in all_points})
    drawing, panels = matplotlib_pyplot().subplots(
        3, len(every), figsize=(2.7 * len(every) + 1.5, 8), layout="constrained", squeeze=False, sharex="col"
    )
    for column, budget in enumerate(every):
        here = at(all_points, budget)
        _winners(panels[0][column], here, budget)
        _random_or_fixed(panels[1][column], here, temperatures)
        _adaptive(panels[2][column], here)
    panels[0][0].set_ylabel("sampling temperature")
    panels[1][0].set_ylabel("best random optimum over\nbest deterministic one, %")
    panels[2][0].set_ylabel("best pair over that of the best\nstatic delayed tree, %")
    for row, title in enumerate(("largest optimum", "temperature", "scheme")):
        handles = {label: handle for axes in panels[row] for handle, label in zip(*_legend(axes), strict=True)}
        place = {"loc": "center left", "bbox_to_anchor": (1, 0.5), "frameon": False, "fontsize": 8}
        panels[row][-1].legend(handles.values(), handles, title=title, **place)
    return as_png(drawing, 160)


def _legend(axes: Any) -> tuple[list[Any], list[str]]:
    handles, labels = axes.get_legend_handles_labels()
    return handles, labels


def _winners(axes: Any, here: Sequence[Row], budget: Budget) -> None:
    nodes, passes, size = budget
    temperatures = sorted({point["temperature"] for point in here})
    for kind, (colour, marker) in _KIND_STYLES.items():
        won = [point for point in here if point["winner"] == kind]
        places = [temperatures.index(point["temperature"]) for point in won]
        if won:
            distances = [point["distance"] for point in won]
            axes.plot(distances, places, marker, color=colour, markersize=7, label=kind, alpha=0.9)
    axes.set_yticks(range(len(temperatures)), [f"{temperature:g}" for temperature in temperatures])
    axes.set_ylim(-0.6, len(temperatures) - 0.4)
    axes.set_title(f"N = {nodes}, {passes} passes, V = {size}", fontsize=9)
    style_axes(axes)


def _random_or_fixed(axes: Any, here: Sequence[Row], temperatures: Sequence[float]) -> None:
    for number, temperature in enumerate(temperatures):
        some = [point for point in here if point["temperature"] == temperature]
        marker, colour = _TEMPERATURE_STYLES[number % len(_TEMPERATURE_STYLES)]
        values = [100 * advantage(point) for point in some]
        style = {"color": colour, "markerfacecolor": "white", "label": f"{temperature:g}"}
        axes.plot([point["distance"] for point in some], values, marker, **style)
    axes.axhline(0, color="0.6", linewidth=2, zorder=1)
    style_axes(axes)


def _adaptive(axes: Any, here: Sequence[Row]) -> None:
    styles = {
        ("eagle2",): ("s", "#D55E00", "eagle2"),
        ("dyspec",): ("^", "#0072B2", "dyspec"),
        ("dyspec_threshold",): ("v", "#56B4E9", "dyspec_threshold"),
        ("sequoia",): ("o", "#000000", "sequoia"),
    }
    for schemes, (marker, colour, label) in styles.items():
        gains = [(point["distance"], gain(point, *schemes)) for point in here]
        some = [(distance, 100 * value) for distance, value in gains if value is not None]
        if some:
            axes.plot(*zip(*some, strict=True), marker, color=colour, markerfacecolor="white", label=label)
    axes.axhline(0, color="0.6", linewidth=2, zorder=1)
    axes.set_xlabel("distance of q from p")
    style_axes(axes)


def counted(names: Sequence[str]) -> str:
    """The names with their counts, as text."""
    return ", ".join(f"`{name}` {count}" for name, count in Counter(names).most_common()) or "none"


def claims(rows: Sequence[Row]) -> str:
    """A Markdown list of the numbers of the study, one a line. rows: as stored."""
    return "".join(f"- {name}: {number}\n" for name, number in _numbers(rows))


def _numbers(rows: Sequence[Row]) -> Iterable[tuple[str, str]]:
    all_points = points(rows)
    tried = [made for row in rows for made in row["schemes"]]
    drawn = [made for made in tried if made["drawn"]]
    errors = [error for made in drawn for error in made["errors"].values()]
    yield (
        "instances",
        f"{len(rows):,}, points {len(all_points):,}, in {sum(row['seconds'] for row in rows) / 60:.0f} minutes",
    )
    yield (
        "schemes tried",
        f"{len(tried):,}, of which {len(drawn):,} have too many trees: no optimum, block efficiency the mean over "
        f"drawn trees, standard error at most {max(errors, default=0.0):.3f}",
    )
    for budget in budgets(all_points):
        here = at(all_points, budget)
        name = "N = {}, {} passes, V = {}".format(*budget)
        yield f"{name}, largest optimum", counted([point["winner"] for point in here])
        yield f"{name}, best pair", counted([point["winning pair"] for point in here])
        yield f"{name}, random over deterministic", _spread([advantage(point) for point in here])
        for temperature in sorted({point["temperature"] for point in here}):
            first, last = crossings([point for point in here if point["temperature"] == temperature])
            yield (
                f"{name}, line at temperature {temperature:g}",
                f"no deterministic scheme ahead below distance {first:.3f}, no random one beyond {last:.3f}",
            )
        for schemes in (("eagle2",), ("dyspec",), ("dyspec_threshold",), ("sequoia",)):
            gains = [value for value in (gain(point, *schemes) for point in here) if value is not None]
            if gains:
                ahead = sum(value > CLOSE for value in gains)
                said = f"{_spread(gains)}, ahead at {ahead} of {len(gains)}"
                yield f"{name}, `{schemes[0]}` over the best delayed tree", said
        for kind, shares in gains_from_target(here):
            if shares:
                yield f"{name}, price of not knowing p, {kind}", _spread(shares)
    for time in DRAFT_TIMES:
        yield f"fastest at t_q = {time:g} t_p, all budgets", counted([_fastest(point, time) for point in all_points])
    reached = [point["pairs"][point["best pair"]] / point["optima"][point["best"]] for point in all_points]
    yield "best pair over the largest optimum", f"mean {sum(reached) / len(reached):.4f}, worst {min(reached):.4f}"
    yield "kind of the largest optimum, all budgets", counted([point["winner"] for point in all_points])


def _fastest(point: Row, time: float) -> str:
    return str(point["fastest"][str(time)])


def _spread(shares: Sequence[float]) -> str:
    mean = sum(shares) / len(shares)
    return f"mean {100 * mean:+.1f} %, {100 * min(shares):+.1f} to {100 * max(shares):+.1f} %"
