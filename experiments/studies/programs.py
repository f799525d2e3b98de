"""The same optimum by every program, with sizes and times: `python -m experiments.studies.programs`.

The direct program has a variable for every pair of a draft tree and a node of it, the collapsed ones about one a node.
"""

from __future__ import annotations

import time
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from experiments.shared.output import check_files, write_json
from experiments.shared.progress import bar
from lp_analysis.reference.comparison import ProgramRow, compare_programs
from simulator.arithmetic import RATIONAL
from simulator.drafts import Delayed
from simulator.instances.families import FAMILIES

#: (V, K, L1, L2).
SHAPES = (
    (2, 2, 0, 2),
    (2, 3, 0, 3),
    (3, 2, 0, 2),
    (3, 3, 0, 3),
    (3, 2, 1, 2),
    (4, 2, 0, 3),
    (4, 3, 0, 3),
    (4, 3, 0, 4),
)


def table(found: list[tuple[tuple[int, ...], ProgramRow]]) -> Table:
    """One line a shape and program."""
    view = Table(title="the optimum by every program, perturbed instances (s = 1), seed 0", title_justify="left")
    view.add_column("V, K, L1, L2")
    view.add_column("program")
    for heading in ("variables", "seconds", "upper bound", "gap"):
        view.add_column(heading, justify="right")
    before = None
    for shape, row in found:
        if before is not None and shape != before:
            view.add_section()
        view.add_row(
            ", ".join(map(str, shape)) if shape != before else "",
            row.program,
            f"{row.variables:,}",
            "not built" if row.seconds is None else f"{row.seconds:.2f}",
            "-" if row.value is None else f"{row.value:.9f}" + ("" if row.complete else " (not finished)"),
            "-" if row.gap is None else f"{row.gap:.1e}",
        )
        before = shape
    return view


def main(
    shapes: Annotated[int, typer.Option(min=1, max=len(SHAPES), help="How many of the shapes.")] = len(SHAPES),
    seconds: Annotated[float, typer.Option(help="Longest time for one program.")] = 20.0,
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
) -> int:
    """Direct program, cuts, column generation and level programs, side by side."""
    from experiments.shared.consoles import console_for

    check_files((), {"--json": json_target})
    found: list[tuple[tuple[int, ...], ProgramRow]] = []
    with bar("shapes", shapes) as tick:
        for V, K, L1, L2 in SHAPES[:shapes]:
            instance = FAMILIES["perturbed"].instance(V, L1 + L2, np.random.default_rng(0), 2**16, RATIONAL, s=1.0)
            scheme, clock = Delayed(K, L1, L2), time.perf_counter
            rows = compare_programs(instance.target, instance.draft, scheme, clock=clock, seconds=seconds)
            found += [((V, K, L1, L2), row) for row in rows]
            tick(1)
    fields: list[dict[str, Any]] = [
        {**dict(zip(("V", "K", "L1", "L2"), shape, strict=True)), **vars(row)} for shape, row in found
    ]
    write_json(json_target, {"rows": fields})
    console_for(json_target).print(table(found))
    return 0


if __name__ == "__main__":
    from experiments.cli import run_command

    run_command(main)
