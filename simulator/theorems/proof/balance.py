"""The balance of a verifier for all p and q: one function for every context and token, zero if and only if lossless.

`D(c) p(y|c) - D(c,y) - e(c,y)` is summed draft tree by draft tree, each sum simplified before the next is added. The
last token of a context follows from the others, since all of them sum to zero by the definition of `D`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from draftproof.simulator.protocol import Context
from draftproof.simulator.theorems.algebra.oracle import Oracle
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.trees import Leaf, Tree, combined, mapped
from draftproof.simulator.theorems.proof.laws import Block, Part
from draftproof.simulator.theorems.proof.rows import Shape

#: The only name of a value at the leaves of a sum.
SUM = "sum"


def places(shape: Shape) -> Iterator[tuple[Context, int]]:
    """Every context with every token but the last."""
    for context in shape.contexts:
        for token in range(shape.vocab_size - 1):
            yield context, token


def summed(part: Part, share: Callable[[Leaf], Ratio | None], start: Ratio, oracle: Oracle) -> Tree:
    """`start` and the shares of all draft trees, as one function. share: None for nothing."""
    zero = Ratio(start.ring, start.ring.zero)

    def of_leaf(leaf: Leaf) -> Mapping[Any, Ratio]:
        value = share(leaf)
        return {} if value is None else {SUM: value}

    def added(pieces: Sequence[Leaf]) -> Mapping[Any, Ratio]:
        return {SUM: pieces[0].values.get(SUM, zero) + pieces[1].values.get(SUM, zero)}

    total: Tree = Leaf.of({SUM: start})
    for masses in part.masses:
        piece = mapped(masses, of_leaf, part.region, oracle)
        if isinstance(piece, Leaf) and not piece.values:
            continue
        total = combined([total, piece], added, part.region, oracle)
    return total


def balance(shape: Shape, part: Part, context: Context, token: int, oracle: Oracle) -> Tree:
    """The balance at one place."""
    wanted = shape.ratios(("p", context))[token]
    depth = len(context)

    def share(leaf: Leaf) -> Ratio | None:
        total = None
        for (accepted, correction), mass in leaf.values.items():
            if accepted[:depth] != context:
                continue
            hit = accepted[depth] == token if len(accepted) > depth else correction == token
            term = (mass * wanted if depth else None) if not hit else (mass * wanted - mass if depth else -mass)
            if term is not None:
                total = term if total is None else total + term
        return total

    zero = Ratio(shape.ring, shape.ring.zero)
    return summed(part, share, zero if depth else wanted, oracle)


def efficiency(shape: Shape, part: Part, oracle: Oracle) -> Tree:
    """Block efficiency `E[tau + 1]`."""
    return expected(shape, part, oracle, lambda accepted, _: len(accepted), 1)


def acceptance(shape: Shape, part: Part, oracle: Oracle) -> Tree:
    """Probability that at least one drafted token is accepted."""
    return expected(shape, part, oracle, lambda accepted, _: int(bool(accepted)), 0)


def reach(shape: Shape, part: Part, context: Context, oracle: Oracle) -> Tree:
    """`D(c)` of a context that is not the root."""
    return expected(shape, part, oracle, lambda accepted, _: int(accepted[: len(context)] == context), 0)


def mass(shape: Shape, part: Part, block: Block, oracle: Oracle) -> Tree:
    """`e(c, y)`."""
    return expected(shape, part, oracle, lambda *drawn: int(drawn == block), 0)


def expected(shape: Shape, part: Part, oracle: Oracle, value: Callable[[Context, int], int], start: int) -> Tree:
    """`start` and the mean of a whole number of accepted context and correction token."""
    ring = shape.ring

    def share(leaf: Leaf) -> Ratio | None:
        total = None
        for (accepted, token), weight in leaf.values.items():
            factor = value(accepted, token)
            if factor:
                term = weight if factor == 1 else weight * Ratio(ring, ring.constant(factor))
                total = term if total is None else total + term
        return total

    return summed(part, share, Ratio(ring, ring.constant(start)), oracle)


def difference(one: Tree, other: Tree, shape: Shape, part: Part, oracle: Oracle) -> Tree:
    """The first function without the second."""
    zero = Ratio(shape.ring, shape.ring.zero)
    return combined(
        [one, other],
        lambda pair: {SUM: pair[0].values.get(SUM, zero) - pair[1].values.get(SUM, zero)},
        part.region,
        oracle,
    )
