"""Quantities of branches at one drafted token: optima of stratified and of i.i.d. branches by lists of all sets.

An optimum of one step is `2 + min over sets S of P(S is drafted) - p(S)`.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, combinations
from math import prod
from typing import TypeAlias

from draftproof.experiments.claims.runs import fractions
from draftproof.simulator.drafts import Stratified
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme

Set: TypeAlias = tuple[int, ...]


def by_sets(instance: Instance, scheme: DraftScheme, which: str) -> Fraction:
    """The optimum on `iid` or on `stratified` branches."""
    return min(_bounds(instance, _laws(instance, scheme, which)).values())


def optima_equal(instance: Instance, scheme: DraftScheme, _: str) -> bool:
    """Whether both optima are equal."""
    return by_sets(instance, scheme, "iid") == by_sets(instance, scheme, "stratified")


def drafted_alike(instance: Instance, scheme: DraftScheme, which: str) -> bool:
    """Whether some set has one mass in all pieces, or all mass of q.

    which: `all` sets, or those that are `tight` for i.i.d. branches.
    """
    together = _bounds(instance, _laws(instance, scheme, "iid"))
    pieces, least = _laws(instance, scheme, "stratified"), min(together.values())
    sets = [some for some, bound in together.items() if which == "all" or bound == least]
    q = fractions(instance.draft.row(()))
    return any(len({_mass(law, some) for law in pieces}) == 1 or _mass(q, some) == 1 for some in sets)


def _laws(instance: Instance, scheme: DraftScheme, which: str) -> list[list[Fraction]]:
    """The law of each branch."""
    assert isinstance(scheme, Stratified)
    q = instance.draft.row(())
    return [fractions(q if which == "iid" else piece.law(q)) for piece in scheme.pieces(scheme.K)]


def _bounds(instance: Instance, laws: Sequence[Sequence[Fraction]]) -> dict[Set, Fraction]:
    """For every set of tokens the most tokens of a block if it is tight."""
    p = fractions(instance.target.row(()))
    sets = chain.from_iterable(combinations(range(len(p)), size) for size in range(len(p) + 1))
    return {some: 3 - _mass(p, some) - prod((1 - _mass(law, some) for law in laws), start=Fraction(1)) for some in sets}


def _mass(law: Sequence[Fraction], some: Set) -> Fraction:
    return sum((law[token] for token in some), start=Fraction(0))
