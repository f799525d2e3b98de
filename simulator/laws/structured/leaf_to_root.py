"""Leaf-to-root verifiers: a node is entered with a weight, and its rejection changes the weights of its siblings.

At a node entered with weight `w` through which `k` paths go, the first-drafted child is `x`, with `j` of the paths,
with probability `q(x) C(k-1, j-1) q(x)^(j-1) (1 - q(x))^(k-j)`; given that, the other `k - j` paths are i.i.d. from `q`
without `x`. If the subtree of `x` is rejected the verifier goes on with them. So the state at a context is `k` and the
rejected siblings of its ancestors, in order: an *entry*. There are at most about `(V L)^(K-1)` a
context. Three passes over the entries, level by level: down for the weights, up for the probability that a subtree is
rejected (computed, not taken from the weight), down again for the masses.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.laws.structured.arrays import joined, scatter_add, where_true, whole_numbers, zeros
from draftproof.simulator.laws.structured.rows import RowSource
from draftproof.simulator.laws.structured.sinks import Sink
from draftproof.simulator.structures import LeafToRoot


@dataclass
class _Stage:
    """`n` states of nodes after as many rejected children: one entry each, or one for every rejected child.

    context, entry, left: shape `(n,)`: position of the context, the entry it belongs to, paths not yet visited.
    weight: shape `(n, 1)`. origin, share: the state before, and the probability of the child that was rejected in
    between; child: the first of the entries one level down that these stand for.
    """

    context: Any
    entry: Any
    left: Any
    p: Any
    q: Any
    weight: Any
    origin: Any = None
    share: Any = None
    child: int = 0


@dataclass
class _Depth:
    """The entries of one depth. context, paths: shape `(n,)`; weight: `(n, 1)`; rejected: `(n,)` once known."""

    context: Any
    paths: Any
    weight: Any
    stages: list[_Stage]
    rejected: Any = None


def leaf_to_root(structure: LeafToRoot, rows: RowSource, scheme: Delayed, sink: Sink) -> None:
    """Deliver the law of a leaf-to-root verifier on delayed trees to `sink`."""
    like = rows.target(0, 0, 1)
    one = zeros(like, rows.roots, 1) + 1
    every = whole_numbers(like, range(rows.roots))
    levels = [_Depth(every, every * 0 + 1, one, [])]
    for depth in range(scheme.depth):
        if depth == scheme.L1:
            levels[depth].paths = levels[depth].paths * 0 + scheme.K
        levels.append(_expand(structure, rows, depth, levels[depth]))
    for depth in range(scheme.depth, -1, -1):
        _reject(levels, depth)
    _deliver(levels, rows, sink)


def _expand(structure: LeafToRoot, rows: RowSource, depth: int, level: _Depth) -> _Depth:
    """The stages of all entries of one depth, and the entries of the next."""
    size = rows.vocab_size
    width = rows.roots * size**depth
    every = whole_numbers(level.context, range(len(level.context)))
    p, q = (read(depth, 0, width)[level.context] for read in (rows.target, rows.draft))
    stage = _Stage(level.context, every, level.paths, p, q, level.weight)
    contexts, paths, weights = [], [], []
    begun = 0
    while True:
        level.stages.append(stage)
        parts = _after_one_child(structure, stage, size)
        if not parts:
            break
        contexts += [part[0] for part in parts]
        paths += [part[1] for part in parts]
        weights += [part[2] for part in parts]
        after = [part[3] for part in parts]
        fields = ("context", "entry", "left", "p", "q", "weight", "origin", "share")
        stage = _Stage(**{name: joined([getattr(item, name) for item in after]) for name in fields}, child=begun)
        begun += len(stage.context)
    return _Depth(joined(contexts), joined(paths), joined(weights), [])


def _after_one_child(structure: LeafToRoot, stage: _Stage, size: int) -> list[tuple[Any, Any, Any, _Stage]]:
    """For every token and number of paths through it: the child's context, paths and weight, and the state after it."""
    parts = []
    most = int(stage.left.max()) if len(stage.left) else 0
    if most == 0:
        return []
    weights = structure.child_weights(stage.weight, stage.p, stage.q)
    for token in range(size):
        open_states = where_true((stage.left > 0) & (stage.q[:, token] > 0))
        if not len(open_states):
            continue
        before = stage.weight[open_states], stage.p[open_states], stage.q[open_states]
        after = structure.reject(*before, token)
        chance = before[2][:, token]
        left = stage.left[open_states]
        for total in range(1, most + 1):
            for through in range(1, total + 1):
                share = comb(total - 1, through - 1) * chance**through * (1 - chance) ** (total - through)
                chosen = where_true((left == total) & (share > 0))
                if not len(chosen):
                    continue
                origin = open_states[chosen]
                p, q, weight = (part[chosen] for part in after)
                state = _Stage(
                    stage.context[origin],
                    stage.entry[origin],
                    left[chosen] - through,
                    p,
                    q,
                    weight,
                    origin,
                    share[chosen],
                )
                child = stage.context[origin] * size + token
                parts.append((child, left[chosen] * 0 + through, weights[origin, token][:, None], state))
    return parts


def _relative(levels: list[_Depth], depth: int, start: Any) -> list[Any]:
    """The mass of every state of every stage, when the entries have the masses `start`."""
    masses = [start]
    for stage in levels[depth].stages[1:]:
        lost = levels[depth + 1].rejected[stage.child : stage.child + len(stage.origin)]
        masses.append(masses[-1][stage.origin] * stage.share * lost)
    return masses


def _reject(levels: list[_Depth], depth: int) -> None:
    """The probability that an entry's subtree is rejected, from those one level down."""
    level = levels[depth]
    if not level.stages:
        level.rejected = 1 - level.weight[:, 0]
        return
    one = level.weight[:, 0] * 0 + 1
    rejected = one * 0
    for stage, mass in zip(level.stages, _relative(levels, depth, one), strict=True):
        done = where_true(stage.left == 0)
        scatter_add(rejected, stage.entry[done], mass[done] * (1 - stage.weight[done, 0]))
    level.rejected = rejected


def _deliver(levels: list[_Depth], rows: RowSource, sink: Sink) -> None:
    """The masses, from the root down."""
    size, depth = rows.vocab_size, len(levels) - 1
    like = rows.target(0, 0, 1)
    entries = levels[0].weight[:, 0]
    reach = zeros(like, rows.roots) + 1
    for here, level in enumerate(levels):
        width = rows.roots * size**here
        if here == depth:
            accepted = zeros(like, width)
            scatter_add(accepted, level.context, entries * level.weight[:, 0] if here else entries)
            sink.leaf(here, 0, accepted)
            return
        ended, below = zeros(like, width, size), zeros(like, width * size)
        children: list[Any] = []
        masses = _relative(levels, here, entries)
        for stage, mass in zip(level.stages, masses, strict=True):
            done = where_true(stage.left == 0)
            held = mass[done] * stage.weight[done, 0] if here else mass[done]
            scatter_add(ended, stage.context[done], held[:, None] * stage.p[done])
        for stage, mass in zip(level.stages[1:], masses, strict=False):
            children.append(mass[stage.origin] * stage.share)
        entries = joined(children)
        after = levels[here + 1]
        scatter_add(below, after.context, entries * (1 - after.rejected))
        sink.node(here, 0, reach, ended, below.reshape(-1, size))
        reach = below
