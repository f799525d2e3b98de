"""Styles that all figures share, and the figure of a comparison: block efficiency against delay depth at one budget."""

import io
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from textwrap import wrap
from typing import Any

#: Line number n takes entry n, modulo the length, of each list: colour (distinguishable by colour-blind readers), dash,
#: marker. The three lengths are coprime, so that no two lines look alike, and lines differ in a grey print.
_COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_DASHES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*", "<", ">", "h", "p", "d")


def matplotlib_pyplot() -> Any:
    """`matplotlib.pyplot` with a backend that opens no window."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["text.parse_math"] = False  # a name with dollars is no formula
    from matplotlib import pyplot

    return pyplot


def as_png(figure: Any, dots_an_inch: int) -> bytes:
    """The figure as the content of a PNG file; it is closed."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dots_an_inch, metadata={"Software": None})
    matplotlib_pyplot().close(figure)
    return buffer.getvalue()


def as_svg(figure: Any) -> str:
    """The figure as an SVG element with text as text; it is closed."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "draftproof"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    matplotlib_pyplot().close(figure)
    text = buffer.getvalue()
    return re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text[text.index("<svg") :], flags=re.DOTALL)


def line_style(number: int) -> dict[str, Any]:
    """Colour, dash and marker of a line."""
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "linestyle": _DASHES[number % len(_DASHES)],
        "marker": _MARKERS[number % len(_MARKERS)],
        "markerfacecolor": "white",
    }


def style_axes(axes: Any) -> None:
    """No frame above and on the right, and a light grid for the values."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)


_BASELINE = "naive"
_OPTIMUM = "upper bound"
#: Lines that are drawn in colour with their names; the others are grey.
NAMED = 5

#: For each verifier its points: delay depth, block efficiency, shape.
Lines = Mapping[str, list[tuple[int, float, str]]]


def best_budget(rows: Sequence[dict[str, Any]]) -> int:
    """The node budget `L1 + K L2` with the most delay depths among the rows; the largest among equals."""
    delays: dict[int, set[int]] = defaultdict(set)
    for row in rows:
        if row["scheme"]["name"] == "delayed":
            delays[row["nodes"]].add(_delay(row))
    return max(delays, default=0, key=lambda budget: (len(delays[budget]), budget))


def undrawn(rows: Sequence[dict[str, Any]]) -> set[str]:
    """Negative controls and verifiers that a row refutes: the block efficiency of a lossy verifier does not count."""
    return {row["verifier"] for row in rows if row["control"] or not row["lossless"]}


def delay_lines(rows: Sequence[dict[str, Any]], budget: int) -> Lines:
    """The points of each verifier that is drawn: at each delay depth its largest block efficiency over shapes."""
    left_out = undrawn(rows)
    best: dict[str, dict[int, tuple[float, str]]] = defaultdict(dict)
    for row in rows:
        if row["nodes"] == budget and row["verifier"] not in left_out:
            shape = f"K={row['K']}\nL2={row['L2']}" if row["K"] > 1 else "trunk\nonly"
            point = (row["block_efficiency_float"], shape)
            points = best[row["verifier"]]
            points[_delay(row)] = max(points.get(_delay(row), point), point)
    for row in rows if best else ():  # the upper bound of every lossless verifier
        if row["nodes"] == budget and row.get("optimum_upper_float") is not None:
            points = best[_OPTIMUM]
            points[_delay(row)] = max(points.get(_delay(row), (0.0, "")), (row["optimum_upper_float"], ""))
    return {name: [(x, *points[x]) for x in sorted(points)] for name, points in best.items()}


def gains(lines: Lines) -> Lines:
    """Each line minus the baseline at the same delay; the lines themselves where there is no baseline."""
    base = {x: y for x, y, _ in lines.get(_BASELINE, [])} or dict.fromkeys(
        (x for points in lines.values() for x, *_ in points), 0.0
    )
    return {name: [(x, y - base[x], shape) for x, y, shape in points if x in base] for name, points in lines.items()}


def highlighted(lines: Lines, count: int) -> list[str]:
    """The `count` best lines on average."""
    means = {name: fmean(y for _, y, _ in points) for name, points in lines.items() if points and name != _OPTIMUM}
    return sorted(means, key=lambda name: -means[name])[:count]


def draw_delay(axes: Any, lines: Lines) -> bool:
    """Draw the gains of lines on matplotlib `axes`: a few by name, others grey; returns whether there are grey ones.

    The region above the upper bound is shaded.
    """
    shapes: dict[int, set[str]] = defaultdict(set)
    for line in lines.values():
        for delay, _, shape in line:
            shapes[delay] |= {shape} - {""}
    axes.set_xticks(sorted(shapes), [f"{at}\n" + "\nor ".join(sorted(shapes[at])) for at in sorted(shapes)])
    axes.set_xlabel("delay depth L1 (tokens drafted before the tree branches)")
    axes.set_ylabel(f"tokens a block over {_BASELINE}" if _BASELINE in lines else "block efficiency E[tau + 1]")
    lines = gains(lines)
    named = highlighted(lines, NAMED)
    values = [y for points in lines.values() for _, y, _ in points]
    values = [y for y in values if y >= -max(values)]  # lines far below the baseline would flatten the others
    margin = 0.12 * (max(values) - min(values) or 1.0)
    low, high = min(values) - margin, max(values) + margin
    others = [name for name in lines if name not in (*named, _OPTIMUM)]
    for name in [*others, *([_OPTIMUM] if _OPTIMUM in lines else []), *named]:
        delays, amounts = [point[0] for point in lines[name]], [point[1] for point in lines[name]]
        if name in named:
            style = line_style(named.index(name))
            axes.plot(delays, amounts, label=name, **style, markersize=6, linewidth=1.8, zorder=3)
        elif name == _OPTIMUM:
            axes.fill_between(delays, amounts, high, color="0.88", zorder=0, linewidth=0)
            axes.plot(delays, amounts, color="0.25", linewidth=2.5, zorder=1)
            words = "no lossless verifier gets here "
            axes.text(delays[-1], high - 0.3 * margin, words, ha="right", va="top", color="0.25")
        else:
            axes.plot(delays, amounts, color="0.75", linewidth=0.8, zorder=1)
    if named:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    axes.set_ylim(low, high)
    style_axes(axes)
    return bool(others)


def delay_figure(rows: Sequence[dict[str, Any]], caption: str) -> bytes:
    """A PNG of the comparison, 200 dots an inch; empty if there is no line to draw."""
    lines = delay_lines(rows, budget := best_budget(rows))
    if not any(name != _OPTIMUM for name in lines):
        return b""
    figure, axes = matplotlib_pyplot().subplots(figsize=(7.4, 4.8), layout="constrained")
    about = [caption, *["grey: other verifiers"] * draw_delay(axes, lines)]
    if undrawn(rows):
        about.append(f"not drawn (controls, refuted): {', '.join(sorted(undrawn(rows)))}")
    how = "exact" if all(row["arithmetic"] == "rational" for row in rows) else "exact to rounding"
    title = f"Block efficiency and its upper bound: {how}, {budget} drafted tokens (L1 + K L2 = {budget})"
    figure.suptitle("\n".join([title, *wrap("; ".join(about), 115)]), x=0.01, ha="left", fontsize=9)
    return as_png(figure, 200)


def _delay(row: dict[str, Any]) -> int:
    """The trunk length of a row's tree; a single path counts as trunk only."""
    return int(row["L1"] + (row["L2"] if row["K"] == 1 else 0))
