"""The most tokens a block in the long run, with a certificate: where a block ends counts, as the next begins there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from draftproof.experiments.cli.bound.programs import PLACE, Programs, Run, check_note
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.grid.store import Row
from draftproof.experiments.inputs.worlds import World
from draftproof.experiments.result import Column, Result, Table, hidden
from draftproof.experiments.shared.output import number_fields
from draftproof.experiments.shared.progress import bar, counted, remark
from draftproof.lp_analysis import LongRun, dumps, long_run
from draftproof.lp_analysis.certificates import long_run_certificate
from draftproof.lp_analysis.potentials import Source
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.protocol import DraftScheme

_ROWS = (
    *PLACE,
    Column("states", "count"),
    Column("lower", "exact", "attained"),
    Column("upper", "exact", "at most"),
    Column("gap", "exact"),
    Column("one_block", "exact", "by best blocks"),
    *hidden("rounds", "certificate", "source", "versions"),
)
#: What people must know to read the table.
NOTE = (
    "tokens a block where each begins in the state, the last tokens, that the one before left; by best blocks: with "
    "the plans that are best for each single block."
)
APART = "the bounds are apart by more than the gap: float64 goes no further, or the state of the start decides"


def long_run_result(programs: Sequence[Programs], gap: float, run: Run) -> Result:
    """The bounds of each world on its scheme; raises as `draftproof.lp_analysis.long_run` does."""
    one_each = [replace(program, roots=program.roots[:1]) for program in programs]
    solved = run.solved(one_each, long_run_row, gap, gap=gap)
    rows = [
        {**program.place, **row} for program, of_roots in zip(programs, solved.rows, strict=True) for row in of_roots
    ]
    notes = [NOTE, *([APART] if any(row["gap_float"] > gap for row in rows) else []), *check_note(solved.files)]
    title = "the most tokens a block in the long run, bounds in exact arithmetic"
    return solved.finished(Result(title, [Table.of(_ROWS, rows)], notes, 0, solved.files))


def long_run_row(about: tuple[int, int], programs: Sequence[Programs], certified: bool, gap: float) -> Row:
    """The row of a world on its scheme."""
    own = programs[about[0]]
    bounds = long_run_of(own.world, own.scheme, gap)
    row: dict[str, Any] = {"kind": "root", "source": own.world.source, "versions": versions()}
    for key, value in bounds.to_dict().items():
        row |= {key: value} if isinstance(value, int) else number_fields(key, value)
    return row | ({"proof": dumps(long_run_certificate(bounds))} if certified else {})


def long_run_of(world: World, scheme: DraftScheme, gap: float) -> LongRun:
    """The bounds of a world on a scheme, with a bar of the programs."""
    root = world.cases(scheme.depth, RATIONAL)[0]
    states = len(Source.of(root.target, root.draft).target)
    remark(f"{counted(states, 'state')}, a program for each in every round; two to four rounds are usual")
    with bar("programs", 3 * states) as tick:
        return long_run(root.target, root.draft, scheme, gap=gap, tick=tick)
