"""Gumbel-max list sampling: draft and target read the same random numbers, and a draft is accepted where they agree.

[rowan2025list], the drafter-invariant multi-draft scheme; for one path [daliri2024coupling], Gumbel sampling. At a node
with drafts `X1..Xk`, path `j` has a unit exponential `S_ij` for every token `i` (`-log S_ij` is Gumbel noise):
1. The draft of path `j` is the token of the smallest `S_ij / q_i`.
2. The target's token is the one of the smallest `S_ij / p_i` over all tokens and paths: of law `p`.
3. If it is drafted, go on with the paths that have it; else it is the correction. After a leaf it is drawn from `p`.

A verifier sees the drafts and not the random numbers, so it draws the target's token from its law given the drafts.
With one path the output does not depend on the draft where the random numbers are given. With `h(v) = sum_i max(p_i, v
q_i)`, `r_x = p_x / q_x` and `T` the smallest of all `S / p`,

    P(X = x and all S_i > T p_i) = q_x Phi(r_x),   Phi(r) = integral from r to infinity of T exp(-T h(v)) dv
    P(X = x, T at the token y)   = q_x p_y (Phi(r_x) - Phi(r_y))+ for x != y,  p_y exp(-T h(r_y)) for x = y

are the two densities in `T` of one path. `h` is linear between the ratios, so both are sums of exponentials and every
probability is rational in `p` and `q`; for one path `P(X = y and Y = y) = 1 / sum_i max(p_i/p_y, q_i/q_y)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, prod
from typing import Any, ClassVar

import numpy as np
from flint import fmpq

from draftproof.simulator.lazy import torch
from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.residual import is_tensor
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import stacked, stacked_layers
from draftproof.verifiers._programs import check_numbers, memoised
from draftproof.verifiers._top_down import walk

#: Coefficients and rates of a sum of exponentials, each of shape `(n,)`.
Exponentials = tuple[Any, Any]


@dataclass(frozen=True)
class GumbelList:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="gls",
        title="Gumbel-max list sampling: noise shared by draft and target",
        source=Source("rowan2025list", "drafter-invariant multi-draft speculative decoding"),
        needs=Draws.INDEPENDENT_SIBLINGS,
        exchangeable=True,
        max_vocab=32,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _next_token)

    @property
    def structure(self) -> TopDown:
        return TopDown(branch=branch, child_law=child_law)


def _next_token(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    return coin.choose(branch(p, q, drafted))


def branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    """Law of the target's token given the drafts, shape `(n.., V)`."""
    plain = is_tensor(p) or p.dtype != object or type(p.item(0)) is fmpq  # numbers of a proof cannot be remembered
    solve = _remembered if plain else _branch
    return stacked(lambda target, draft: _like(solve(target, draft, tuple(drafted)), target), p, q)


def child_law(p: Vector, q: Vector, k: int) -> Any:
    """Joint law of the target's token and the number of `k` drafts that equal it, shape `(k + 1, n.., V)`."""
    return stacked_layers(lambda target, draft: _like(_child_law(target, draft, k), target), p, q)


def _branch(target: Vector, draft: Vector, drafted: tuple[int, ...]) -> Any:
    race = _Race(target, draft)
    known = [token for token in drafted if token in race.place]  # one with q = 0 was drawn from another row
    if not known:
        return race.p
    race.check_size(known)
    law = race.p * 0
    for j, x in enumerate(known):  # the path of the smallest S / p
        others = race.nothing
        for y in [*known[:j], *known[j + 1 :]]:
            others = _product(others, race.after(y))
        means = race.means(others)
        law = law + race.p * _positive(means.tail[x] - means.tail)
        law[x] += race.p[x] / race.q[x] * means.at[race.place[x]]
    return law


_remembered = memoised(_branch)


def _child_law(target: Vector, draft: Vector, k: int) -> Any:
    race = _Race(target, draft)
    race.check_size([min(race.place, key=race.place.__getitem__)] * k)
    law = np.stack([race.p * 0] * (k + 1))
    law[0] = race.p
    for y, place in race.place.items():
        p, rate = race.p[y], race.rates[place]
        coefficients, rates = race.after(y)
        powers = [race.nothing]
        for _ in range(k - 1):
            powers.append(_product(powers[-1], (coefficients * race.q[y], rates)))
        for m in range(k + 1):
            law[m, y] = p * 0
            if m > 0:  # the smallest S / p is on a path whose draft is y
                law[m, y] += k * comb(k - 1, m - 1) * p * _missed(powers, m - 1, k - m, rate)
            if m < k:  # it is on one whose draft is not
                both = _missed(powers, m, k - 1 - m, race.p.sum()) - _missed(powers, m, k - 1 - m, rate)
                law[m, y] += k * comb(k - 1, m) * p * both
    return law


def _missed(powers: Sequence[Exponentials], hits: int, misses: int, rate: Any) -> Any:
    """The integral of `exp(-T rate) F^hits (exp(-T) - F)^misses`, where `powers[n]` is `F^n`."""
    total: Any = 0
    for n in range(misses + 1):
        coefficients, rates = powers[hits + n]
        total = total + (-1) ** n * comb(misses, n) * (coefficients / (rates + (rate + (misses - n)))).sum()
    return total


@dataclass(frozen=True)
class _Means:
    """at: the integral of `exp(-T h) g(T)` at each breakpoint; tail: that of `Phi(r_x) g(T)` for each token."""

    at: Any
    tail: Any


class _Race:
    """One node: `h` at its breakpoints, the ratios of the tokens with `q > 0`, smallest first.

    place: of a token among them. rates: `h` there. slopes: that of `h` from there on.
    """

    def __init__(self, target: Vector, draft: Vector) -> None:
        self.p, self.q = _numbers(target), _numbers(draft)
        tokens = [token for token in range(len(self.q)) if self.q[token] > 0]
        ratios = {token: self.p[token] / self.q[token] for token in tokens}
        tokens.sort(key=ratios.__getitem__)
        self.place = {token: place for place, token in enumerate(tokens)}
        self.slopes = self.q[tokens].cumsum()
        above = self.p.sum() - self.p[tokens].cumsum()
        self.rates = self.p[tokens] / self.q[tokens] * self.slopes + above
        inverse = 1 / self.slopes
        #: Of `exp(-T h)` at each breakpoint in `Phi` from a smaller ratio on.
        self._steps = np.concatenate([inverse[:1], inverse[1:] - inverse[:-1]])
        self._inverse = inverse
        self.nothing: Exponentials = (inverse[:1] * 0 + 1, inverse[:1] * 0)

    def check_size(self, drafted: Sequence[int]) -> None:
        """Raise `TooLarge` for too many exponentials: one for each token from a draft up, of all drafts but one."""
        others = sorted(len(self.rates) - self.place[token] for token in drafted)[1:]
        check_numbers("the law of several drafts that share noise", prod(others) * len(self.rates), self.p)

    def after(self, token: int) -> Exponentials:
        """`Phi(r_x)`."""
        place = self.place[token]
        return np.concatenate([self._inverse[place : place + 1], self._steps[place + 1 :]]), self.rates[place:]

    def means(self, others: Exponentials) -> _Means:
        """The integrals with `g` a sum of exponentials."""
        coefficients, rates = others
        at = (coefficients / (self.rates[:, None] + rates)).sum(1)
        pieces = (at - np.concatenate([at[1:], at[:1] * 0])) * self._inverse
        tail, tails = self.p * 0, pieces[::-1].cumsum()[::-1]
        for token, place in self.place.items():
            tail[token] = tails[place]
        return _Means(at, tail)


def _product(one: Exponentials, other: Exponentials) -> Exponentials:
    return np.multiply.outer(one[0], other[0]).ravel(), np.add.outer(one[1], other[1]).ravel()


def _positive(x: Any) -> Any:
    return np.maximum(x, x * 0)


def _numbers(row: Vector) -> Any:
    """As an array; those of a tensor as float64."""
    return row if isinstance(row, np.ndarray) else row.detach().double().cpu().numpy()


def _like(law: Any, row: Vector) -> Any:
    """The numbers in the kind of `row`."""
    return torch.as_tensor(law).to(row.device, row.dtype) if is_tensor(row) else law
