"""How fast everything is, measured here and now: `python -m draftproof.experiments.studies.speed`, or `make speed`.

Structured engines against enumeration and sampling, which they replace, and against the time it takes to read their
tables once, which nothing that reads them can beat; how their cost grows; the enumerating engine in both arithmetics;
one block at real vocabularies; audits; bounds; sweeps, by the clock. What else is compared runs in turn, and the least
processor time counts.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import bar, remark
from draftproof.experiments.studies.speed.audits import audit_rows
from draftproof.experiments.studies.speed.blocks import block_rows, one_step_rows
from draftproof.experiments.studies.speed.bounds import bound_rows
from draftproof.experiments.studies.speed.engines import (
    batch_rows,
    enumeration_rows,
    floor_rows,
    path_rows,
    solved_rows,
)
from draftproof.experiments.studies.speed.growth import GROWTH, Growth, growth
from draftproof.experiments.studies.speed.measuring import Row, Sizes
from draftproof.experiments.studies.speed.runs import run_rows
from draftproof.experiments.studies.speed.sampling import program_rows, sampling_rows
from draftproof.experiments.studies.speed.sweeps import sweep_rows
from draftproof.experiments.studies.speed.vocab import vocab_rows
from draftproof.simulator.errors import InvalidInput

#: What is measured, in this order; `growth` comes last.
SECTIONS: Mapping[str, Callable[[Sizes], Iterator[Row]]] = {
    "floor": floor_rows,
    "enumeration": enumeration_rows,
    "solved": solved_rows,
    "sampling": sampling_rows,
    "programs": program_rows,
    "paths": path_rows,
    "sharing": batch_rows,
    "runs": run_rows,
    "blocks": block_rows,
    "one-step": one_step_rows,
    "vocab": vocab_rows,
    "audits": audit_rows,
    "bounds": bound_rows,
    "sweeps": sweep_rows,
}


def comparison_table(rows: list[Row]) -> Table:
    """One line a comparison."""
    view = Table(title="L1=0, float64 unless said, seed 0; least processor times of this run", title_justify="left")
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
        return f"{value:,.0f} {unit}" if unit else f"{value:.1e}"
    return f"{value * 1e3:,.3g} ms" if value < 1 else f"{value:,.3g} s"


def chosen_sections(only: list[str] | None) -> list[str]:
    """The sections to measure, all of them by default; raises `InvalidInput` for one that does not exist."""
    known = [*SECTIONS, "growth"]
    for name in only or ():
        if name not in known:
            raise InvalidInput(f"unknown section {name!r}; choose {', '.join(known)}")
    return [name for name in known if not only or name in only]


def main(
    quick: Annotated[bool, typer.Option(help="The smallest version: shows that all of it runs, not how fast.")] = False,
    only: Annotated[list[str] | None, typer.Option(help="Only this section; may be repeated.")] = None,
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
) -> int:
    """Everything that has a speed against what it replaces or cannot beat; and how the cost of engines grows."""
    from draftproof.experiments.shared.consoles import console_for

    check_files((), {"--json": json_target})
    chosen, sizes = chosen_sections(only), Sizes(quick)
    rows: list[Row] = []
    grown: list[Growth] = []
    with bar("measuring", len(chosen) + (len(GROWTH) if "growth" in chosen else 0)) as tick:
        for name in chosen:
            rows.extend(SECTIONS[name](sizes) if name in SECTIONS else ())
            for each in growth(sizes) if name == "growth" else ():
                grown.append(each)
                tick(1)
            remark(f"{name}: done")
            tick(1)
    console = console_for(json_target)
    if rows:
        console.print(comparison_table(rows))
    for axis in ("L", "K", "V") if grown else ():
        console.print(growth_table([each for each in grown if each.axis == axis], axis))
    versions = {"python": platform.python_version(), "numpy": np.__version__, "machine": platform.machine()}
    fields = {"quick": quick, "versions": versions}
    write_json(json_target, {**fields, "rows": [row.fields() for row in rows], "growth": [g.fields() for g in grown]})
    return 0
