"""Top-down verifiers on Markov processes: the state collapses to the last `m` tokens, whatever the depth.

The mass of `(c, k)` depends on all of `c`, but the law of the next token only on the state of `c`, its last `m` tokens.
So masses are added up by state: `(K + 1) V**m` numbers, whatever the depth. Shapes share their work: one child law for
each `k`, one pass for all trunk lengths, and one pass for all branch lengths of a trunk.

Verifiers with a weight (paths, leaf to root) do not collapse: the weight depends on the whole path.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.laws.law import Violation
from draftproof.simulator.laws.metrics import Metrics
from draftproof.simulator.laws.structured.arrays import as_numpy, zeros
from draftproof.simulator.laws.structured.declared import structure_of
from draftproof.simulator.laws.structured.rows import MarkovRows
from draftproof.simulator.laws.structured.top_down import Masses, advance, child_law_of
from draftproof.simulator.protocol import Context, Verifier
from draftproof.simulator.structures import TopDown

#: Entries of an array in a step of many starts.
CHUNK = 2**22


@dataclass
class CollapsedTopDown:
    """The laws of one top-down verifier on one pair of Markov processes, for any number of shapes.

    Raises `InvalidInput` for a verifier whose state does not collapse.
    """

    verifier: Verifier
    rows: MarkovRows
    _laws: dict[int, Any] = field(default_factory=dict)
    _ends: dict[tuple[int, int], list[tuple[Masses, Any]]] = field(default_factory=dict)
    _passes: dict[tuple[int, int], list[Masses]] = field(default_factory=dict)

    def starting_at(self, start: int) -> CollapsedTopDown:
        """The same from another root state: only the passes from the root are not shared."""
        return CollapsedTopDown(self.verifier, self.rows.starting_at([start]), self._laws, self._ends)

    def __post_init__(self) -> None:
        structure = structure_of(self.verifier, Delayed(1, 0, 1))
        if not isinstance(structure, TopDown):
            why = "its weight depends on the whole path" if structure else "it offers no structured evaluation"
            raise InvalidInput(
                f"{self.verifier.card.name} does not collapse to the states of a Markov process: {why}; "
                "use tables (a smaller L) or a top-down verifier"
            )

    def metrics(self, scheme: Delayed) -> Metrics:
        """Depth distribution, largest deviation and, if that is zero, total variation of one shape."""
        reach = [as_python(_total(masses).sum()) for masses in self._masses(scheme)]
        distribution = [above - below for above, below in zip(reach, [*reach[1:], 0], strict=True)]
        gaps = self._gaps(scheme)
        bounds = _bounds(self, scheme, gaps)
        largest = bounds[0][1][self.rows.starts[0]]
        if not largest > self.rows.arithmetic.tolerance:
            return Metrics(distribution, as_python(largest), None if largest else as_python(largest), None)
        worst = _search(self, scheme, gaps, bounds)
        return Metrics(distribution, worst.deviation, None, worst)

    def block_end(self, start: Any, scheme: Delayed) -> tuple[Any, Any]:
        """The law of the state after one block and `E[tau + 1]`, when the block starts in the states `start`.

        start: masses by state, shape `(V**m,)`, summing to 1.
        """
        ends = start * 0
        reach = start.sum() * 0
        masses: Masses = {1: start}
        for depth in range(scheme.depth + 1):
            reach = reach + _total(masses).sum()
            if depth == scheme.depth:
                return ends + self._shifted(_total(masses)[:, None] * self.rows.p), reach
            masses = self._forked(masses, depth, scheme)
            steps = self._advance(masses)
            ends = ends + self._shifted(steps[0])
            masses = self._arrived(steps)
        raise AssertionError

    def all_ends(self, scheme: Delayed) -> tuple[Any, Any]:
        """`block_end` from every state at once: states after a block, shape `(V**m, V**m)`, and means, `(V**m,)`.

        Lengths of one trunk share their work, as in `metrics`.
        """
        states = self.rows.states
        single = scheme.K == 1 or self.verifier.card.single_path
        shape = (1, 0) if single else (scheme.K, scheme.L1)
        if shape not in self._ends:
            unit = zeros(self.rows.p, states, states)
            unit[range(states), range(states)] += 1
            begun = [({1: unit}, unit * 0)]
            if not single:
                self.all_ends(Delayed(1, 0, scheme.L1))
                begun = self._ends[1, 0][: scheme.L1 + 1]
            self._ends[shape] = begun
        known = self._ends[shape]
        while len(known) <= scheme.depth:
            masses, ended = known[-1]
            masses = self._forked(masses, len(known) - 1, Delayed(*shape, 1))
            laws = {k: self.law(k) for k in masses}
            below = {
                alive: sum(self._pushed(masses[k], laws[k][alive]) for k in masses if k >= alive)
                for alive in range(1, max(masses) + 1)
            }
            known.append((below, ended + sum(self._pushed(masses[k], laws[k][0]) for k in masses)))
        masses, ended = known[scheme.depth]
        means = sum(_total(reached).sum(-1) for reached, _ in known[: scheme.depth + 1])
        return ended + self._pushed(_total(masses), self.rows.p), means

    def _pushed(self, masses: Any, step: Any) -> Any:
        """Masses by state, shape `(n, V**m)`, after one step with chances `(V**m, V)` of each next token."""
        states, size = self.rows.states, self.rows.vocab_size
        pushed = zeros(masses, len(masses), states)
        chunk = max(1, CHUNK // (states * size))
        for first in range(0, len(masses), chunk):
            moved = masses[first : first + chunk, :, None] * step
            pushed[first : first + chunk] = moved.reshape(-1, size, states).sum(1)
        return pushed

    def law(self, k: int) -> Any:
        """The child law of every state, shape `(k + 1, V**m, V)`."""
        if k not in self._laws:
            structure = structure_of(self.verifier, Delayed(1, 0, 1))
            assert isinstance(structure, TopDown)
            self._laws[k] = child_law_of(structure, self.verifier.card)(self.rows.p, self.rows.q, k)
        return self._laws[k]

    @property
    def _zero(self) -> Any:
        return self.rows.p[0, 0] * 0

    def _advance(self, masses: Masses) -> Any:
        return advance(lambda p, q, k: self.law(k), self.rows.p, self.rows.q, masses)

    def _arrived(self, steps: Any) -> Masses:
        return {k: self._shifted(steps[k]) for k in range(1, len(steps))}

    def _shifted(self, masses: Any) -> Any:
        """Masses of (state, next token), shape `(V**m, V)`, by the state after that token."""
        return masses.reshape(-1, self.rows.states).sum(0)

    def _forked(self, masses: Masses, depth: int, scheme: Delayed) -> Masses:
        if depth != scheme.L1 or self.verifier.card.single_path:
            return masses
        return {scheme.K: masses[1]}

    def _masses(self, scheme: Delayed) -> list[Masses]:
        """The masses at every depth `0..L`; passes are kept by (K, L1) and only ever lengthened."""
        shape = (1, 0) if scheme.K == 1 or self.verifier.card.single_path else (scheme.K, scheme.L1)
        if shape not in self._passes:
            trunk = self._masses(Delayed(1, 0, scheme.L1)) if shape != (1, 0) else [{1: self._start()}]
            self._passes[shape] = trunk[: shape[1] + 1]
        known = self._passes[shape]
        fork = Delayed(*shape, 1)
        while len(known) <= scheme.depth:
            known.append(self._arrived(self._advance(self._forked(known[-1], len(known) - 1, fork))))
        return known[: scheme.depth + 1]

    def _start(self) -> Any:
        start = zeros(self.rows.p, self.rows.states)
        start[self.rows.starts[0]] = start[self.rows.starts[0]] + 1
        return start

    def _gaps(self, scheme: Delayed) -> dict[int, Any]:
        """The deviation of the next token at every state, by the number of paths alive, shape `(V**m, V)`."""
        paths = 1 if self.verifier.card.single_path else scheme.K
        used = {*(range(1, paths + 1) if scheme.L2 else ()), *([1] if scheme.L1 else [])}
        return {k: as_numpy(self.rows.p - self.law(k).sum(0)) for k in used}


def _total(masses: Masses) -> Any:
    return sum(masses.values())


def _bounds(engine: CollapsedTopDown, scheme: Delayed, gaps: dict[int, Any]) -> list[dict[int, Any]]:
    """For each depth `0..L`: by paths alive, the largest deviation of a unit of mass from there on, shape `(V**m,)`."""
    rows = engine.rows
    after = (np.arange(rows.states)[:, None] * rows.vocab_size + np.arange(rows.vocab_size)) % rows.states
    laws = {k: as_numpy(engine.law(k)) for k in gaps}
    bounds = [dict.fromkeys(gaps or [1], as_numpy(rows.p)[:, 0] * 0)]
    for depth in range(scheme.depth - 1, -1, -1):
        below, here = bounds[0], {}
        for k in gaps if depth >= scheme.L1 else [1]:
            passed_on = sum(laws[k][alive] * below[alive][after] for alive in range(1, k + 1))
            here[k] = np.maximum(abs(gaps[k]), passed_on).max(-1)
        bounds.insert(0, {1: here[max(here)]} if depth == scheme.L1 else here)
    return bounds


def _search(engine: CollapsedTopDown, scheme: Delayed, gaps: dict[int, Any], bounds: list[dict[int, Any]]) -> Violation:
    """The largest deviation: contexts by their bounds, largest first, until no bound exceeds the largest found."""
    rows = engine.rows
    laws = {k: as_numpy(engine.law(k)) for k in gaps}
    target = as_numpy(rows.p)
    order = count()
    first: tuple[Context, int, dict[int, Any]] = (), rows.starts[0], {1: engine._zero + 1}
    waiting = [(-bounds[0][1][rows.starts[0]], next(order), first)]
    best: Violation | None = None
    while waiting:
        bound, _, (context, state, masses) = heapq.heappop(waiting)
        if best is not None and as_python(-bound) <= best.deviation:
            break
        masses = engine._forked(masses, len(context), scheme)
        gap = sum(mass * gaps[k][state] for k, mass in masses.items())
        token = int(np.argmax(abs(gap)))
        if best is None or as_python(abs(gap[token])) > best.deviation:
            expected = sum(masses.values()) * target[state, token]
            best = Violation(context, token, as_python(expected), as_python(expected - gap[token]))
        for token in range(rows.vocab_size):
            below: dict[int, Any] = {}
            for k, mass in masses.items():
                for alive in range(1, k + 1):
                    below[alive] = below.get(alive, 0) + mass * laws[k][alive, state, token]
            after = (state * rows.vocab_size + token) % rows.states
            bound = sum(mass * bounds[len(context) + 1][k][after] for k, mass in below.items())
            if bound > 0:
                heapq.heappush(waiting, (-bound, next(order), ((*context, token), after, below)))
    assert best is not None
    return best
