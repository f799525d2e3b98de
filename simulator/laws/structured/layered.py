"""Verifiers that score a layer at a time: the state is what has a score in a layer, with its branches.

What has no score plays no further part, so there are far fewer states than draft trees. A state of probability `P`
with scores `a_c` adds `P a_c` to the reach of `c` and `P (a_c p - m(c, .))` to its correction masses.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from simulator.drafts import Delayed
from simulator.laws.structured.arrays import as_numpy, zeros
from simulator.laws.structured.rows import RowSource
from simulator.laws.structured.sinks import Sink
from simulator.structures import Layered
from simulator.vectors import is_tensor, minimum

#: Nodes of a layer by position, their scores, and the probability of it all.
State: TypeAlias = tuple[tuple[int, ...], tuple[Any, ...], Any]
#: States of one depth by the branches that go on from their nodes.
States: TypeAlias = dict[tuple[int, ...], list[State]]

#: States that are looked at together: what they work with should stay near the processor.
TOGETHER = 64


def layered_law(structure: Layered, rows: RowSource, scheme: Delayed, sink: Sink, chunk: int = TOGETHER) -> None:
    """Deliver the law of a layered verifier on delayed trees to `sink`."""
    size = rows.vocab_size
    like = rows.target(0, 0, 1)
    one = as_numpy(zeros(like, 1))[0] + 1
    states: States = {(1,): [((root,), (one,), one) for root in range(rows.roots)]}
    reach = as_numpy(zeros(like, rows.roots)) + 1
    for depth in range(scheme.depth):
        if depth == scheme.L1 and scheme.K > 1:
            states = {(scheme.K,): states.get((1,), [])}
        count = rows.roots * size**depth
        p, q = (as_numpy(read(depth, 0, count)) for read in (rows.target, rows.draft))
        correction, below = as_numpy(zeros(like, count, size)), as_numpy(zeros(like, count, size))
        states = _descended(structure, states, p, q, correction, below, chunk)
        sink.node(depth, 0, *(_where_rows_are(part, like) for part in (reach, correction, below)))
        reach = below.reshape(-1)
    sink.leaf(scheme.depth, 0, _where_rows_are(reach, like))


def _where_rows_are(masses: Any, like: Any) -> Any:
    """Layers are worked on by numpy; what comes of them goes back to the device of the rows."""
    return like.new_tensor(masses) if is_tensor(like) else masses


def _descended(structure: Layered, states: States, p: Any, q: Any, correction: Any, below: Any, chunk: int) -> States:
    """The states of the next depth; what they add to the law is added to `correction` and `below`."""
    size = p.shape[1]
    following: States = {}
    for branches, group in states.items():
        for first in range(0, len(group), chunk):
            some = group[first : first + chunk]
            places = np.array([nodes for nodes, _, _ in some])
            scores = np.array([values for _, values, _ in some], dtype=p.dtype)[:, :, None]
            owed, draft = scores * p[places], q[places]
            if sum(branches) == 1:
                met = minimum(owed, draft)
                outcomes = [_alone(d[0], m[0]) for d, m in zip(draft, met, strict=True)]
            else:
                met, outcomes = structure.step(owed, draft, branches)
            for (nodes, _, mass), rest, drawn in zip(some, owed - met, outcomes, strict=True):
                for place, node in enumerate(nodes):
                    correction[node] = correction[node] + mass * rest[place]
                for chance, scored in drawn:
                    for place, token, _, score in scored:
                        node = nodes[place]
                        below[node, token] = below[node, token] + mass * chance * score
                    key = tuple(alive for _, _, alive, _ in scored)
                    entry = (
                        tuple(nodes[place] * size + token for place, token, _, _ in scored),
                        tuple(score for _, _, _, score in scored),
                        mass * chance,
                    )
                    following.setdefault(key, []).append(entry)
    return following


def _alone(draft: Any, met: Any) -> list[Any]:
    """A single branch: every token that it may draw, with the score `min(1, t/q)`."""
    return [
        (draft[token], [(0, token, 1, met[token] / draft[token])])
        for token in range(len(draft))
        if draft[token] > 0 and met[token] > 0
    ]
