"""Judges functions of laws cell by cell: that a balance is zero, and how the functions of two laws differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

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
#: How many cells a balance or a difference has, the judgements where it is claimed, and the cells that stay open, each
#: with the function there, if it is known.
Judged = tuple[int, list[Judgement], list[tuple[Region, Ratio | None]]]


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
    """What is found at places of parts of one or two laws, in their order.

    executor: finds it elsewhere; what stays open there is judged here. judging: in place of that of the kind.
    """
    known: dict[tuple[int, Place], Mapping[str, Any]] = {}
    if executor is not None:
        claimed = [(number, place) for number, place in wanted if laws[0][number].gap is None]
        plain = [plain_law(law, oracle.points) for law in laws]
        results = ((claimed[number], result) for number, result in executor.judged(kind, plain, claimed))
        known = {place: result for place, result in results if not result["open"]}
    for result in known.values():
        oracle.absorb(result["account"])
    for number, place in wanted:
        if (number, place) in known:
            yield known[number, place]["cells"], known[number, place]["judgements"], []
        else:
            yield judged_at([law[number] for law in laws], place, shape, oracle, judging or JUDGING[kind])


def judged(kind: str, parts: Sequence[Part], place: Place, shape: Shape, oracle: Oracle) -> dict[str, Any]:
    """The judgements about a balance, or a difference of two, as plain data. shape: of the ring of the parts."""
    before = oracle.asked
    cells, judgements, missing = judged_at(parts, place, shape, oracle, JUDGING[kind])
    account = {"asked": oracle.asked - before}
    return {"cells": cells, "judgements": judgements, "open": len(missing), "account": account}


def judged_at(parts: Sequence[Part], place: Place, shape: Shape, oracle: Oracle, judging: Judging) -> Judged:
    """What is found at one place. parts: one of a balance, two of a difference."""
    zero, one = Ratio(shape.ring, shape.ring.zero), parts[0]
    if len(parts) == 1:
        context, token = place
        tree = balance(shape, one, context, token, oracle)
    else:
        mine, theirs = (part.gap or _function(part, place, shape, oracle) for part in parts)
        tree = difference(mine, theirs, shape, one, oracle)
    cells, judgements, missing = 0, list[Judgement](), list[tuple[Region, Ratio | None]]()
    for region, leaf in leaves(tree, one.region):
        cells += 1
        if isinstance(leaf, Gap):
            missing += [] if leaf.outside else [(region, None)]
            continue
        value = leaf.values.get(SUM, zero)
        judgement = judging(value, region, oracle)
        if judgement is None:
            missing.append((region, value))
        else:
            judgements.append(judgement)
    return cells, judgements, missing


def _function(part: Part, place: Place, shape: Shape, oracle: Oracle) -> Tree:
    if not place:
        return efficiency(shape, part, oracle)
    context, *token = place
    return mass(shape, part, (context, token[0]), oracle) if token else reach(shape, part, context, oracle)
