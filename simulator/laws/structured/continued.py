"""Verifiers of one path that start again where another path has the correction token.

A start is a context with the number `k` of paths that go through it; its paths are fresh, so its law is that of the
path verifier from there. Of every context `c` below it two things are followed, with `j` paths through `c`, of which
one is the selected path: `N_j(c)`, the probability of that; and `F_j(c)`, given that, the probability that neither `c`
nor anything below it is accepted, as in `paths`. Where the selected path goes on to `x` with `a` of the `j` paths and
`m` others go to `y`, the correction token `y` of `c` makes `(c, y)` a start with `m` paths:

    e_m(c, y) = sum_j N_j(c) h(c) t(y | c) sum_{x, a} P(x, a, m | j) F_a(c, x),

with `h` and `t` the probability and the law of a correction; for `m = 0` the block ends with `y`. Starts are only below
the fork and each has fewer paths than the one before, so there are `K V**d` at a depth, with `V**(L-d)` contexts each.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.laws.structured.arrays import joined, zeros
from draftproof.simulator.laws.structured.rows import RowSource
from draftproof.simulator.laws.structured.sinks import Sink
from draftproof.simulator.laws.structured.top_down import CHUNK
from draftproof.simulator.residual import positive_part
from draftproof.simulator.structures import Continued

#: Masses of contexts by the number of paths through them, each of shape `(n,)`.
Masses = dict[int, Any]


def continued_law(structure: Continued, rows: RowSource, scheme: Delayed, sink: Sink, chunk: int = CHUNK) -> None:
    """Deliver the law of such a verifier on delayed trees to `sink`."""
    size, depth = rows.vocab_size, scheme.depth
    like = rows.target(0, 0, 1)
    widths = [rows.roots * size**level for level in range(depth + 1)]
    law = _Law([zeros(like, width, size) for width in widths[:-1]], zeros(like, widths[-1]), [{} for _ in widths])
    law.starts[0] = {scheme.K: zeros(like, widths[0]) + 1}
    for level in range(depth):
        for paths, mass in law.starts[level].items():
            if bool((mass > 0).any()):
                shape = Delayed(paths, 0, depth - level) if level else scheme
                _Start(structure, rows, level, shape, chunk).run(mass, law)
    reach = law.leaves + sum(law.starts[depth].values())
    reaches = [reach]
    for ended in reversed(law.ended):
        reaches.append(ended.sum(-1) + reaches[-1].reshape(-1, size).sum(-1))
    for level, ended in enumerate(law.ended):
        sink.node(level, 0, reaches[depth - level], ended, reaches[depth - level - 1].reshape(-1, size))
    sink.leaf(depth, 0, reach)


@dataclass
class _Law:
    """The law so far: masses of blocks that ended, by depth, those that ended at leaves, and starts by depth."""

    ended: list[Any]
    leaves: Any
    starts: list[Masses]


@dataclass
class _Depth:
    """The contexts of one depth below a start: `t`, `h` and `N_j`."""

    correction: Any
    hold: Any
    counts: Masses
    step: _Step


class _Step:
    """The next tokens of the paths through each of `n` contexts.

    p, q: shape `(n, V)`. most: paths. contexts: handled at once where the work is one of pairs of tokens.
    """

    def __init__(self, structure: Continued, p: Any, q: Any, most: int, contexts: int) -> None:
        self._beside, self._p, self._q, self.most = structure.beside, p, q, most
        self._chunks = [slice(first, first + contexts) for first in range(0, len(q), contexts)]
        rest = joined([(self._others(chunk) * q[chunk][:, None]).sum(-1) for chunk in self._chunks])
        self._own, self._rest = _powers(q, most), _powers(rest, most)

    def _others(self, chunk: slice) -> Any:
        """The mask of `Continued.beside`."""
        if self._beside is None:
            return _diagonal(self._q) == 0
        return self._beside(self._p[chunk], self._q[chunk])

    def _ways(self, j: int, a: int) -> int:
        """The number of choices of `a` of `j` paths that contain the selected path, where that is always the first."""
        return comb(j - 1, a - 1) if self._beside is None else comb(j, a)

    def selected(self, j: int, a: int) -> Any:
        """The probability that the selected path goes to each token with `a` of `j` paths, shape `(n, V)`."""
        return self._ways(j, a) * self._own[a] * self._rest[j - a]

    def with_others(self, lost: Masses, counts: Masses) -> list[Any]:
        """For each `m`: the sum over `j`, `x` and `a` of `N_j P(x, a, m | j) F_a(c, x)`, by `y`, shape `(n, V)`.

        lost: `F_a` of the children, shape `(n, V)`. counts: `N_j`, shape `(n,)`.
        """
        parts = [self._of_chunk(chunk, lost, counts) for chunk in self._chunks]
        return [joined([part[m] for part in parts]) for m in range(self.most + 1)]

    def _of_chunk(self, chunk: slice, lost: Masses, counts: Masses) -> list[Any]:
        q, others = self._q[chunk], self._others(chunk)
        apart = (others == 0) & (_diagonal(q) == 0)
        without = positive_part(self._rest[1][chunk][:, :, None] - q[:, None])
        rest, other = _powers(without, self.most - 1), _powers(q, self.most - 1)
        sums = [q * 0 for _ in range(self.most + 1)]
        for j, count in counts.items():
            for a in range(1, j + 1):
                chosen = count[chunk][:, None] * lost[a][chunk] * self._ways(j, a) * self._own[a][chunk]
                same = chosen * self._rest[j - a][chunk]
                sums[a] = sums[a] + same
                sums[0] = sums[0] + (same[:, :, None] * apart).sum(1)
                for m in range(j - a + 1):
                    through = (chosen[:, :, None] * rest[j - a - m] * others).sum(1)
                    sums[m] = sums[m] + comb(j - a, m) * through * other[m]
        return sums


class _Start:
    """The path verifier from all contexts of one depth, on trees of one shape."""

    def __init__(self, structure: Continued, rows: RowSource, level: int, scheme: Delayed, chunk: int) -> None:
        self._structure, self._rows, self._level, self._scheme = structure, rows, level, scheme
        self._contexts = max(1, chunk // rows.vocab_size**2)

    def run(self, mass: Any, law: _Law) -> None:
        """Add the law of the starts with these masses. mass: shape `(n,)`."""
        levels, weight, counts = self._down(mass)
        law.leaves += sum(counts.values()) * weight
        missed = 1 - weight
        lost: Masses = dict.fromkeys(counts, missed)
        for below in range(self._scheme.depth - 1, -1, -1):
            lost = self._up(levels[below], lost, below, law)

    def _down(self, mass: Any) -> tuple[list[_Depth], Any, Masses]:
        """All levels above the leaves, and the weights and counts of the leaves."""
        path, scheme = self._structure.path, self._scheme
        selection = path.selection
        weight = mass[:, None] * 0 + 1
        state = selection.root(weight) if selection else ()
        counts: Masses = {1 if scheme.L1 else scheme.K: mass}
        levels = []
        for below in range(scheme.depth):
            if below == scheme.L1:
                counts = {scheme.K: sum(counts.values())}
            depth, alive = self._level + below, scheme.K if below >= scheme.L1 else 1
            p, q = (read(depth, 0, len(weight)) for read in (self._rows.target, self._rows.draft))
            law, state = selection.step(state, p, q, alive) if selection else (q, ())
            correction, hold = path.at_rejection(weight, p, law)
            step = _Step(self._structure, p, q, alive, self._contexts)
            levels.append(_Depth(correction, hold if below else hold * 0 + 1, counts, step))
            weight = path.child_weights(weight, p, law).reshape(-1, 1)
            state = tuple(part.reshape(-1, 1) for part in state)
            counts = {
                a: sum(count[:, None] * step.selected(j, a) for j, count in counts.items() if j >= a).reshape(-1)
                for a in range(1, alive + 1)
            }
        return levels, weight[:, 0], counts

    def _up(self, level: _Depth, lost: Masses, below: int, law: _Law) -> Masses:
        """`F_j` of one level from those of its children; blocks that end there and new starts are added to `law`."""
        step, depth, size = level.step, self._level + below, self._rows.vocab_size
        if below + 1 == self._scheme.L1:
            lost = {1: lost[self._scheme.K]}
        lost = {a: part.reshape(-1, size) for a, part in lost.items()}
        for m, together in enumerate(step.with_others(lost, level.counts)):
            masses = together * level.correction * level.hold
            if m == 0:
                law.ended[depth] += masses
            else:
                starts = law.starts[depth + 1]
                starts[m] = starts.get(m, 0) + masses.reshape(-1)
        rejected = 1 - level.hold[:, 0]
        return {
            j: rejected * sum((step.selected(j, a) * lost[a]).sum(-1) for a in range(1, j + 1))
            for j in range(1, step.most + 1)
        }


def _diagonal(q: Any) -> Any:
    """Ones at `[0, x, x]`, shape `(1, V, V)`."""
    square = zeros(q, 1, q.shape[-1], q.shape[-1])
    for token in range(q.shape[-1]):
        square[:, token, token] += 1
    return square


def _powers(base: Any, most: int) -> list[Any]:
    """`base**0` to `base**most`."""
    powers = [base * 0 + 1]
    for _ in range(most):
        powers.append(powers[-1] * base)
    return powers
