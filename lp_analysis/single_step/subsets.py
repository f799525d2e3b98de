"""The subset form of one step: the transport program by its minimum cut, `min over S of p(not S) + P(drafts meet S)`.

The cut is over sets `S` of tokens. For i.i.d. drafts `P(drafts meet S) = g(q(S))` with `g(x) = 1 - (1 - x)^k` concave.
At the minimum, `g` may be replaced by its tangent: the minimiser holds exactly the tokens with `p/q` above the slope, a
prefix of the tokens sorted by `p/q`. So one sort does it. Drafts without replacement have the same property
[hu2025towards] (the probability that they meet `S` grows by less, per unit of `q`, the larger `S` is), and so do top
tokens plus one draw.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from draftproof.lp_analysis.nodes import hit_probability
from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.protocol import Vector
from draftproof.simulator.vectors import minimum, top_tokens

#: Largest vocabulary of which all subsets are tried.
ALL_SUBSETS = 20
#: Most sums in the recursion without replacement.
MOST_TERMS = 2_000_000


def best_first(p: Vector, q: Vector) -> Any:
    """The tokens by `p/q`, largest first; those with `q = 0` come first of all, where they cost nothing."""
    drafted = q > 0
    ratio = p / (q + ~drafted * 1)
    order = (-ratio).argsort(kind="stable")
    return np.concatenate([order[~drafted[order]], order[drafted[order]]])


def iid_acceptance(p: Vector, q: Vector, k: int) -> Any:
    """The best acceptance rate with `k` independent drafts in `O(V log V)`, in the arithmetic of the rows."""
    _check(p, q, k)
    return _prefix_values(p, q, k, best_first(p, q)).min()


def single_step_optimum(p: Any, q: Any, k: int) -> Fraction | float:
    """The best block efficiency with `k` independent drafts of one token: 1 plus the best acceptance rate.

    p, q: shape `(V,)`, exact or float64; `O(V log V)`.
    """
    return as_python(1 + iid_acceptance(p, q, k))


def best_set(p: Vector, q: Vector, k: int) -> Any:
    """The tokens of a set `S` at which the minimum of `iid_acceptance` is attained."""
    order = best_first(p, q)
    return order[: int(_prefix_values(p, q, k, order).argmin())]


def _prefix_values(p: Vector, q: Vector, k: int, order: Any) -> Any:
    """`p(not S) + g(q(S))` for the prefixes `S` of `order`, the empty one first; shape `(V + 1,)`."""
    left = 1 - p[order].cumsum()
    values = left + hit_probability(q[order].cumsum(), k)
    return np.concatenate([values[:1] * 0 + 1, values])


def subset_acceptance(p: Vector, meeting: Callable[[Iterable[int]], Any]) -> Any:
    """The minimum over all `2^V` sets: the definition, for any kind of drafts. Raises `TooLarge` for `V > 20`."""
    if len(p) > ALL_SUBSETS:
        raise TooLarge(f"2^{len(p)} subsets; the enumeration is for at most {ALL_SUBSETS} tokens")
    tokens = range(len(p))
    return min(
        sum((p[y] for y in tokens if y not in subset), start=p[0] * 0) + meeting(subset)
        for size in range(len(p) + 1)
        for subset in combinations(tokens, size)
    )


def without_replacement_acceptance(p: Vector, q: Vector, k: int) -> Any:
    """The best acceptance rate with `k` drafts without replacement: the minimum over the prefixes by `p/q`.

    The chance to miss a prefix is a sum over the ordered drafts outside it: `O(V^k)` terms. Raises `TooLarge`.
    """
    _check(p, q, k)
    support = int((q > 0).sum())
    if support**k > MOST_TERMS:
        raise TooLarge(f"{support}^{k} ordered drafts; drafts without replacement are for at most {MOST_TERMS:,}")
    if k >= support:
        return sum((p[y] for y in range(len(p)) if q[y] > 0), start=p[0] * 0)
    order = [int(y) for y in best_first(p, q)]
    best = p.sum()
    for size in range(1, len(order) + 1):
        inside, outside = order[:size], [y for y in order[size:] if q[y] > 0]
        left = sum((p[y] for y in order[size:]), start=p[0] * 0)
        if any(q[y] > 0 for y in inside):
            left = left + 1 - _all_outside(q, tuple(outside), k, q.sum())
        best = min(best, left)
    return best


def _all_outside(q: Vector, outside: tuple[int, ...], k: int, left: Any) -> Any:
    """The probability that `k` drafts without replacement all lie in `outside`; `left` is the mass not yet drafted."""
    if k == 0:
        return left * 0 + 1
    total = left * 0
    for i, token in enumerate(outside):
        rest = outside[:i] + outside[i + 1 :]
        if len(rest) >= k - 1:
            total = total + q[token] / left * _all_outside(q, rest, k - 1, left - q[token])
    return total


def top_and_draw_acceptance(p: Vector, q: Vector, k: int) -> Any:
    """The best acceptance rate with the `k - 1` most probable tokens and one draw from the rest.

    Top tokens are always drafted, so all their target mass is accepted; of the others one is drawn from the
    renormalised rest, of which `min(p, q_rest)` is accepted.
    """
    _check(p, q, k)
    top = list(top_tokens(q, min(k, int((q > 0).sum())) - 1))
    rest = q * 1
    rest[top] = rest[top] * 0
    kept = minimum(p, rest / rest.sum())
    kept[top] = p[top]
    return kept.sum()


def _check(p: Vector, q: Vector, k: int) -> None:
    if p.ndim != 1 or p.shape != q.shape or len(p) == 0:
        raise InvalidInput(f"rows of shapes {p.shape} and {q.shape}; give two distributions over the same tokens")
    if (p.dtype == object) != (q.dtype == object):
        raise InvalidInput("one row is exact, the other float; use one arithmetic for both")
    if type(k) is not int or k < 1:
        raise InvalidInput(f"k = {k!r}; the number of drafts must be a whole number of at least 1")
