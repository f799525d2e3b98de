"""The program of one node of `path_transport`: for every number of alive branches a mixture of token orders.

`V` is the vocabulary size, `K` the number of branches. At a node with `k` of them alive, an order `o` of the tokens
selects the best token present: token `y` with `m` alive copies has probability `C(k,m) q(y)^m A_o(y)^(k-m)`, where
`A_o(y)` is the mass that `o` ranks below `y`. Let `u_m(y)` be the mixture of these over `k` and `o`, `u = sum_m u_m`,
and `w` the weight of the node. The program maximises `sum_y min(w p(y), u(y))`, and then `sum u_m(y)^2` is to be least.
1. [khisti2025multi] `u` ranges over a base polytope, so that the maximum is a minimum over sets `S` of tokens,
   `w p(not S) + sum_k alive_k (1 - (1 - q(S))^k)`, which a prefix of the tokens sorted by `p/q` attains.
2. So an optimum ranks `S` above the rest, with `u <= w p` on `S` and `u >= w p` on the rest: two separate problems.
3. In each, column generation: nonnegative least squares over the orders so far, then for every `k` the order that the
   gradient asks for (exact for `k = 2` and for up to ten tokens, else a search), until none lowers the sum.
4. The weights of the orders are rounded to multiples of `1/DENOMINATOR`.

An order of least cost, where a token with mass `A` ranked below it costs `sum_j factor_j A^j`:
5. With one power above the constant the tokens sorted by `factor_1 / q` are one (exchange of neighbours: swapping `x`
   above `y` changes the cost by `factor_1(x) q(y) - factor_1(y) q(x)`).
6. Else, for few tokens, dynamic programming over the set ranked below: `A` depends on that set only.
7. For more, a search: sorted by the slope of the cost at half the mass, then neighbours are exchanged while that gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Any, TypeAlias

import numpy as np
import scipy

from draftproof.verifiers._programs import DECIMALS, check_numbers

#: Weights of orders are multiples of one over this number.
DENOMINATOR = 1024
#: Weight of the equations in the least squares: they are violated by far less than one over `DENOMINATOR`.
_PENALTY = 1e3
#: Column generation ends when the sum of squares can fall by no more than this, which is far below the effect of
#: rounding.
_TOLERANCE = 1e-8
#: Rounds of column generation at most; then the mixture at hand is used.
_ROUNDS = 400

Numbers: TypeAlias = tuple[float, ...]


@dataclass(frozen=True)
class Mixture:
    """A mixture of token orders. units: weights times `DENOMINATOR`. orders: all `V` tokens, worst first."""

    units: tuple[int, ...]
    orders: tuple[tuple[int, ...], ...]


def rounded(values: Any) -> Numbers:
    """The numbers to `DECIMALS`."""
    return tuple(round(float(value), DECIMALS) for value in values)


@lru_cache(maxsize=65536)
def node_mixtures(weight: float, alive: Numbers, p: Numbers, q: Numbers) -> tuple[Mixture, ...] | None:
    """One mixture for each `k = 2..K`; None, which stands for the first alive branch, where `w p = q`.

    alive: for `k = 1..K` the probability that `k` branches are alive. All numbers as `rounded` gives them.
    """
    target_mass, draft = weight * np.array(p), np.array(q)
    check_numbers("the program of token orders", float((draft > 0).sum() * len(alive)) ** 2, draft)
    if rounded(target_mass) == q:
        return None
    order = np.argsort(target_mass / (draft + (draft == 0)), kind="stable")
    never, order = order[draft[order] == 0], order[draft[order] > 0]
    split = _split(target_mass[order], draft[order], alive)
    halves = []
    for tokens, best in ((order[:split], False), (order[split:], True)):
        below = float(draft[order[:split]].sum()) if best else 0.0
        if len(tokens):
            halves.append(_Half(tokens, best, target_mass[tokens], draft[tokens], below, alive).mixtures())
    return tuple(_stacked(never, mixtures) for mixtures in zip(*halves, strict=True))


def _split(target_mass: Any, draft: Any, alive: Numbers) -> int:
    """Step 1: how many of the tokens, worst first, are not in the best set."""
    inside = np.append(0.0, draft[::-1].cumsum())
    hit = sum(share * (1 - (1 - inside) ** k) for k, share in enumerate(alive, start=1))
    outside = np.append(target_mass.cumsum()[::-1], 0.0)
    return len(target_mass) - int(np.argmin(outside + hit))


def _stacked(never: Any, halves: Sequence[Mixture]) -> Mixture:
    """Orders of the best set on top of orders of the rest; tokens that are never drafted come last of all."""
    ends = [np.cumsum(half.units) for half in halves]
    cuts = np.unique(np.concatenate(ends))
    orders = []
    for cut in cuts:
        parts = [half.orders[int(np.searchsorted(end, cut))] for half, end in zip(halves, ends, strict=True)]
        orders.append(tuple(int(token) for part in (never, *parts) for token in part))
    return Mixture(tuple(int(units) for units in np.diff(cuts, prepend=0)), tuple(orders))


class _Half:
    """Step 3 for the best set or for the rest of the tokens, `n` in number."""

    def __init__(self, tokens: Any, best: bool, target_mass: Any, draft: Any, below: float, alive: Numbers) -> None:
        """target_mass: `w p`. below: the mass that every order ranks below these tokens. tokens: worst first."""
        self.tokens, self.best, self.target_mass, self.draft, self.below, self.alive = (
            tokens,
            best,
            target_mass,
            draft,
            below,
            alive,
        )
        self.counts = range(2, len(alive) + 1)
        self.orders: list[tuple[int, Any]] = []  # (k, positions among the tokens, worst first)
        self.columns: list[Any] = []  # what each adds to `u_m(y)`, shape `(K, n)`

    def mixtures(self) -> list[Mixture]:
        """The rounded mixture for each `k = 2..K`."""
        for k in self.counts:
            self._add(k, np.arange(len(self.tokens)))
        shares = np.ones(len(self.orders))
        for _ in range(_ROUNDS if len(self.tokens) > 1 else 0):
            shares, prices = self._weigh()
            costs = [float((column * prices).sum()) for column in self.columns]
            gained = 0.0
            for k in self.counts:
                if self.alive[k - 1] > 0:
                    order = self._cheapest(k, prices)
                    now = sum(s * c for s, c, (of, _) in zip(shares, costs, self.orders, strict=False) if of == k)
                    gain = now - float((self._column(k, order) * prices).sum())
                    gained += max(gain, 0.0)
                    if gain > 0:
                        self._add(k, order)
            if gained <= _TOLERANCE:
                break
        return [self._mixture(k, shares) for k in self.counts]

    def _add(self, k: int, order: Any) -> None:
        self.orders.append((k, order))
        self.columns.append(self._column(k, order))

    def _column(self, k: int, order: Any) -> Any:
        below = np.empty(len(order))
        below[order] = ranked_below(order, self.draft, self.below)
        column = np.zeros((len(self.alive), len(order)))
        for m in range(1, k + 1):
            column[m - 1] = self.alive[k - 1] * comb(k, m) * self.draft**m * below ** (k - m)
        return column

    def _weigh(self) -> tuple[Any, Any]:
        """The best shares of the orders so far, and the gradient of the sum of squares by `u_m(y)`, shape `(K, n)`."""
        (K, size), count = self.columns[0].shape, len(self.columns)
        stack = np.array(self.columns)
        single = np.zeros((K, size))
        single[0] = self.alive[0] * self.draft  # one branch alive: there is nothing to choose
        sums = np.array([[float(of == k) for of, _ in self.orders] for k in self.counts])
        spare = np.eye(size) * (1 if self.best else -1)  # u + spare = w p on the best set, u - spare = w p elsewhere
        matrix = np.vstack(
            [
                np.hstack([stack.reshape(count, -1).T, np.zeros((K * size, size))]),
                _PENALTY * np.hstack([stack.sum(axis=1).T, spare]),
                _PENALTY * np.hstack([sums, np.zeros((len(sums), size))]),
            ]
        )
        wanted = np.concatenate(
            [-single.ravel(), _PENALTY * (self.target_mass - single[0]), np.full(len(sums), _PENALTY)]
        )
        weights = scipy.optimize.nnls(matrix, wanted, maxiter=100 * matrix.shape[1])[0]
        residual = (matrix @ weights - wanted)[K * size : (K + 1) * size]
        return weights[:count], single + np.tensordot(weights[:count], stack, axes=1) + _PENALTY * residual

    def _cheapest(self, k: int, prices: Any) -> Any:
        """The order of the least cost for `k` alive branches."""
        factors = [comb(k, m) * prices[m - 1] * self.draft**m for m in range(k, 0, -1)]  # by the power k - m of A
        return cheapest_order(factors, self.draft, self.below)

    def _mixture(self, k: int, shares: Any) -> Mixture:
        """Step 4, by largest remainders."""
        pairs = zip(shares, self.orders, strict=False)  # orders of a last round have no share
        weighted = [(max(float(share), 0.0), order) for share, (of, order) in pairs if of == k]
        total = sum(share for share, _ in weighted)
        exact = [DENOMINATOR * share / total if total > 0 else DENOMINATOR / len(weighted) for share, _ in weighted]
        units = [int(number) for number in exact]
        by_remainder = sorted(range(len(weighted)), key=lambda i: units[i] - exact[i])
        for i in by_remainder[: DENOMINATOR - sum(units)]:
            units[i] += 1
        used = [
            (n, tuple(int(t) for t in self.tokens[order])) for n, (_, order) in zip(units, weighted, strict=True) if n
        ]
        return Mixture(tuple(n for n, _ in used), tuple(order for _, order in used))


#: Dynamic programming over all sets is for at most so many tokens.
FEW = 10
#: An exchange of neighbours must gain more than the rounding of a few products.
_GAIN = 1e-14


def cheapest_order(factors: Sequence[Any], mass: Any, below: float) -> Any:
    """Positions of the tokens, worst first.

    factors: by power of `A`, each of shape `(n,)`. mass: `q > 0`, shape `(n,)`. below: mass ranked below all of them.
    """
    middle = below + mass.sum() / 2
    slope = sum(j * factor * middle ** (j - 1) for j, factor in enumerate(factors) if j)
    order = np.argsort(-slope / mass, kind="stable")
    if len(factors) <= 2:
        return order
    return _over_sets(factors, mass, below) if len(mass) <= FEW else _exchanged(order, factors, mass, below)


def ranked_below(order: Any, mass: Any, below: float) -> Any:
    """`A` of the tokens of an order, worst first."""
    return below + mass[order].cumsum() - mass[order]


def _over_sets(factors: Sequence[Any], mass: Any, below: float) -> Any:
    """Step 6. Sets are numbers whose bits are the tokens."""
    size = len(mass)
    member, levels = _sets(size)
    inside = below + member @ mass
    cost = sum(factor[:, np.newaxis] * inside**j for j, factor in enumerate(factors))  # of a token above a set
    least = np.zeros(2**size)
    last = np.zeros(2**size, dtype=int)
    for sets, without in levels:
        costs = np.where(member[sets] > 0, least[without] + cost[np.arange(size), without], np.inf)
        last[sets] = costs.argmin(axis=1)
        least[sets] = costs.min(axis=1)
    order, left = [], 2**size - 1
    while left:
        order.append(int(last[left]))
        left -= 2 ** order[-1]
    return np.array(order[::-1])


@lru_cache(maxsize=FEW + 1)
def _sets(size: int) -> tuple[Any, list[tuple[Any, Any]]]:
    """Which set has which token, and by size of set: the sets, and each without one of its tokens."""
    sets = np.arange(2**size)
    bits = 2 ** np.arange(size)
    member = (sets[:, np.newaxis] & bits > 0).astype(float)
    sizes = member.sum(axis=1)
    levels = [sets[sizes == count] for count in range(1, size + 1)]
    return member, [(level, level[:, np.newaxis] & ~bits) for level in levels]


def _exchanged(order: Any, factors: Sequence[Any], mass: Any, below: float) -> Any:
    """Step 7."""

    def cost(tokens: Any, under: Any) -> Any:
        return sum(factor[tokens] * under**j for j, factor in enumerate(factors))

    idle = 0
    for turn in range(2 * len(order)):  # as many as put any order into any other
        places = np.arange(turn % 2, len(order) - 1, 2)
        low, high, under = order[places], order[places + 1], ranked_below(order, mass, below)[places]
        as_it_is = cost(low, under) + cost(high, under + mass[low])
        swapped = cost(high, under) + cost(low, under + mass[high])
        better = places[swapped < as_it_is - _GAIN]
        order[better], order[better + 1] = order[better + 1], order[better]
        idle = 0 if len(better) else idle + 1
        if idle == 2:
            break
    return order
