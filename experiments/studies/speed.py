"""How fast the structured engines are, measured here and now: `python -m experiments.studies.speed`, or `make speed`.

Against enumeration and sampling, which they replace; against the time it takes to read their tables once, which nothing
that reads them can beat; and how the cost grows. What is compared runs in turn, and the least processor time of
each counts.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import exp, log
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from experiments.shared.output import check_files, write_json
from experiments.shared.progress import bar, remark
from experiments.studies.speed_cases import SECTIONS, Row, Sizes, in_turn, random_rows, summed
from simulator.drafts import Delayed
from verifiers import make


@dataclass(frozen=True)
class Growth:
    """Seconds along one axis (`L`, `K` or `V`), everything else fixed."""

    verifier: str
    fixed: str
    axis: str
    seconds: dict[int, float]

    @property
    def steps(self) -> list[float]:
        """The factor from each value of the axis to the next."""
        return [after / before for before, after in pairwise(self.seconds.values())]

    @property
    def fitted(self) -> float:
        """Least squares over the last three: the factor for each level where the axis is L, else the power of K or V.

        Below them the cost of the calls outweighs that of the work.
        """
        last = list(self.seconds.items())[-3:]
        places = [float(value) if self.axis == "L" else log(value) for value, _ in last]
        slope = float(np.polyfit(places, [log(seconds) for _, seconds in last], 1)[0])
        return exp(slope) if self.axis == "L" else slope

    def fields(self) -> dict[str, Any]:
        return {**asdict(self), "steps": self.steps, "fitted": self.fitted}


#: (verifier, axis, values, what is fixed).
GROWTH: tuple[tuple[str, str, tuple[int, ...], dict[str, int]], ...] = (
    ("specinfer", "L", (5, 6, 7, 8, 9), {"V": 4, "K": 4}),
    ("gbv", "L", (5, 6, 7, 8, 9), {"V": 4, "K": 4}),
    ("traversal", "L", (2, 3, 4, 5, 6), {"V": 4, "K": 2}),
    ("specinfer", "K", (1, 2, 3, 4, 5, 6), {"V": 4, "L": 7}),
    ("gbv", "K", (1, 2, 3, 4, 5, 6), {"V": 4, "L": 7}),
    ("traversal", "K", (1, 2, 3, 4), {"V": 4, "L": 3}),
    ("specinfer", "V", (8, 16, 32, 64), {"K": 4, "L": 3}),
    ("gbv", "V", (8, 16, 32, 64), {"K": 4, "L": 3}),
    ("traversal", "V", (4, 8, 12, 16), {"K": 2, "L": 3}),
)


def growth(sizes: Sizes) -> Iterator[Growth]:
    """How the cost grows along each axis."""
    for name, axis, values, fixed in GROWTH:
        chosen = values[:2] if sizes.quick else values
        tasks = {}
        for value in chosen:
            at = {**fixed, axis: value}
            tasks[str(value)] = summed(make(name), random_rows(at["V"], at["L"])[0], Delayed(at["K"], 0, at["L"]))
        least = in_turn(tasks, sizes.budget)
        words = ", ".join(f"{key}={value}" for key, value in fixed.items())
        yield Growth(name, words, axis, {int(value): seconds for value, seconds in least.items()})


def comparison_table(rows: list[Row]) -> Table:
    """One line a comparison."""
    view = Table(
        title="structured engines: L1=0, float64, seed 0; least processor times of this run", title_justify="left"
    )
    for heading in ("problem", "takes", "against", "that takes", "ratio", "goal", "met"):
        view.add_column(heading, justify="right" if heading in ("takes", "that takes", "ratio", "goal") else "left")
    for before, row in zip([None, *rows], rows, strict=False):
        if before is not None and before.section != row.section:
            view.add_section()
        kind = "x faster" if row.faster else "x"
        ratio = f"{row.ratio:,.0f}" if row.ratio >= 99.5 else f"{row.ratio:.2g}"
        goal = "" if row.goal is None else f"{'>=' if row.faster else '<='} {row.goal:g}"
        view.add_row(
            row.problem,
            amount(row.measured, row.unit),
            row.against + (f" ({row.note})" if row.note else ""),
            amount(row.other, row.unit),
            f"{ratio} {kind}",
            goal,
            "" if row.met is None else "yes" if row.met else "NO",
        )
    return view


def growth_table(found: list[Growth], axis: str) -> Table:
    """The cost along one axis."""
    title = f"growth with {axis}: seconds and the factor from each to the next"
    view = Table(title=title, title_justify="left")
    view.add_column("verifier")
    for value in sorted({value for each in found for value in each.seconds}):
        view.add_column(f"{axis}={value}", justify="right")
    view.add_column("fitted", justify="right")
    for each in found:
        cells = {value: amount(seconds, "s") for value, seconds in each.seconds.items()}
        for value, step in zip(list(each.seconds)[1:], each.steps, strict=True):
            cells[value] += f" (x{step:.1f})"
        fitted = f"x{each.fitted:.1f} a level" if axis == "L" else f"{axis}^{each.fitted:.1f}"
        values = sorted({value for other in found for value in other.seconds})
        view.add_row(f"{each.verifier}, {each.fixed}", *(cells.get(value, "") for value in values), fitted)
    return view


def amount(value: float, unit: str) -> str:
    """A time or an amount of memory for people."""
    if unit != "s":
        return f"{value:,.0f} {unit}"
    return f"{value * 1e3:,.3g} ms" if value < 1 else f"{value:,.3g} s"


def main(
    quick: Annotated[bool, typer.Option(help="The smallest version: shows that all of it runs, not how fast.")] = False,
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
) -> int:
    """Structured engines against enumeration, sampling and the time to read their tables; and how their cost grows."""
    from experiments.shared.consoles import console_for

    check_files((), {"--json": json_target})
    sizes = Sizes(quick)
    rows: list[Row] = []
    grown: list[Growth] = []
    with bar("measuring", len(SECTIONS) + len(GROWTH)) as tick:
        for section in SECTIONS:
            rows += section(sizes)
            remark(f"{rows[-1].section}: done")
            tick(1)
        for each in growth(sizes):
            grown.append(each)
            tick(1)
    console = console_for(json_target)
    console.print(comparison_table(rows))
    for axis in ("L", "K", "V"):
        console.print(growth_table([each for each in grown if each.axis == axis], axis))
    versions = {"python": platform.python_version(), "numpy": np.__version__, "machine": platform.machine()}
    fields = {"quick": quick, "versions": versions}
    write_json(json_target, {**fields, "rows": [row.fields() for row in rows], "growth": [g.fields() for g in grown]})
    return 0


if __name__ == "__main__":
    from experiments.cli import run_command

    run_command(main)
