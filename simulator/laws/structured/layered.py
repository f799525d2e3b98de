"""Verifiers that score a layer at a time: a state is the nodes of a layer with their scores and branches.

Nodes with score 0 are left out, so there are far fewer states than draft trees. A state of probability `P` with scores
`a_c` adds `P a_c` to the reach of `c` and `P (a_c p - m(c, .))` to its correction masses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.laws.structured.arrays import as_numpy, zeros
from draftproof.simulator.laws.structured.rows import RowSource
from draftproof.simulator.laws.structured.sinks import Sink
from draftproof.simulator.residual import is_tensor
from draftproof.simulator.structures import Layered
from draftproof.simulator.vectors import minimum

#: Nodes of a layer by position, their scores, and the probability of the state.
State: TypeAlias = tuple[tuple[int, ...], tuple[Any, ...], Any]
#: States of one depth by the branches that go on from their nodes.
States: TypeAlias = dict[tuple[int, ...], list[State]]

#: States that are handled at once: so few fit into the processor's cache.
TOGETHER = 64


def layered_law(structure: Layered, rows: RowSource, scheme: Delayed, sink: Sink, chunk: int = TOGETHER) -> None:
    """Deliver the law of a layered verifier on delayed trees to `sink`."""
    size = rows.vocab_size
    like = rows.target(0, 0, 1)
    states, reach = _start(rows, like), as_numpy(zeros(like, rows.roots)) + 1
    for depth in range(scheme.depth):
        states = _forked(states, scheme, depth)
        count = rows.roots * size**depth
        correction, below = as_numpy(zeros(like, count, size)), as_numpy(zeros(like, count, size))
        last = depth == scheme.depth - 1
        states = _descended(structure, states, _rows_at(rows, depth), correction, below, chunk, last)
        sink.node(depth, 0, *(_where_rows_are(part, like) for part in (reach, correction, below)))
        reach = below.reshape(-1)
    sink.leaf(scheme.depth, 0, _where_rows_are(reach, like))


def _start(rows: RowSource, like: Any) -> States:
    one = as_numpy(zeros(like, 1))[0] + 1
    return {(1,): [((root,), (one,), one) for root in range(rows.roots)]}


def _forked(states: States, scheme: Delayed, depth: int) -> States:
    """At the fork the trunk gets its branches."""
    return {(scheme.K,): states.get((1,), [])} if depth == scheme.L1 and scheme.K > 1 else states


def _rows_at(rows: RowSource, depth: int) -> tuple[Any, Any]:
    count = rows.roots * rows.vocab_size**depth
    return as_numpy(rows.target(depth, 0, count)), as_numpy(rows.draft(depth, 0, count))


def _where_rows_are(masses: Any, like: Any) -> Any:
    """The masses, which numpy has computed, on the device of the rows."""
    return like.new_tensor(masses) if is_tensor(like) else masses


def _descended(
    structure: Layered, states: States, tables: tuple[Any, Any], correction: Any, below: Any, chunk: int, last: bool
) -> States:
    """The states of the next depth, none below the last; what they add to the law goes to `correction` and `below`."""
    size = tables[0].shape[1]
    following: States = {}
    for branches, group in states.items():
        for first in range(0, len(group), chunk):
            some = group[first : first + chunk]
            places, target_mass, means, outcomes = _stepped(structure, branches, some, tables)
            chances = np.array([chance for _, _, chance in some], dtype=tables[0].dtype)[:, None, None]
            for sums, parts in ((correction, target_mass - means), (below, means)):
                np.add.at(sums, places.reshape(-1), (chances * parts).reshape(-1, size))
            if not last:
                _branch(following, some, outcomes, size)
    return following


def _stepped(
    structure: Layered, branches: tuple[int, ...], some: list[State], tables: tuple[Any, Any]
) -> tuple[Any, Any, Any, Iterable[Any]]:
    """Of states with the same branches: positions of the nodes, `a_c p` of each, and what `Layered.step` returns."""
    places = np.array([nodes for nodes, _, _ in some])
    scores = np.array([values for _, values, _ in some], dtype=tables[0].dtype)[:, :, None]
    target, draft = (table[places] for table in tables)
    target_mass = scores * target
    if sum(branches) > 1:
        return places, target_mass, *structure.step(scores, target, draft, branches)
    means = minimum(target_mass, draft)
    return places, target_mass, means, (_alone(d[0], m[0]) for d, m in zip(draft, means, strict=True))


def _branch(following: States, some: list[State], outcomes: Iterable[Any], size: int) -> None:
    """Add the states of the next layer; outcomes as `Layered.step` gives them."""
    for (nodes, _, mass), drawn in zip(some, outcomes, strict=True):
        for chance, scored in drawn:
            entry = (
                tuple(nodes[place] * size + token for place, token, _, _ in scored),
                tuple(score for _, _, _, score in scored),
                mass * chance,
            )
            following.setdefault(tuple(alive for _, _, alive, _ in scored), []).append(entry)


def _alone(draft: Any, means: Any) -> list[Any]:
    """A single branch: every token that it may draw, with the score `min(1, t/q)`."""
    return [
        (draft[token], [(0, token, 1, means[token] / draft[token])])
        for token in range(len(draft))
        if draft[token] > 0 and means[token] > 0
    ]
