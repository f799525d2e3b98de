"""Judges functions of laws cell by cell: that a balance is zero, and how the functions of two laws differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from draftproof.simulator.theorems.algebra.oracle import Oracle
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.algebra.trees import Gap, Tree, leaves
from draftproof.simulator.theorems.proof.balance import SUM, balance, difference, efficiency, mass, reach
from draftproof.simulator.theorems.proof.judgements import Judgement, Judging, judged_nonnegative, judged_zero
from draftproof.simulator.theorems.proof.laws import Part, plain_law
from draftproof.simulator.theorems.proof.rows import Shape

#: What a theorem claims: of one law that every balance is zero, or how two laws are related.
LOSSLESS, EQUALS, DOMINATES = "lossless", "equals", "dominates"
JUDGING: Mapping[str, Judging] = {LOSSLESS: judged_zero, EQUALS: judged_zero, DOMINATES: judged_nonnegative}
#: A function of a law: nothing more for block efficiency, a context for its reach, a context and a token for a block or
#: a balance.
Place = tuple[Any, ...]
#: How many cells a balance or a difference has, the judgements of those where the claim is shown, and the cells that
#: stay open, each with the function there, if it is known.
Judged: TypeAlias = tuple[int, list[Judgement], list[tuple[Region, Ratio | None]]]


class ProofExecutor(Protocol):
    """Carries out the steps of a proof, in other processes or from stored results.

    Results come with the numbers of their tasks, in any order.
    """

    def explored(self, tasks: Sequence[Mapping[str, Any]]) -> Iterable[tuple[int, Mapping[str, Any]]]:
        """The masses of draft trees; see `laws.explored`."""
        ...

    def judged(
        self, kind: str, laws: Sequence[Mapping[str, Any]], wanted: Sequence[tuple[int, tuple[Any, ...]]]
    ) -> Iterable[tuple[int, Mapping[str, Any]]]:
        """Functions of one or two laws, by number of part and place; see `judged`, and `laws.plain_law`."""
        ...


def judged_places(
    kind: str,
    laws: Sequence[Sequence[Part]],
    wanted: Sequence[tuple[int, Place]],
    shape: Shape,
    oracle: Oracle,
    executor: ProofExecutor | None = None,
    judging: Judging | None = None,
) -> Iterator[Judged]:
    """What is judged at the wanted places, each with the number of a part of the laws, in their order.

    laws: one, or two that are compared. executor: judges elsewhere; what stays open there is judged here again.
    judging: in place of that of the kind.
    """
    closed: dict[tuple[int, Place], Mapping[str, Any]] = {}
    if executor is not None:
        claimed = [(number, place) for number, place in wanted if laws[0][number].gap is None]
        plain = [plain_law(law, oracle.points) for law in laws]
        results = executor.judged(kind, plain, claimed)
        closed = {claimed[task]: result for task, result in results if not result["open"]}
    for result in closed.values():
        oracle.absorb(result["account"])
    for number, place in wanted:
        answer = closed.get((number, place))
        if answer is not None:
            yield answer["cells"], answer["judgements"], []
        else:
            yield judged_at([law[number] for law in laws], place, shape, oracle, judging or JUDGING[kind])


def judged(kind: str, parts: Sequence[Part], place: Place, shape: Shape, oracle: Oracle) -> dict[str, Any]:
    """`judged_at` as plain data, as `ProofExecutor.judged` hands it on. shape: of the ring of the parts."""
    before = oracle.asked
    cells, judgements, open_cells = judged_at(parts, place, shape, oracle, JUDGING[kind])
    account = {"asked": oracle.asked - before}
    return {"cells": cells, "judgements": judgements, "open": len(open_cells), "account": account}


def judged_at(parts: Sequence[Part], place: Place, shape: Shape, oracle: Oracle, judging: Judging) -> Judged:
    """What is judged at one place. parts: one of a balance, that of each law of a difference."""
    zero, part = Ratio(shape.ring, shape.ring.zero), parts[0]
    if len(parts) == 1:
        context, token = place
        tree = balance(shape, part, context, token, oracle)
    else:
        mine, theirs = (part.gap or _function_at(place, part, shape, oracle) for part in parts)
        tree = difference(mine, theirs, shape, part, oracle)
    cells, judgements, open_cells = 0, list[Judgement](), list[tuple[Region, Ratio | None]]()
    for region, leaf in leaves(tree, part.region):
        cells += 1
        if isinstance(leaf, Gap):
            open_cells += [] if leaf.outside else [(region, None)]  # outside the theorem nothing is claimed
            continue
        value = leaf.values.get(SUM, zero)
        judgement = judging(value, region, oracle)
        if judgement is None:
            open_cells.append((region, value))
        else:
            judgements.append(judgement)
    return cells, judgements, open_cells


def _function_at(place: Place, part: Part, shape: Shape, oracle: Oracle) -> Tree:
    """The function of a law that a place names: block efficiency, a reach, or the mass of a block."""
    if not place:
        return efficiency(shape, part, oracle)
    context, *token = place
    return mass(shape, part, (context, token[0]), oracle) if token else reach(shape, part, context, oracle)
