"""Top-down verifiers: one pass over the contexts, with the number of paths alive as the only other state.

The state `(c, k)` is the event that the accepted path reaches `c`, through which `k` of the drafted paths go. At `c`
the `k` next tokens are i.i.d. from `q`, whatever happened above; the child law of the verifier gives the next state.
Cost: `K` child laws a context, so polynomial in `V**L` and never `V**(K L)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import accumulate, combinations_with_replacement, pairwise, product
from math import factorial, prod
from typing import Any

from draftproof.simulator.arithmetic import arithmetic_of
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.laws.structured.arrays import joined, zeros
from draftproof.simulator.laws.structured.rows import RowSource
from draftproof.simulator.laws.structured.sinks import Sink
from draftproof.simulator.protocol import Card, Vector
from draftproof.simulator.structures import Branch, ChildLaw, TopDown
from draftproof.simulator.vectors import token_by_token

#: Numbers in one array of a chunk: enough that calls cost little, few enough for the processor's cache.
CHUNK = 2**16

#: Masses of contexts by the number of paths alive, each of shape `(n,)`.
Masses = dict[int, Any]


def top_down(structure: TopDown, card: Card, rows: RowSource, scheme: Delayed, sink: Sink, chunk: int = CHUNK) -> None:
    """Deliver the law of a top-down verifier on delayed trees to `sink`."""
    law, last_step = child_law_of(structure, card), last_step_of(structure, card)
    paths = 1 if card.single_path else scheme.K
    size = rows.vocab_size
    step = max(1, chunk // size)
    shallow = _shallow_laws(law, rows, scheme, paths, step)

    def visit(depth: int, start: int, masses: Masses) -> None:
        reach: Any = sum(masses.values())
        stop = start + len(reach)
        if depth == scheme.L1:
            masses = {paths: reach}
        if depth < len(shallow):
            known = shallow[depth]
            steps = advance(lambda p, q, k: known[k][:, start:stop], None, None, masses)
        else:
            p, q = (token_by_token(read(depth, start, stop)) for read in (rows.target, rows.draft))
            if depth == scheme.depth - 1:
                ended, below = last_step(p, q, {k: mass[:, None] for k, mass in masses.items()})
                sink.node(depth, start, reach, ended, below)
                sink.leaf(scheme.depth, start * size, below)
                return
            steps = advance(law, p, q, masses)
        sink.node(depth, start, reach, steps[0], steps[1:].sum(0))
        flat = {k: steps[k].reshape(-1) for k in range(1, len(steps))}
        for first in range(0, (stop - start) * size, step):
            visit(depth + 1, start * size + first, {k: mass[first : first + step] for k, mass in flat.items()})

    one = zeros(rows.target(0, 0, 1), rows.roots) + 1
    if scheme.depth == 0:
        sink.leaf(0, 0, one)
        return
    for first in range(0, rows.roots, step):
        visit(0, first, {1: one[first : first + step]})


def _shallow_laws(law: ChildLaw, rows: RowSource, scheme: Delayed, paths: int, step: int) -> list[dict[int, Any]]:
    """The child laws of all contexts of the first depths, by depth and number of paths, computed at once.

    They have too few contexts for a call at each depth. step: contexts in one call.
    """
    same = min(scheme.L1 or scheme.depth, scheme.depth - 1)  # depths of one kind: above the fork one path is alive
    ends = list(accumulate(rows.roots * rows.vocab_size**depth for depth in range(same)))
    ends = [end for end in ends if end <= step]
    if len(ends) < 2:
        return []
    spans = list(pairwise([0, *ends]))
    p, q = (
        token_by_token(joined([read(depth, 0, end - first) for depth, (first, end) in enumerate(spans)]))
        for read in (rows.target, rows.draft)
    )
    whole = {k: law(p, q, k) for k in range(1, (1 if scheme.L1 else paths) + 1)}
    return [{k: values[:, first:end] for k, values in whole.items()} for first, end in spans]


def advance(law: ChildLaw, p: Vector, q: Vector, masses: Masses) -> Any:
    """One step from contexts with mass `masses[k]`, shape `(n,)`, where `k` paths are alive.

    Shape `(K + 1, n, V)`: `[0]` the correction masses, `[m]` the masses of the children with `m` paths alive.
    """
    steps: Any = None
    for k in sorted(masses, reverse=True):  # the first array is the largest
        moved = law(p, q, k) * masses[k][:, None]
        if steps is None:
            steps = moved
        else:
            steps[: k + 1] += moved
    return steps


def child_law_of(structure: TopDown, card: Card) -> ChildLaw:
    """The child law of a verifier, or the one that its `branch` implies."""
    if structure.child_law is not None:
        return structure.child_law
    branch = structure.branch
    assert branch is not None
    return lambda p, q, k: child_law_by_branch(branch, card.exchangeable, p, q, k)


def last_step_of(
    structure: TopDown, card: Card
) -> Callable[[Vector, Vector, Mapping[int, Any]], tuple[Vector, Vector]]:
    """The last step of a verifier, or the one that its child law implies: leaves need no number of paths."""
    if structure.last_step is not None:
        return structure.last_step
    law = child_law_of(structure, card)

    def last_step(p: Vector, q: Vector, masses: Mapping[int, Any]) -> tuple[Vector, Vector]:
        laws = [(mass, law(p, q, k)) for k, mass in masses.items()]
        return sum(mass * whole[0] for mass, whole in laws), sum(mass * whole[1:].sum(0) for mass, whole in laws)

    return last_step


def child_law_by_branch(branch: Branch, exchangeable: bool, p: Vector, q: Vector, k: int) -> Any:
    """The child law from the law of the next token given the drafts, by every choice of drafts at a node.

    branch: `branch(p, q, drafted)` for one node, shape `(V,)`. exchangeable: whether the order of the drafts does not
    matter, so that one arrangement of every multiset is enough.
    """
    law = zeros(p, k + 1, *p.shape)
    for row in range(len(p)):
        tokens = [token for token, mass in enumerate(q[row].tolist()) if mass > 0]
        choices = combinations_with_replacement(tokens, k) if exchangeable else product(tokens, repeat=k)
        for drafted in choices:
            counts = Counter(drafted)
            ways = factorial(k) // prod(map(factorial, counts.values())) if exchangeable else 1
            weight = ways * prod((q[row, token] for token in drafted), start=arithmetic_of(q).number(1))
            masses = weight * branch(p[row], q[row], drafted)
            for token in range(p.shape[-1]):
                law[counts[token], row, token] += masses[token]
    return law
