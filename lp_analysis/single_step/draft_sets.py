"""The drafts of one node as sets of tokens with probabilities, and how likely they meet a set of tokens.

`V` is the vocabulary size, `k` the number of drafts, `p` and `q` rows of shape `(V,)` in either arithmetic.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, permutations
from math import comb, perm
from typing import Any, TypeAlias

from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.protocol import Vector
from draftproof.simulator.vectors import top_tokens

#: Sets of drafted tokens with their probabilities, each set once.
DraftSets: TypeAlias = Sequence[tuple[frozenset[int], Any]]

#: Most sets or sequences that are listed.
MOST = 200_000


def iid_sets(q: Vector, k: int) -> DraftSets:
    """`k` independent drafts, by inclusion and exclusion over their distinct tokens."""
    tokens = _support(q, sum(comb(len(q), n) for n in range(1, k + 1)))
    listed = []
    for count in range(1, min(k, len(tokens)) + 1):
        for some in combinations(tokens, count):
            mass = q[0] * 0
            for inner in range(1, count + 1):
                sign = 1 if (count - inner) % 2 == 0 else -1
                mass = mass + sign * sum(_sum(q, part) ** k for part in combinations(some, inner))
            listed.append((frozenset(some), mass))
    return listed


def without_replacement_sets(q: Vector, k: int) -> DraftSets:
    """`k` drafts, fewer where `q` has fewer tokens, each from `q` without the earlier ones, renormalised."""
    tokens = _support(q, perm(len(q), min(k, len(q))))
    masses: dict[frozenset[int], Any] = {}
    for sequence in permutations(tokens, min(k, len(tokens))):
        mass, left = 1, q.sum()
        for token in sequence:
            mass, left = mass * (q[token] / left), left - q[token]
        key = frozenset(sequence)
        masses[key] = masses[key] + mass if key in masses else mass
    return list(masses.items())


def top_and_draw_sets(q: Vector, k: int) -> DraftSets:
    """The `k - 1` most probable tokens and one from `q` without them, renormalised."""
    tokens = _support(q, len(q))
    top = top_tokens(q, min(k, len(tokens)) - 1)
    rest = [token for token in tokens if token not in top]
    left = _sum(q, rest)
    return [(frozenset((*top, token)), q[token] / left) for token in rest]


def meeting(sets: DraftSets) -> Callable[[Iterable[int]], Any]:
    """The function from a set of tokens to the probability that some draft lies in it."""

    def probability(tokens: Iterable[int]) -> Any:
        wanted = set(tokens)
        return sum(mass for drafts, mass in sets if drafts & wanted)

    return probability


def _sum(q: Vector, tokens: Iterable[int]) -> Any:
    return sum((q[token] for token in tokens), start=q[0] * 0)


def _support(q: Vector, listed: int) -> list[int]:
    if listed > MOST:
        raise TooLarge(f"{listed:,} draft sets are more than {MOST:,}; use a smaller vocabulary or fewer drafts")
    tokens = [token for token, mass in enumerate(q.tolist()) if mass > 0]
    if not tokens:
        raise InvalidInput("the draft row is zero; it must be a distribution")
    return tokens
