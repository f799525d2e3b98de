"""Drafts with scores: each draws one from a law that belongs to its token, and the draft of the best score is taken.

There are `k` i.i.d. drafts with probability `alive_k`; tokens are in `J` classes with target mass `P` and draft mass
`Q`. A score is one of at most `J` cells, disjoint intervals `(a, b)` of [0, 1] with `b - a` the probability that a
draft has its score there. Within a cell all drafts are equally good.
1. The draft taken has its score in a cell with `g(a, b) = sum_k alive_k (b^k - a^k)/(b - a)` times the probability that
   a single draft has. So a token of class `j` with the law of scores `h_j` is taken with `r(y) = q(y) rho_j`,
   `rho_j = sum_c h_j(c) g_c`.
2. [border1991implementation] The laws `r` of all rules that choose a draft form the base polytope of
   `f(S) = sum_k alive_k (1 - (1 - q(S))^k)`. Scores attain each of them: these are the `rho` that are majorised by the
   `g` of strict order.
3. The largest `sum min(p, r)` is the least `p(not S) + f(S)`, attained by classes `S` of the largest `p/q`. It needs
   `r <= p` on `S` and `r >= p` on the rest. Of such laws the one with the most equal `rho` is `min(P/Q, high)` on `S`
   and `max(P/Q, low)` on the rest, with `high` and `low` such that both have their masses. Classes with the same `rho`
   become one.
4. From strict order to that law: the best class with too small a `rho` and the next better one with too large a `rho`
   exchange scores until one of the two has its `rho`. At most one exchange a class.
5. The laws are rounded to multiples of `1/DENOMINATOR`; `a`, `b` and `rho` are computed from the rounded laws.

Lossless for any scores, since the draft taken is verified against `r`. Steps 2 to 4 take a sort and `O(J^2)`
operations, are exact for the classes and need no solver.

The joint law of the next token and of how many drafts equal it: within a cell the place of a score is uniform, so that
the law of the best of `k` scores is a polynomial in it. With `H` the mass of a token's scores in lower cells, `h` in
this one, and `G`, `g` those of all other tokens together, `m` copies of the token and `k - m` others lie lower with
probability `(H + u h)^m (G + u g)^(k - m)` at the place `u` of the cell. Shapes: `V` tokens, `C` cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from draftproof.simulator.protocol import Vector
from draftproof.simulator.residual import residual
from draftproof.simulator.vectors import layers, minimum, times
from draftproof.verifiers._classes import OneDraft, Sorted, by_classes, classes_of, one_class, table
from draftproof.verifiers._programs import check_numbers, posed

#: Scores have probabilities that are multiples of one over this number.
DENOMINATOR = 2**20
#: Classes of a node before step 3, and how many there are in an octave (a factor of two) of `p/q`.
FINE, AN_OCTAVE = 2048, 128
#: Step 4 makes at most so many laws of scores; classes between two of them mix both.
MOST = 32


@dataclass(frozen=True)
class Scores(OneDraft):
    """A node with scores, and the law of the draft taken. rows: which row of `units` a class has, shape `(J,)`.

    units: whole numbers, shape `(n, C)`, sums `DENOMINATOR`: laws of scores, the worst cell first. edges: `(C + 1,)`.
    alive: for `k = 1..K` the probability that there are `k` drafts.
    """

    rows: Any
    units: Any
    edges: Any
    alive: tuple[Any, ...]

    def laws(self, tokens: Sequence[int]) -> Any:
        """The laws of the scores of some tokens, shape `(tokens, C)`, in the arithmetic of the run."""
        return _parts(self.units[self.rows[classes_of(self.node, tokens)]], self.edges)

    def chances(self, drafted: Sequence[int]) -> list[Any]:
        """For each of the drafts the probability that it is taken."""
        laws = self.laws(drafted)
        below = laws.cumsum(axis=1) - laws
        chances = []
        for i, own in enumerate(laws):
            worse: Any = [own * 0 + 1]  # of the others, by powers of the place within the cell
            for j in range(len(drafted)):
                if j != i:
                    worse = times(worse, below[j], laws[j])
            chances.append(sum((own * part).sum() / (power + 1) for power, part in enumerate(worse)))
        return chances


def scored(p: Vector, q: Vector, alive: tuple[Any, ...], weight: Any = 1) -> Scores:
    """The scores of a node with the target mass `weight * p`."""
    node = by_classes(p, q, classes=FINE, an_octave=AN_OCTAVE) if len(alive) > 1 else one_class(p, q)
    return with_scores(node, alive, weight)


def with_scores(node: Sorted, alive: tuple[Any, ...], weight: Any = 1) -> Scores:
    """Steps 1 to 5."""
    target_mass, draft = (posed(part) for part in (node.p * weight, node.q))
    rows, units = laws_of_scores(target_mass, draft, np.array([float(share) for share in alive]))
    mass = np.array([node.q[0] * 0] * len(units))
    np.add.at(mass, rows, node.q)
    laws = _parts(units, mass)
    edges = np.concatenate([mass[:1] * 0, (mass @ laws).cumsum()])
    return Scores(node, (laws @ gains(edges[:-1], edges[1:], alive))[rows], rows, units, edges, alive)


def _parts(units: Any, like: Any) -> Any:
    """Whole numbers over `DENOMINATOR`, in the arithmetic of `like`."""
    return units.astype(like.dtype) * (like[0] * 0 + 1) / DENOMINATOR


def gains(low: Any, high: Any, alive: Sequence[Any]) -> Any:
    """`g` of cells."""
    total: Any = low * 0
    powers: Any = low * 0 + 1  # (b^k - a^k)/(b - a), without a division
    lower: Any = powers
    for share in alive:
        total = total + share * powers
        lower = lower * low
        powers = powers * high + lower
    return total


def laws_of_scores(target_mass: Any, draft: Any, alive: Any) -> tuple[Any, Any]:
    """Steps 3 to 5 in floats: the row of each class, shape `(J,)`, and the rows, shape `(n, C)`."""
    used = np.flatnonzero(draft > 0)
    order = used[np.argsort(target_mass[used] / draft[used], kind="stable")]
    rho = _closest_rates(target_mass[order], draft[order], alive)
    atoms = np.concatenate([[0], (np.diff(rho) > 0).cumsum()])
    rows = np.zeros(len(draft), dtype=np.int64)
    rows[order] = atoms
    mass = np.bincount(atoms, weights=draft[order])
    wanted = np.bincount(atoms, weights=draft[order] * rho) / mass
    if len(mass) <= MOST:
        return rows, _rounded(_exchanged(mass, wanted, alive))
    levels = wanted[np.unique(np.linspace(0, len(wanted) - 1, MOST).round().astype(np.int64))]
    parts = _between(levels, wanted)
    return rows, _rounded(parts @ _exchanged(mass @ parts, levels, alive))


def _between(levels: Any, wanted: Any) -> Any:
    """Each number as a mixture of the two levels next to it: shares, shape `(n, levels)`. Numbers and levels ascend."""
    upper = np.clip(np.searchsorted(levels, wanted), 1, len(levels) - 1)
    share = (wanted - levels[upper - 1]) / (levels[upper] - levels[upper - 1])
    parts = np.zeros((len(wanted), len(levels)))
    parts[np.arange(len(wanted)), upper] = share
    parts[np.arange(len(wanted)), upper - 1] = 1 - share
    return parts


def _closest_rates(target_mass: Any, draft: Any, alive: Any) -> Any:
    """Step 3 for classes by rising `target_mass / draft`."""
    ratio = target_mass / draft
    above = draft[::-1].cumsum()[::-1]  # the mass of a class and of the better ones
    hit = sum(share * (1 - np.maximum(1 - above, 0) ** k) for k, share in enumerate(alive, start=1))
    hit, worse = np.append(hit, 0.0), np.append(0.0, target_mass.cumsum())
    split = int(np.argmin(worse + hit))  # the classes from here on are S
    rho = np.empty_like(ratio)
    for part, mass, side in ((slice(split, None), hit[split], 1), (slice(split), hit[0] - hit[split], -1)):
        if len(ratio[part]):
            rho[part] = side * _capped(side * ratio[part], draft[part], side * mass)
    return rho


def _capped(ratio: Any, draft: Any, mass: float) -> Any:
    """`min(ratio, level)` with the level that gives it this mass; the ratio itself where it has no more."""
    order = np.argsort(ratio, kind="stable")
    ratio_up, draft_up = ratio[order], draft[order]
    below = (ratio_up * draft_up).cumsum() - ratio_up * draft_up
    rest = draft_up[::-1].cumsum()[::-1]
    at = int(np.searchsorted(below + ratio_up * rest, mass))
    return ratio if at == len(ratio) else np.minimum(ratio, (mass - below[at]) / rest[at])


def _exchanged(mass: Any, wanted: Any, alive: Any) -> Any:
    """Step 4: laws of scores, shape `(n, n)`."""
    edges = np.append(0.0, mass.cumsum())
    laws, rho = np.eye(len(mass)), gains(edges[:-1], edges[1:], alive)
    low = len(mass) - 1
    while low >= 0:
        above = np.flatnonzero(rho[low + 1 :] > wanted[low + 1 :])
        if rho[low] >= wanted[low] or not above.size:  # no class above has too much: the rest is rounding
            low -= 1
            continue
        high = low + 1 + int(above[0])
        lacks, spare = mass[low] * (wanted[low] - rho[low]), mass[high] * (rho[high] - wanted[high])
        moved = min(lacks, spare) / (rho[high] - rho[low])
        change = laws[high] - laws[low]
        laws[low] += moved / mass[low] * change
        laws[high] -= moved / mass[high] * change
        rho[low] = wanted[low] if lacks <= spare else rho[low] + spare / mass[low]
        rho[high] = wanted[high] if spare <= lacks else rho[high] - lacks / mass[high]
    return laws


def _rounded(laws: Any) -> Any:
    """Step 5, by largest remainders."""
    exact = DENOMINATOR * np.maximum(laws, 0) / np.maximum(laws, 0).sum(axis=1, keepdims=True)
    units = np.floor(exact)
    short = (DENOMINATOR - units.sum(axis=1)).astype(np.int64)
    places = np.argsort(units - exact, axis=1, kind="stable")
    ranks = np.empty_like(places)
    np.put_along_axis(ranks, places, np.broadcast_to(np.arange(laws.shape[1]), laws.shape), axis=1)
    return (units + (ranks < short[:, None])).astype(np.int64)


def joint_law(scores: Scores, p: Vector, q: Vector, k: int) -> Vector:
    """Shape `(k + 1, V)`, by the number of drafts equal to the token; `min(1, p/r)` accepts the draft taken."""
    cells = len(scores.edges) - 1
    check_numbers("the child law of drafts with scores", float(len(q) * cells * (k + 4)), q)
    laws, best = _meeting(scores, range(len(q)), q)
    law = scores.law(q)
    rate = minimum(p, law) / (law + (law <= 0))
    lost = q * (1 - rate) * (law > 0)
    others = lost @ laws - lost[:, None] * laws  # the scores of other tokens that are rejected
    rest, result = residual(p, law), []
    for m in range(k + 1):
        copies = comb(k, m) * q**m
        refused = copies * (k - m) * best(others, m, k - m - 1) if m < k else q * 0
        taken = copies * m * best(laws, m - 1, k - m) if m else q * 0
        result.append(taken * rate + rest * (refused + taken * (1 - rate)))
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
    low, width = edges[:-1] - column * below, (edges[1:] - edges[:-1]) - column * laws

    def best(own: Any, copies: int, others: int) -> Any:
        parts: Any = [own]
        for constant, linear, count in ((below, laws, copies), (low, width, others)):
            for _ in range(count):
                parts = times(parts, constant, linear)
        return sum(part.sum(1) / (power + 1) for power, part in enumerate(parts))

    return laws, best
