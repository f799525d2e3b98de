"""Drafts with scores: each draws one from a law that belongs to its token, and the draft of the best score is taken.

`k` i.i.d. drafts, with probability `alive_k` for each `k`; tokens in `J` classes with draft mass `Q` and with `P` of
what is owed. A score is one of at most `J` cells: intervals `(a, b)` of [0, 1] with `b - a` the probability that a
draft has its score there. Within a cell all drafts are equally good.
1. A score in a cell is taken with probability `g(a, b) = sum_k alive_k (b^k - a^k)/(b - a)` times its own. So a token
   of class `j` with the law of scores `h_j` is taken with `r(y) = q(y) rho_j`, `rho_j = sum_c h_j(c) g_c`.
2. [border1991implementation] What any choice of a draft can have, the base polytope of
   `f(S) = sum_k alive_k (1 - (1 - q(S))^k)`, scores can have: all `rho` less spread than the `g` of strict order.
3. The largest `sum min(p, r)` is the least `p(not S) + f(S)`, attained by classes `S` of the largest `p/q`. On `S` it
   needs `r <= p`, on the rest `r >= p`. The least spread such law is `rho = min(P/Q, high)` on `S` and
   `max(P/Q, low)` on the rest, with the numbers that give both their masses. Classes of the same `rho` become one.
4. From strict order to that law: of the classes that have too little the best, of those above it that have too much the
   next one: they exchange scores until one of both has its `rho`. At most one exchange a class.
5. The laws are rounded to multiples of `1/GRAIN`; `a`, `b` and `rho` follow from what was rounded.

Lossless for any scores: what is taken is then verified against `r`. Steps 2 to 4 are sorting and `O(J^2)`, exact for
the classes, without a program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draftproof.simulator.protocol import Vector
from draftproof.simulator.vectors import times
from draftproof.verifiers._ratio_classes import ClassLaw, Sorted, by_classes, classes_of, one_class

#: Scores have probabilities that are multiples of one over this number.
GRAIN = 2**20
#: Classes of a node at first, and how many of them halve `p/q`; those that need not be told apart become one.
FINE, AN_OCTAVE = 2048, 128
#: Laws of scores that are made by exchanges; what lies between two of them mixes both.
MOST = 32
#: Programs are posed with this many decimals, so that float64 and rational runs pose the same ones.
DECIMALS = 10


@dataclass(frozen=True)
class Scores(ClassLaw):
    """A node with scores, and the law of what is taken. rows: which row of `units` a class has, shape `(J,)`.

    units: whole numbers, shape `(n, C)`, sums `GRAIN`: the laws of scores, the worst cell first. edges: `(C + 1,)`.
    alive: for `k = 1..K` the probability that `k` drafts play.
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
    """The scores of a node to which `weight * p` is owed."""
    node = by_classes(p, q, classes=FINE, an_octave=AN_OCTAVE) if len(alive) > 1 else one_class(p, q)
    return with_scores(node, alive, weight)


def with_scores(node: Sorted, alive: tuple[Any, ...], weight: Any = 1) -> Scores:
    """Steps 1 to 5."""
    owed, draft = (part.astype(np.float64).round(DECIMALS) for part in (node.p * weight, node.q))
    rows, units = laws_of_scores(owed, draft, np.array([float(share) for share in alive]))
    mass = np.array([node.q[0] * 0] * len(units))
    np.add.at(mass, rows, node.q)
    laws = _parts(units, mass)
    edges = np.concatenate([mass[:1] * 0, (mass @ laws).cumsum()])
    return Scores(node, (laws @ gains(edges[:-1], edges[1:], alive))[rows], rows, units, edges, alive)


def _parts(units: Any, like: Any) -> Any:
    """Whole numbers over `GRAIN`, in the arithmetic of `like`."""
    return units.astype(like.dtype) * (like[0] * 0 + 1) / GRAIN


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


def laws_of_scores(owed: Any, draft: Any, alive: Any) -> tuple[Any, Any]:
    """Steps 3 to 5 in floats: the row of each class, shape `(J,)`, and the rows, shape `(n, C)`."""
    used = np.flatnonzero(draft > 0)
    order = used[np.argsort(owed[used] / draft[used], kind="stable")]
    rho = _least_spread(owed[order], draft[order], alive)
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
    """Each number as a mixture of the two levels next to it: their shares, shape `(n, levels)`; both rise."""
    upper = np.clip(np.searchsorted(levels, wanted), 1, len(levels) - 1)
    share = (wanted - levels[upper - 1]) / (levels[upper] - levels[upper - 1])
    parts = np.zeros((len(wanted), len(levels)))
    parts[np.arange(len(wanted)), upper] = share
    parts[np.arange(len(wanted)), upper - 1] = 1 - share
    return parts


def _least_spread(owed: Any, draft: Any, alive: Any) -> Any:
    """Step 3 for classes by rising `owed / draft`."""
    ratio = owed / draft
    above = draft[::-1].cumsum()[::-1]  # the mass of a class and of the better ones
    met = sum(share * (1 - np.maximum(1 - above, 0) ** k) for k, share in enumerate(alive, start=1))
    met, worse = np.append(met, 0.0), np.append(0.0, owed.cumsum())
    split = int(np.argmin(worse + met))  # what is not in S stands before it
    rho = np.empty_like(ratio)
    for part, mass, side in ((slice(split, None), met[split], 1), (slice(split), met[0] - met[split], -1)):
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
        if rho[low] >= wanted[low] or not above.size:  # none above has more: only what rounding leaves
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
    exact = GRAIN * np.maximum(laws, 0) / np.maximum(laws, 0).sum(axis=1, keepdims=True)
    units = np.floor(exact)
    short = (GRAIN - units.sum(axis=1)).astype(np.int64)
    places = np.argsort(units - exact, axis=1, kind="stable")
    ranks = np.empty_like(places)
    np.put_along_axis(ranks, places, np.broadcast_to(np.arange(laws.shape[1]), laws.shape), axis=1)
    return (units + (ranks < short[:, None])).astype(np.int64)
