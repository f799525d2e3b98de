"""The table of `--by long-run`: tokens a block where each begins in the state that the last one left, and the best."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache

from draftproof.experiments.cli.bound.long_run import long_run_of
from draftproof.experiments.cli.compare.planning import GOAL, Plan
from draftproof.experiments.cli.compare.views import MOST_SHOWN, columns_of
from draftproof.experiments.grid.store import Row
from draftproof.experiments.inputs.worlds import RowsWorld, TextWorld
from draftproof.experiments.result import Column, Table, hidden, number_of
from draftproof.lp_analysis import LongRun
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.protocol import DraftScheme

#: What people must know to read the table.
NOTE = (
    "in the long run: tokens a block where each begins in the state, the last tokens, that the one before left; the "
    "optimum is over all lossless verifiers that start afresh at each block, share that of the verifier in it."
)


def check_worlds(plan: Plan) -> None:
    """Raise `InvalidInput` for a world that has no states."""
    if not all(isinstance(place.world, (TextWorld, RowsWorld)) for place in plan.places):
        raise InvalidInput("by long-run needs n-gram processes; give a world such as text:topics")


def table(plan: Plan, rows: Sequence[Row]) -> Table:
    """A line for each verifier, world and scheme, the most tokens first."""

    @cache
    def optimum(number: int, scheme: DraftScheme) -> LongRun | None:
        with suppress(TooLarge):
            return long_run_of(plan.places[number].world, scheme, GOAL.gap)
        return None

    lines = []
    for row in (row for row in rows if row.get("steady_state") is not None):
        found = optimum(row["place"], row["of"]) if row.get("optimum") is not None else None  # where one block's is
        upper = found and found.upper
        share = number_of(row["steady_state"]) / upper if upper and row["lossless"] else None
        lines.append({**row, "optimum": found and found.lower, "optimum_upper": upper, "share": share})
    places = {(row["place"], row["of"]): number for number, row in reversed(list(enumerate(lines)))}
    lines.sort(key=lambda row: (places[row["place"], row["of"]], -row["steady_state_float"]))
    columns = columns_of(
        rows, Column("steady_state", "exact", "long run"), Column("block_efficiency", "exact", "E[tau+1]")
    )
    columns += [Column("optimum", "exact"), Column("share", "percent"), *hidden("optimum_upper", kind="exact")]
    shown = 0 < len(lines) <= MOST_SHOWN
    return Table.of(columns, lines, title="in the long run", name="long_run", shown=shown)
