"""The tables of `--by depth` and `--by long-run`.

By depth: acceptance at each depth, and the gain of one more branch that begins there. Depth `d` is that of a drafted
token: 1 for the first. A branch that begins with it has a trunk of `L1 = d - 1`. In the long run: tokens a block where
each begins in the state that the last one left, and the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from draftproof.experiments.cli.bound.long_run import long_run_of
from draftproof.experiments.cli.compare.planning import GOAL, Cell, Plan
from draftproof.experiments.cli.compare.views import MOST_SHOWN, columns_of
from draftproof.experiments.cli.compare.work import FAILURE
from draftproof.experiments.grid.depths import mean_distances
from draftproof.experiments.grid.store import Row
from draftproof.experiments.inputs.worlds import RowsWorld, TextWorld
from draftproof.experiments.result import Column, Table, hidden, number_of
from draftproof.lp_analysis import LongRun
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.numbers import arithmetic_named
from draftproof.simulator.protocol import DraftScheme

_NUMBERS = {
    "distance": "L1(p, q) drafted",
    "distance_accepted": "L1(p, q) accepted",
    "accepted_fewer": "accepted K-1",
    "accepted": "accepted",
    "reached_fewer": "P(tau ≥ d) K-1",
    "reached": "P(tau ≥ d)",
    "gain": "gain",
    "gain_per_token": "gain a token",
}
#: What people must know to read the tables.
DEPTH_NOTE = (
    "by depth d: L1(p, q) is the mean of sum |p - q| for the token of depth d, over contexts drawn from the draft, and "
    "over those of them that token-by-token verification of one path accepts; accepted: P(tau ≥ d | tau ≥ d - 1), with "
    "one branch less beside it; gain: E[tau+1] minus that of one branch less, both with a trunk of d - 1 tokens."
)
LONG_RUN_NOTE = (
    "in the long run: tokens a block where each begins in the state, the last tokens, that the one before left; the "
    "optimum is over all lossless verifiers that start afresh at each block, share that of the verifier in it."
)


def branch_pairs(scheme: DraftScheme) -> list[tuple[Delayed, Delayed]]:
    """For trunks of `0..depth - 1` tokens the tree with one branch less, and that with the branches of this scheme.

    Other schemes, and single paths, have nothing to be compared with.
    """
    if not isinstance(scheme, Delayed) or scheme.K == 1:
        return []
    lengths = [(trunk, scheme.depth - trunk) for trunk in range(scheme.depth)]
    fewer = (1, 0, scheme.depth)  # one path has one shape
    return [(Delayed(*(fewer if scheme.K == 2 else (scheme.K - 1, *at))), Delayed(scheme.K, *at)) for at in lengths]


def depth_cells(plan: Plan) -> list[Cell]:
    """The rows that the tables need beside those of the comparison."""
    needed = [tree for scheme in plan.schemes for pair in branch_pairs(scheme) for tree in pair]
    compared = set(plan.schemes)
    schemes = list(dict.fromkeys(tree for tree in needed if tree not in compared))
    return [cell for number in range(len(plan.places)) for cell in plan.laws(number, schemes)]


def depth_table(plan: Plan, rows: Sequence[Row], stored_cells: Sequence[Cell], stored: Mapping[str, Row]) -> Table:
    """A line for each row of the comparison and depth. stored_cells: all that have rows."""
    laws = {
        (cell.place, cell.verifier.spec, cell.scheme): stored[cell.strong_id]
        for cell in stored_cells
        if cell.verifier is not None and stored[cell.strong_id]["kind"] != FAILURE
    }

    @cache
    def means(number: int, depth: int) -> list[list[Any]]:
        arithmetic = arithmetic_named(plan.settings.arithmetic)
        cases = [case.converted(arithmetic, depth) for case in plan.places[number].world.cases(depth, arithmetic)]
        return [mean_distances(cases, depth, accepted) for accepted in (False, True)]

    lines = []
    for row in rows:
        scheme, place, spec = row["scheme_object"], row["place"], row["spec"]
        law = laws.get((place, spec, scheme))
        pairs = [[laws.get((place, spec, tree)) for tree in pair] for pair in branch_pairs(scheme)]
        if law is not None and scheme.nodes and all(other is not None for pair in pairs for other in pair):
            lines += [row | line for line in _depth_rows(law, pairs, *means(place, scheme.depth))]
    columns = columns_of(rows, Column("depth", "count", "d"))
    columns += [Column(name, "exact", title) for name, title in _NUMBERS.items()]
    columns += hidden("K", "L1", "L2", "scheme", "lossless", "laws")
    return Table.of(columns, lines, title="by depth", name="by_depth", shown=bool(lines))


def _depth_rows(
    law: Mapping[str, Any], pairs: Sequence[Sequence[Any]], everywhere: Sequence[Any], accepted: Sequence[Any]
) -> list[dict[str, Any]]:
    """A row for each depth, from the law of a tree, those of its `branch_pairs`, and `mean_distances`.

    Without pairs there is no gain.
    """
    rows = []
    fewer: Any = pairs[law["L1"]][0] if pairs else None
    below, above = _reached(fewer) if fewer else None, _reached(law)
    for at, distance in enumerate(everywhere):
        numbers = {
            "distance": distance,
            "distance_accepted": accepted[at],
            "accepted_fewer": below[at + 1] / below[at] if below and below[at] else None,
            "accepted": above[at + 1] / above[at] if above[at] else None,
            "reached_fewer": below[at + 1] if below else None,
            "reached": above[at + 1],
        }
        laws = [law]
        if pairs:
            one, two = pairs[at]
            laws = [fewer, law, one, two]
            gain = number_of(two["block_efficiency"]) - number_of(one["block_efficiency"])
            numbers |= {"gain": gain, "gain_per_token": gain / (two["nodes"] - one["nodes"])}
        lossless, names = all(other["lossless"] for other in laws), [other["strong_id"] for other in laws]
        rows.append({"depth": at + 1, **numbers, "lossless": lossless, "laws": names})
    return rows


def _reached(law: Mapping[str, Any]) -> list[Any]:
    """`P(tau >= d)` for `d = 0..L`."""
    masses = number_of(law.get("depth_distribution_exact", law["depth_distribution"]))
    return [sum(masses[depth:]) for depth in range(len(masses))]


def check_states(plan: Plan) -> None:
    """Raise `InvalidInput` for a world that has no states."""
    if not all(isinstance(place.world, (TextWorld, RowsWorld)) for place in plan.places):
        raise InvalidInput("by long-run needs n-gram processes; give a world such as text:topics")


def long_run_table(plan: Plan, rows: Sequence[Row]) -> Table:
    """A line for each verifier, world and scheme, the most tokens first."""

    @cache
    def optimum(number: int, scheme: DraftScheme) -> LongRun | None:
        with suppress(TooLarge):
            return long_run_of(plan.places[number].world, scheme, GOAL.gap)
        return None

    lines = []
    for row in (row for row in rows if row.get("steady_state") is not None):
        best = (
            optimum(row["place"], row["scheme_object"]) if row.get("optimum") is not None else None
        )  # where one block's is
        upper = best and best.upper
        share = number_of(row["steady_state"]) / upper if upper and row["lossless"] else None
        lines.append({**row, "optimum": best and best.lower, "optimum_upper": upper, "share": share})
    places = {(row["place"], row["scheme_object"]): number for number, row in reversed(list(enumerate(lines)))}
    lines.sort(key=lambda row: (places[row["place"], row["scheme_object"]], -row["steady_state_float"]))
    columns = columns_of(
        rows, Column("steady_state", "exact", "long run"), Column("block_efficiency", "exact", "E[tau+1]")
    )
    columns += [Column("optimum", "exact"), Column("share", "percent"), *hidden("optimum_upper", kind="exact")]
    shown = 0 < len(lines) <= MOST_SHOWN
    return Table.of(columns, lines, title="in the long run", name="long_run", shown=shown)
