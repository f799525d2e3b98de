"""Figures as SVG: bars and lines of few numbers, each with its value on hover, in the colours of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

#: Width of a figure, height of a bar, and what its labels and numbers take, in pixels.
WIDTH, BAR, LABEL, VALUE = 720, 22, 210, 70
HEIGHT, MARGIN = 320, 48
#: Ways to tell lines apart in print.
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4", "12 4")


def bars(values: Mapping[str, float], title: str, hover: Mapping[str, str], percent: bool = True) -> str:
    """A bar for each value, from zero, the longest as wide as the figure. hover: what a bar says."""
    most = max(values.values(), default=1.0) or 1.0
    room = WIDTH - LABEL - VALUE
    lines = [_open(title, BAR * len(values) + 8)]
    for place, (name, value) in enumerate(values.items()):
        top, width = place * BAR + 4, max(room * value / most, 0.5)
        shown = f"{value:.2%}" if percent else f"{value:.4f}"
        lines.append(
            f"<g><title>{escape(hover.get(name, shown))}</title>"
            f'<text x="{LABEL - 8}" y="{top + 14}" text-anchor="end">{escape(name)}</text>'
            f'<rect class="bar" x="{LABEL}" y="{top}" width="{width:.1f}" height="{BAR - 6}"/>'
            f'<text x="{LABEL + width + 6:.1f}" y="{top + 14}">{shown}</text></g>'
        )
    return "".join([*lines, "</svg>"])


def curves(lines: Mapping[str, Sequence[tuple[float, float]]], title: str, across: str, up: str) -> str:
    """A line for each name through its points, with a dot and its numbers on hover at each."""
    points = [point for line in lines.values() for point in line]
    if not points:
        return ""
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    low, high = min(y for _, y in points), max(y for _, y in points)

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            MARGIN + (x - left) / ((right - left) or 1) * (WIDTH - LABEL - 2 * MARGIN),
            HEIGHT - MARGIN - (y - low) / ((high - low) or 1) * (HEIGHT - 2 * MARGIN),
        )

    drawn = [_open(title, HEIGHT)]
    for number, (name, line) in enumerate(lines.items()):
        hue = round(360 * number / max(len(lines), 1))
        style = f'style="--hue:{hue}" stroke-dasharray="{DASHES[number % len(DASHES)]}"'
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in sorted(line)))
        drawn.append(f'<polyline class="line" {style} points="{path}"/>')
        for x, y in sorted(line):
            at = place(x, y)
            drawn.append(
                f'<circle class="dot" style="--hue:{hue}" cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="4">'
                f"<title>{escape(name)}: {y:.4f} at {x:g}</title></circle>"
            )
        top = 20 + 17 * number
        drawn.append(
            f'<line class="line" {style} x1="{WIDTH - LABEL - 20}" x2="{WIDTH - LABEL + 4}" y1="{top}" y2="{top}"/>'
            f'<text x="{WIDTH - LABEL + 10}" y="{top + 4}">{escape(name)}</text>'
        )
    drawn.append(f'<text x="{MARGIN}" y="{HEIGHT - 10}">{escape(across)}: {left:g} to {right:g}</text>')
    drawn.append(f'<text x="4" y="{16}">{escape(up)}: {low:.3f} to {high:.3f}</text>')
    return "".join([*drawn, "</svg>"])


def _open(title: str, height: int) -> str:
    return (
        f'<svg role="img" viewBox="0 0 {WIDTH} {height}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(title)}</title>"
    )
