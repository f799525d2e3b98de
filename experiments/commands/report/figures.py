"""Figures of the report: bars and lines by pygal, as SVG whose colours are those of the page, with numbers on hover.

pygal writes elements with classes and a style sheet, and a `title` to each value, which a browser shows on hover:
light, dark and print are the page's own. Its script and the addresses in its comments are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

#: Height of a bar, and of a figure of lines with a line of its legend, in pixels of a figure of `WIDTH`.
WIDTH, BAR, LINES, LEGEND, COLUMNS = 760, 24, 340, 24, 3
#: Ways to tell lines apart in print.
DASHES = ("", "6,3", "2,3", "8,3,2,3", "1,4", "12,4")


def _pygal() -> Any:
    """pygal, without the finder of its plugins, which every later import would pass and which Python 3.11 warns of."""
    import pygal

    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, pygal.PluginImportFixer)]
    return pygal


def bars(values: Mapping[str, float], name: str, title: str, hover: Mapping[str, str]) -> Markup | None:
    """A bar for each share, from zero, the first on top; None without any. name: in its page; hover: what bars say."""
    if not values:
        return None
    chart = _pygal().HorizontalBar(
        **_options(title), height=BAR * len(values) + 70, show_legend=False, spacing=2, style=_style(1),
        print_values=True, print_values_position="top", value_formatter=lambda value: f"{value:.2%}",
        zero=0, range=(0, 1.08), y_labels=[0, 0.25, 0.5, 0.75, 1],
    )  # fmt: skip
    names = list(values)[::-1]  # the first label is the lowest
    chart.x_labels = names
    chart.add("", [{"value": values[each], "tooltip": hover.get(each, f"{values[each]:.4%}")} for each in names])
    return _drawn(chart, name)


def curves(
    lines: Mapping[str, Sequence[tuple[float, float]]], name: str, title: str, across: str, up: str
) -> Markup | None:
    """A line for each name through its points, with its numbers on hover at each; None without any."""
    if not any(lines.values()):
        return None
    rows = -(-len(lines) // COLUMNS)
    chart = _pygal().XY(
        **_options(title), height=LINES + LEGEND * rows, legend_at_bottom=True, legend_at_bottom_columns=COLUMNS,
        x_title=across, y_title=up, dots_size=3, x_value_formatter=lambda value: f"{value:g}", style=_style(len(lines)),
        value_formatter=lambda value: f"{value:.2f}", margin_bottom=36,
    )  # fmt: skip
    chart.x_labels = sorted({x for line in lines.values() for x, _ in line})
    for number, (each, line) in enumerate(lines.items()):
        points = [{"value": point, "tooltip": f"{each}: {point[1]:.4f} at {point[0]:g}"} for point in sorted(line)]
        chart.add(each, points, stroke_style={"width": 2, "dasharray": DASHES[number % len(DASHES)]})
    return _drawn(chart, name)


def _options(title: str) -> dict[str, Any]:
    return {"title": title, "width": WIDTH, "js": (), "truncate_label": -1, "truncate_legend": -1, "margin": 8}


def _style(lines: int) -> Any:
    """The colours of the page, and hues that are as far from each other as they can be."""
    from pygal.style import Style

    hues = [f"hsl({round(360 * number / lines)} 65% 48%)" for number in range(lines)]
    ink = {f"foreground{kind}": "var(--ink)" for kind in ("", "_strong", "_subtle")}
    sizes = {f"{part}_font_size": 13 for part in ("label", "major_label", "value", "legend", "title")}
    return Style(
        **ink, **sizes, background="transparent", plot_background="transparent", font_family="system-ui, sans-serif",
        colors=tuple(hues) if lines > 1 else ("var(--mark)",), value_colors=("var(--ink)",) * lines, opacity="1",
        stroke_opacity="1", guide_stroke_color="var(--line)", major_guide_stroke_color="var(--line)", transition="0s",
    )  # fmt: skip


def _drawn(chart: Any, name: str) -> Markup:
    """The figure as an element of a page: the same for the same numbers, without script, comments or addresses."""
    from xml.etree import ElementTree

    chart.uuid = name
    root = chart.render_tree()
    for parent in list(root.iter()):
        for child in list(parent):
            if not isinstance(child.tag, str) or child.tag.endswith("script"):
                parent.remove(child)
            elif child.get("id", "").startswith("activate-"):  # for its script, the same in every figure
                del child.attrib["id"]
    root.set("role", "img")
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # names are escaped in it
