"""The subset form of one step: the transport program by its minimum cut, `min over S of p(not S) + P(drafts meet S)`.

The cut is over sets `S` of tokens. For i.i.d. drafts `P(drafts meet S) = g(q(S))` with `g(x) = 1 - (1 - x)^k` concave.
At the minimum, `g` may be replaced by its tangent: the minimiser holds exactly the tokens with `p/q` above the slope, a
prefix of the tokens sorted by `p/q`. So one sort does it.
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

#: Largest vocabulary of which all subsets are tried.
ALL_SUBSETS = 20


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


def _check(p: Vector, q: Vector, k: int) -> None:
    if p.ndim != 1 or p.shape != q.shape or len(p) == 0:
        raise InvalidInput(f"rows of shapes {p.shape} and {q.shape}; give two distributions over the same tokens")
    if (p.dtype == object) != (q.dtype == object):
        raise InvalidInput("one row is exact, the other float; use one arithmetic for both")
    if type(k) is not int or k < 1:
        raise InvalidInput(f"k = {k!r}; the number of drafts must be a whole number of at least 1")
