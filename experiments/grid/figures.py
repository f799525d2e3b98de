"""What pictures have in common: a drawing board that draws into files, line styles, quiet axes."""

from __future__ import annotations

import io
import re
from typing import Any

#: Each line takes the next of each: colour (they stay apart for colour-blind readers), dash and marker. The three
#: lengths have no common factor, so that no two lines look alike and a grey print can be read.
_COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_DASHES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*", "<", ">", "h", "p", "d")


def drawing_board() -> Any:
    """`matplotlib.pyplot`, which draws into files only."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["text.parse_math"] = False  # a name with dollars is no formula
    from matplotlib import pyplot

    return pyplot


def as_png(figure: Any, dots_an_inch: int) -> bytes:
    """The figure as the content of a PNG file; it is closed."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dots_an_inch, metadata={"Software": None})
    drawing_board().close(figure)
    return buffer.getvalue()


def as_svg(figure: Any, name: str) -> str:
    """The figure as an element of a page, with words as text; it is closed. name: for ids that no other has."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    drawing_board().close(figure)
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


def quiet_axes(axes: Any) -> None:
    """No frame above and on the right, and a light grid for the values."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
