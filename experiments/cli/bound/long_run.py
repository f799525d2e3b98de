"""The most tokens a block in the long run, with a certificate: where a block ends counts, as the next begins there."""

from __future__ import annotations

import time
from collections.abc import Sequence

from draftproof.experiments.cli.bound.programs import PLACE, Files, Programs, check_note
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.inputs.worlds import World
from draftproof.experiments.result import Column, Result, Table, hidden
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
    Column("seconds"),
    Column("one_block_seconds", title="one block, s"),
    *hidden("rounds", "certificate", "source", "versions"),
)
#: What people must know to read the table.
NOTE = (
    "tokens a block where each begins in the state, the last tokens, that the one before left; by best blocks: with "
    "the plans that are best for each single block. Seconds: of all programs, and of one block in every state."
)
APART = "the bounds are apart by more than the gap: float64 goes no further, or the state of the start decides"


def long_run_result(programs: Sequence[Programs], gap: float, files: Files) -> Result:
    """The bounds of each world on its scheme; raises as `draftproof.lp_analysis.long_run` does."""
    names = files.one_each(len(programs))
    rows, made = [], {}
    for each, name in zip(programs, names, strict=True):
        found, *seconds = timed_long_run(each.world, each.scheme, gap)
        if name:
            made[name] = dumps(long_run_certificate(found))
        times = dict(zip(("seconds", "one_block_seconds"), (round(value, 3) for value in seconds), strict=True))
        about = {"certificate": name, "source": each.world.source, "versions": versions()}
        rows.append({**each.place, **found.to_dict(), **times, **about})
    notes = [NOTE, *([APART] if any(row["gap"] > gap for row in rows) else []), *check_note(made)]
    title = "the most tokens a block in the long run, bounds in exact arithmetic"
    return Result(title, [Table.of(_ROWS, rows)], notes, 0, made)


def timed_long_run(world: World, scheme: DraftScheme, gap: float) -> tuple[LongRun, float, float]:
    """The bounds of a world; the seconds that they took, and those of the optimum of one block in every state."""
    root = world.cases(scheme.depth, RATIONAL)[0]
    states, begun, done = len(Source.of(root.target, root.draft).target), time.perf_counter(), list[float]()
    remark(f"{counted(states, 'state')}, a program for each in every round; two to four rounds are usual")
    with bar("programs", 3 * states) as tick:

        def note(steps: int) -> None:
            done.append(time.perf_counter())
            tick(steps)

        found = long_run(root.target, root.draft, scheme, gap=gap, tick=note)
    return found, time.perf_counter() - begun, done[states - 1] - begun
