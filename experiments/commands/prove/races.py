"""Races with free weights: what the solver inside a layer verifier chooses, for a theorem about all that it may choose.

A layer verifier lets the drafted pairs of node and token race, each with a weight, the best block of them first; see
`verifiers._race` and `verifiers._layer_sets`. The solver knows what is drafted down to the layer and the rows there. So
for every set of paths to a layer every pair has a weight of its own in [0, 1], 0 for never, and as many blocks as there
are pairs are possible, by the order of further free numbers, equal ones in one block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

import verifiers._layer_sets
import verifiers.layer_transport
from simulator.arithmetic import RATIONAL
from simulator.drafts import Delayed, Greedy, WithoutReplacement
from simulator.errors import InvalidInput
from simulator.laws.drawing import drawn_trees
from simulator.protocol import Card, Coin, Context, DraftNode, DraftScheme, Vector, Verdict
from simulator.theorems.rows import Shape
from verifiers._layers import Scored, Step, sweep
from verifiers._race import Race

#: Weights alone, all pairs in one block; or blocks as well.
WEIGHTS, BLOCKS = "weights", "solver"
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Racing:
    """Where a layer verifier calls its solver. remembered: whose memory would keep what followed from other choices.

    blocks: whether the solver chooses them. scheme: which draft trees it is for.
    """

    module: ModuleType
    name: str
    remembered: tuple[str, ...]
    blocks: bool
    scheme: type


RACES = {
    "layer_transport": Racing(verifiers.layer_transport, "race_of", ("_raced",), True, Delayed),
    "layer_greedy": Racing(verifiers._layer_sets, "race_weights", ("_raced", "_counted"), False, Greedy),
    "layer_without_replacement": Racing(
        verifiers._layer_sets, "race_weights", ("_raced", "_counted"), False, WithoutReplacement
    ),
}


class Weight:
    """A free weight, or a sum of such. As a key it is what was added up, in quotients it is a number."""

    __slots__ = ("number", "parts")

    def __init__(self, parts: tuple[str, ...], number: Any) -> None:
        self.parts, self.number = parts, number

    def __hash__(self) -> int:
        return hash(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Weight) and self.parts == other.parts

    def __add__(self, other: Any) -> Weight:
        if isinstance(other, Weight):
            return Weight(tuple(sorted(self.parts + other.parts)), self.number + other.number)
        return self if other == 0 else NotImplemented

    __radd__ = __add__

    def __mul__(self, count: int) -> Weight:
        return Weight(self.parts * count, self.number * count)

    def __rmul__(self, mass: Any) -> Any:
        return mass * self.number

    def __rtruediv__(self, mass: Any) -> Any:
        return mass / self.number

    def __gt__(self, other: Any) -> bool:
        return bool(self.number > other)


class FreeRaces:
    """A layer verifier, every race of which is given; see `Verifier`."""

    def __init__(self, verifier: Any, racing: Racing, values: Values) -> None:
        self._verifier, self._racing, self._values = verifier, racing, values

    @property
    def card(self) -> Card:
        """The card of the verifier."""
        card: Card = self._verifier.card
        return card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """The sweep with the verifier's own rule, whose solver is replaced."""
        return sweep(root, coin, partial(self._step, root))

    def _step(self, root: DraftNode, layer: Sequence[Scored]) -> Step:
        depth = len(layer[0].node.context)
        pairs = [scored.node.context for scored in layer if scored.node.children]
        names = [
            [_name(context, token, _paths(root, depth)) for token in range(len(layer[0].node.target))]
            for context in pairs
        ]
        with _replaced(self._racing, partial(self._race, names)):
            step: Step = self._verifier.step(layer)
        return step

    def _race(self, names: list[list[str]], owed: Vector, draft: Vector, key: Any) -> Any:
        values = self._values
        weights = np.empty((len(names), len(names[0])), dtype=object)
        weights[:] = [[Weight((name,), values[f"v{name}"]) for name in row] for row in names]
        if not self._racing.blocks:
            return weights
        places = [[values.get(f"b{name}", 0) for name in row] for row in names]
        ranks = [[sum(int(other < place) for each in places for other in each) for place in row] for row in places]
        return Race(np.array(ranks), weights)


@contextmanager
def _replaced(racing: Racing, solver: Callable[..., Any]) -> Iterator[None]:
    module = racing.module
    new = {name: getattr(module, name).__wrapped__ for name in racing.remembered}
    new[racing.name] = solver
    kept = {name: getattr(module, name) for name in new}
    try:
        vars(module).update(new)
        yield
    finally:
        vars(module).update(kept)


def _paths(node: DraftNode, depth: int) -> tuple[Context, ...]:
    """What is drafted down to a depth: the prefixes of that length, in order, each as often as it is drafted."""
    if depth == 0:
        return (node.context,)
    if depth == 1:
        return tuple(sorted((*node.context, token) for token in node.children))
    below = (_paths(node.child(token), depth - 1) for token in sorted(set(node.children)))
    return tuple(context for contexts in below for context in contexts)


def _name(context: Context, token: int, paths: Sequence[Context]) -> str:
    """A pair of node and token, in a layer that was reached like this."""
    beside = "_".join("".join(map(str, path)) for path in paths)
    return f"{''.join(map(str, (*context, token)))}" + (f"_of_{beside}" if beside else "")


def free_names(racing: Racing, kind: str, size: int, scheme: DraftScheme) -> tuple[str, ...]:
    """The names of all weights, and of what orders their blocks; raises `InvalidInput` for other draft trees."""
    if not isinstance(scheme, racing.scheme):
        raise InvalidInput(f"--free {kind} is for draft trees of {racing.scheme.name}, not {scheme}")
    shape = Shape(size, WithoutReplacement(scheme.K, scheme.L1, scheme.L2) if isinstance(scheme, Greedy) else scheme)
    instance = shape.instance(shape.point)
    names: dict[str, None] = {}
    for tree, _ in drawn_trees(shape.scheme, instance.draft, RATIONAL):
        root = tree.root(instance.target, instance.draft)
        for depth in range(scheme.depth):
            nodes = _nodes(root, depth)
            if sum(len(node.children) for node in nodes) > 1:
                paths = _paths(root, depth)
                names |= dict.fromkeys(_name(node.context, y, paths) for node in nodes for y in range(size))
    letters = "vb" if kind == BLOCKS and racing.blocks else "v"
    return tuple(f"{letter}{name}" for letter in letters for name in names)


def _nodes(node: DraftNode, depth: int) -> list[DraftNode]:
    """The different nodes with children at a depth."""
    if depth == 0:
        return [node] if node.children else []
    return [found for token in sorted(set(node.children)) for found in _nodes(node.child(token), depth - 1)]
