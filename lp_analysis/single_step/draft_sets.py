"""The drafts of one node as sets of tokens with probabilities, and how likely they meet a set of tokens.

`V` is the vocabulary size, `k` the number of drafts, `p` and `q` rows of shape `(V,)` in either arithmetic.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from math import comb
from typing import Any, TypeAlias

from draftproof.simulator.errors import TooLarge
from draftproof.simulator.protocol import Vector

#: Sets of drafted tokens with their probabilities, each set once.
DraftSets: TypeAlias = Sequence[tuple[frozenset[int], Any]]

#: Most sets that are listed.
MOST = 200_000


def iid_sets(q: Vector, k: int) -> DraftSets:
    """`k` independent drafts, by inclusion and exclusion over their distinct tokens."""
    listed_sets = sum(comb(len(q), n) for n in range(1, k + 1))
    if listed_sets > MOST:
        raise TooLarge(f"{listed_sets:,} draft sets are more than {MOST:,}; use a smaller vocabulary or fewer drafts")
    tokens = [token for token, mass in enumerate(q.tolist()) if mass > 0]
    listed = []
    for count in range(1, min(k, len(tokens)) + 1):
        for some in combinations(tokens, count):
            mass = q[0] * 0
            for inner in range(1, count + 1):
                sign = 1 if (count - inner) % 2 == 0 else -1
                mass = mass + sign * sum(_sum(q, part) ** k for part in combinations(some, inner))
            listed.append((frozenset(some), mass))
    return listed


def meeting(sets: DraftSets) -> Callable[[Iterable[int]], Any]:
    """The function from a set of tokens to the probability that some draft lies in it."""

    def probability(tokens: Iterable[int]) -> Any:
        wanted = set(tokens)
        return sum(mass for drafts, mass in sets if drafts & wanted)

    return probability


def _sum(q: Vector, tokens: Iterable[int]) -> Any:
    return sum((q[token] for token in tokens), start=q[0] * 0)
