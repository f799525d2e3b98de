"""The joint law of the next token and of how many drafts equal it, where drafts have scores: see `verifiers._scores`.

`V` tokens, `C` cells. Within a cell the place of a score is uniform, so that the law of the best of `k` scores is a
polynomial in it. With `H` the mass of a token's scores in lower cells, `h` in this one, and `G`, `g` those of all other
tokens together, `m` copies of the token and `k - m` others lie lower with probability
`(H + u h)^m (G + u g)^(k - m)` at the place `u` of the cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb
from typing import Any

from draftproof.simulator.protocol import Vector
from draftproof.simulator.vectors import layers, minimum, residual, times
from draftproof.verifiers._limits import check_numbers
from draftproof.verifiers._ratio_classes import table
from draftproof.verifiers._scores import Scores


def joint_law(scores: Scores, p: Vector, q: Vector, k: int) -> Vector:
    """Shape `(k + 1, V)`, by the number of drafts equal to the token; `min(1, p/r)` accepts the draft taken."""
    cells = len(scores.edges) - 1
    check_numbers("the child law of drafts with scores", float(len(q) * cells * (k + 4)), q)
    laws, best = _meeting(scores, range(len(q)), q)
    law = scores.law(q)
    kept = minimum(p, law) / (law + (law <= 0))
    lost = q * (1 - kept) * (law > 0)
    others = lost @ laws - lost[:, None] * laws  # the scores of other tokens that are rejected
    rest, result = residual(p, law), []
    for m in range(k + 1):
        copies = comb(k, m) * q**m
        refused = copies * (k - m) * best(others, m, k - m - 1) if m < k else q * 0
        taken = copies * m * best(laws, m - 1, k - m) if m else q * 0
        result.append(taken * kept + rest * (refused + taken * (1 - kept)))
    return layers(result)


def winning_shares(scores: Scores, tokens: Sequence[int], mass: Any) -> list[Any]:
    """For `m = 1..K` the probability that a token is drafted `m` times and taken, shape `(n,)`.

    mass: the `q` of the `n` tokens, shape `(n,)`, a row of its arithmetic.
    """
    check_numbers(
        "the shares of drafts with scores", float(len(tokens) * len(scores.edges) * 2 * len(scores.alive)), mass
    )
    laws, best = _meeting(scores, tokens, mass)
    shares = [mass * 0 for _ in scores.alive]
    for k, share in enumerate(scores.alive, start=1):
        for m in range(1, k + 1) if share > 0 else ():
            shares[m - 1] = shares[m - 1] + share * comb(k, m) * m * mass**m * best(laws, m - 1, k - m)
    return shares


def _meeting(scores: Scores, tokens: Sequence[int], mass: Any) -> tuple[Any, Callable[[Any, int, int], Any]]:
    """The laws of scores, shape `(n, C)`, and how likely a score of each token is above so many copies and others."""
    laws, edges = table(scores.laws(tokens), mass), table(scores.edges, mass)
    below, column = laws.cumsum(1) - laws, mass[:, None]
    low, wide = edges[:-1] - column * below, (edges[1:] - edges[:-1]) - column * laws

    def best(own: Any, copies: int, others: int) -> Any:
        parts: Any = [own]
        for constant, linear, count in ((below, laws, copies), (low, wide, others)):
            for _ in range(count):
                parts = times(parts, constant, linear)
        return sum(part.sum(1) / (power + 1) for power, part in enumerate(parts))

    return laws, best
