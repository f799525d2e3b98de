"""The optimum for one node, `L = 1`: the best acceptance rate, and the choice among drafts that reaches it.

The cut form: the transport program from drafted sets to tokens by its minimum cut, over sets `S` of tokens, is
`min over S of p(not S) + P(drafts meet S)`. For i.i.d. drafts `P(drafts meet S) = g(q(S))` with `g(x) = 1 - (1 - x)^k`
concave. At the minimum, `g` may be replaced by its tangent: the minimiser holds exactly the tokens with `p/q` above the
slope, a prefix of the tokens sorted by `p/q`. So one sort does it.

The canonical decomposition: any acceptance rate that `k` drafts allow is reached in two parts [khisti2025multi]: choose
one of the drafts by a rule that depends on the drafts only, which turns their law into a law `r` on tokens, then accept
the chosen token `y` with `min(1, p(y)/r(y))`. The rate is `sum min(p, r)`. The laws `r` that a rule can reach are those
with `r(S) <= g(q(S))` for all sets `S` of tokens.
1. Give each token as much of `p` as the sets allow (a greedy algorithm on a polymatroid: any order gives the optimum).
2. Fill up to a law in the same way without the limit `p`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from draftproof.lp_analysis.nodes import hit_probability
from draftproof.simulator.protocol import Vector


def best_first(p: Vector, q: Vector) -> Any:
    """The tokens by `p/q`, largest first; those with `q = 0` come first of all, where they cost nothing."""
    drafted = q > 0
    ratio = p / (q + ~drafted * 1)
    order = (-ratio).argsort(kind="stable")
    return np.concatenate([order[~drafted[order]], order[drafted[order]]])


def best_set(p: Vector, q: Vector, k: int) -> Any:
    """The tokens of a set `S` at which the minimum is attained, by one sort; p, q: shape `(V,)`."""
    order = best_first(p, q)
    values = 1 - p[order].cumsum() + hit_probability(q[order].cumsum(), k)
    best = int(values.argmin())
    return order[: best + 1] if values[best] < 1 else order[:0]  # the empty set has the value 1


def selection_law(p: Vector, q: Vector, k: int) -> Vector:
    """A law `r` that a choice among `k` i.i.d. drafts can have, with the largest `sum min(p, r)`; `O(V^2 log V)`.

    Exact for exact rows.
    """
    order = [int(token) for token in best_first(p, q) if q[token] > 0]
    law = p * 0
    for token in order:
        law[token] = min(p[token], _margin(law, q, k, token))
    for token in order:
        law[token] = law[token] + _margin(law, q, k, token)
    return law


def _margin(law: Vector, q: Vector, k: int, token: int) -> Any:
    """`min over S with token in S of g(q(S)) - law(S)`: how much more the token may get.

    `g` is concave, so the minimiser is the token with a prefix of the others sorted by `law / q`.
    """
    others = np.array([y for y in range(len(q)) if y != token and q[y] > 0], dtype=int)
    others = others[(-law[others] / q[others]).argsort(kind="stable")]
    masses = np.concatenate([q[[token]], q[others]]).cumsum()
    given = np.concatenate([law[[token]], law[others]]).cumsum()
    margin = (hit_probability(masses, k) - given).min()
    return margin if margin > 0 else margin * 0
