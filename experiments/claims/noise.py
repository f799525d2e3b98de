"""The probability that two drafts lead to different outputs where draft and target read the same noise.

At every node path `j` has a unit exponential `S_ij` for each token `i`; its draft is the token of the smallest
`S_ij / q_i`, and the target's token that of the smallest `S_ij / p_i` over all paths that it reads.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from flint import fmpq

from draftproof.experiments.claims.runs import fractions
from draftproof.simulator.arithmetic import to_fmpq
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.numbers import exact_fraction
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.symbolic.decide.measure import measure

#: `(a, b, c)`: the exponential `a` is at least `c` times the exponential `b`.
Order = tuple[Any, Any, Fraction]
Row = Sequence[Fraction]


def outputs_differ(instance: Instance, scheme: DraftScheme, _: str) -> Fraction:
    """The probability that the draft of the instance and the uniform one lead to other tokens among the first two."""
    p, size = fractions(instance.target.row(())), instance.vocab_size
    drafts = [fractions(instance.draft.row(())), [Fraction(1, size)] * size]
    differ = Fraction(0)
    for token, read, mass in _first_tokens(p, drafts, scheme.as_dict()["K"]):
        if read[0] != read[1]:
            differ += mass * (1 - _same_winner(fractions(instance.target.row((token,))), *read))
    return differ


def _first_tokens(p: Row, drafts: Sequence[Row], K: int) -> Iterator[tuple[int, list[frozenset[int]], Fraction]]:
    """The first token, for each draft the paths whose noise the second token reads, and the probability."""
    tokens, paths = range(len(p)), range(K)
    for y, least in product(tokens, paths):
        for drafted in product(product(tokens, repeat=K), repeat=len(drafts)):
            if p[y] and all(q[x] for q, row in zip(drafts, drafted, strict=True) for x in row):
                orders = [*smallest(p, y, least, paths)]
                for q, row in zip(drafts, drafted, strict=True):
                    orders += [order for path, x in enumerate(row) for order in smallest(q, x, path, [path])]
                agree = [frozenset(path for path in paths if row[path] == y) for row in drafted]
                mass = probability([(i, path) for i in tokens for path in paths], orders)
                yield y, [read or frozenset(paths) for read in agree], mass


def _same_winner(p: Row, one: Iterable[int], other: Iterable[int]) -> Fraction:
    """The probability that the smallest `S / p` is at the same token on two sets of paths."""
    one, other = list(one), list(other)
    paths = sorted({*one, *other})
    everything = [(i, path) for i in range(len(p)) for path in paths]
    return sum(
        (
            probability(everything, [*smallest(p, y, first, one), *smallest(p, y, second, other)])
            for y in range(len(p))
            if p[y]
            for first, second in product(one, other)
        ),
        Fraction(0),
    )


def smallest(row: Row, token: int, path: int, paths: Iterable[int]) -> Iterator[Order]:
    """What makes `S / row` smallest at a token of a path, among all tokens of the paths."""
    for i, other in product(range(len(row)), paths):
        if (i, other) != (token, path):
            yield (i, other), (token, path), row[i] / row[token]


def probability(exponentials: Sequence[Any], orders: Iterable[Order]) -> Fraction:
    """The probability that independent unit exponentials are in these orders."""
    places = {name: place for place, name in enumerate(exponentials)}
    constraints = []
    for above, below, factor in orders:
        coefficients = [fmpq(0)] * len(places)
        coefficients[places[below]] += to_fmpq(factor)
        coefficients[places[above]] -= 1
        constraints.append((tuple(coefficients), fmpq(0)))
    bounds = ((fmpq(0), None),) * len(places)
    return exact_fraction(measure(1, bounds, tuple(constraints)))
