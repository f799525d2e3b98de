"""Verifiers of one selected path: down the contexts with the selection law and the weights, and up again.

Let `r(c)` be the probability that the selected path goes through `c`, and `F(c)` the probability, given that, that
neither `c` nor anything below it is accepted. A leaf of weight `w` has `F = 1 - w`. With `h` the probability of
accepting `c` once its continuation was rejected,

    F(c) = (1 - h(c)) sum_y r(y|c) F(c, y),   e(c, .) = r(c) h(c) sum_y r(y|c) F(c, y) times the correction law of c.

The reach `r(c) (1 - F(c))` is computed, not assumed to be `r(c) w(c)`: only a sound verifier has that.
"""

from __future__ import annotations

from typing import Any

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.laws.structured.arrays import joined, zeros
from draftproof.simulator.laws.structured.rows import RowSource
from draftproof.simulator.laws.structured.sinks import Sink
from draftproof.simulator.laws.structured.top_down import CHUNK
from draftproof.simulator.structures import OnePath
from draftproof.simulator.vectors import token_by_token


def path_law(structure: OnePath, rows: RowSource, scheme: Delayed, sink: Sink, chunk: int = CHUNK) -> None:
    """Deliver the law of a path verifier on delayed trees to `sink`."""
    selection = structure.selection  # None: the first path, whose law is q
    size = rows.vocab_size
    step = max(1, chunk // size)

    def visit(depth: int, start: int, mass: Any, weight: Any, state: tuple[Any, ...]) -> Any:
        """`r F` of the contexts from `start` on; mass, weight and the parts of state have shape `(n, 1)`."""
        count = len(mass)
        p, q = (token_by_token(read(depth, start, start + count)) for read in (rows.target, rows.draft))
        alive = scheme.K if depth >= scheme.L1 else 1
        law, states = selection.step(state, p, q, alive) if selection else (q, ())
        masses = mass * law
        weights = structure.child_weights(weight, p, law)
        if depth == scheme.depth - 1:
            accepted = masses * weights
            sink.leaf(scheme.depth, start * size, accepted)
            missed = masses - accepted
        else:
            columns = [part.reshape(-1, 1) for part in (masses, weights, *states)]
            lost = []
            for first in range(0, count * size, step):
                part, entered, *rest = (column[first : first + step] for column in columns)
                lost.append(visit(depth + 1, start * size + first, part, entered, tuple(rest)))
            missed = (lost[0] if len(lost) == 1 else joined(lost)).reshape(-1, size)
        arrived = missed.sum(-1)[:, None]
        correction, hold = structure.at_rejection(weight, p, law)
        ended = arrived if depth == 0 else arrived * hold
        sink.node(depth, start, (mass - arrived + ended)[:, 0], ended * correction, masses - missed)
        return (arrived - ended)[:, 0]

    one = zeros(rows.target(0, 0, 1), rows.roots, 1) + 1
    if scheme.depth == 0:
        sink.leaf(0, 0, one)
        return
    for first in range(0, rows.roots, step):
        here = one[first : first + step]
        visit(0, first, here, here, selection.root(here) if selection else ())
