"""Free numbers in place of the races by which layer verifiers select.

A layer verifier selects one drafted pair of node and token by a race; its solver makes the race from the paths drafted
down to the layer and the rows there.
`solver`: for every set of paths and of drafted pairs below them, the free numbers are the probabilities that each pair
is selected; their sum is at most 1, or 1 without a null option. Every race has such probabilities; see `Drafted`.
`weights`: for every set of paths the free numbers are the weight of each pair in [0, 1], 0 for never, and its rank.
Pairs of equal rank are one block, smaller ranks come first, and the null option is in the last block. So the
theorem also covers the code that computes the law from weights and blocks; see `Weight`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product
from typing import Any

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Greedy, WithoutReplacement
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.laws.drawing import drawn_trees
from draftproof.simulator.protocol import Context, DraftNode, DraftScheme
from draftproof.simulator.theorems.proof.free import Values, assumed_nonnegative
from draftproof.simulator.theorems.proof.rows import Shape

WEIGHTS, CHOICES = "weights", "solver"
#: The name of the null option among pairs; it sorts last.
NULL_OPTION = "n"


@dataclass(frozen=True)
class Racing:
    """The race of a layer verifier. blocks: whether it has blocks as well as weights. scheme: its draft trees."""

    blocks: bool
    scheme: type[Any]


class Weight:
    """A free weight or a sum of free weights: compared and hashed by the names of its parts, divided as a number."""

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


class Drafted:
    """A multiset of drafted pairs in place of weights: one pair divided by all is its free selection probability.

    beside: the names of the paths drafted down to the layer. chances: the free probabilities, by `chance_name`.
    """

    __slots__ = ("beside", "chances", "pairs")

    def __init__(self, pairs: tuple[str, ...], beside: str, chances: Values) -> None:
        self.pairs, self.beside, self.chances = pairs, beside, chances

    def __hash__(self) -> int:
        return hash(self.pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Drafted) and self.pairs == other.pairs

    def __add__(self, other: Any) -> Drafted:
        if isinstance(other, Drafted):
            return Drafted(tuple(sorted(self.pairs + other.pairs)), self.beside, self.chances)
        return self if other == 0 else NotImplemented

    __radd__ = __add__

    def __mul__(self, count: int) -> Drafted:
        return Drafted(self.pairs * count, self.beside, self.chances)

    def __rmul__(self, mass: Any) -> Share:
        return Share(mass, self)

    def __gt__(self, other: Any) -> bool:
        return bool(other == 0)  # everything may be selected

    def chance(self, pair: str) -> Any:
        """The probability that this pair is selected among all."""
        different = sorted(set(self.pairs))
        if len(different) == 1:
            return 1
        free = [self.chances[chance_name(name, self.pairs, self.beside)] for name in different[:-1]]
        last = 1 - sum(free)
        if len(free) > 1 and not assumed_nonnegative(last):  # at a point: the same ratios
            free, last = [chance / (1 - last) for chance in free], last * 0
        return dict(zip(different, [*free, last], strict=True))[pair]


@dataclass(frozen=True)
class Share:
    """A mass times one drafted pair, which may be drafted several times."""

    mass: Any
    drafted_pair: Drafted

    def __truediv__(self, drafted: Drafted) -> Any:
        pair, count = self.drafted_pair.pairs[0], len(self.drafted_pair.pairs)
        return self.mass * drafted.chance(pair) * count / drafted.pairs.count(pair)


def drafted_paths(node: DraftNode, depth: int) -> tuple[Context, ...]:
    """The drafted prefixes of one length, sorted, with repetitions."""
    if depth == 0:
        return (node.context,)
    if depth == 1:
        return tuple(sorted((*node.context, token) for token in node.children))
    below = (drafted_paths(node.child(token), depth - 1) for token in sorted(set(node.children)))
    return tuple(context for contexts in below for context in contexts)


def names_of(contexts: Sequence[Context]) -> str:
    """The names of paths, with `_` between them."""
    return "_".join("".join(map(str, context)) for context in contexts)


def weight_name(letter: str, pair: str, beside: str) -> str:
    """The name of the free number of a pair, where these paths are drafted."""
    return f"{letter}{pair}" + (f"_of_{beside}" if beside else "")


def chance_name(pair: str, drafted: Sequence[str], beside: str) -> str:
    """The name of the probability that a pair is selected among those drafted below these paths."""
    return weight_name("s", f"{pair}_in_{'_'.join(drafted)}", beside)


def free_names(racing: Racing, kind: str, size: int, scheme: DraftScheme) -> tuple[str, ...]:
    """The names of all free numbers; raises `InvalidInput` for draft trees of another scheme."""
    if not isinstance(scheme, racing.scheme):
        raise InvalidInput(f"free {kind} is for draft trees of {racing.scheme.name}, not {scheme}")
    shape = Shape(size, WithoutReplacement(scheme.K, scheme.L1, scheme.L2) if isinstance(scheme, Greedy) else scheme)
    instance = shape.instance(shape.point)
    names: dict[str, None] = {}
    for tree, _ in drawn_trees(shape.scheme, instance.draft, RATIONAL):
        root = tree.root(instance.target, instance.draft)
        for depth in range(scheme.depth):
            nodes, beside = _nodes(root, depth), names_of(drafted_paths(root, depth))
            if sum(len(node.children) for node in nodes) > 1:
                names |= dict.fromkeys(_names_of(racing, kind, nodes, size, beside))
    return tuple(names)


def _names_of(racing: Racing, kind: str, nodes: Sequence[DraftNode], size: int, beside: str) -> Iterator[str]:
    """The names of the free numbers of one layer."""
    pairs = {node.context: [names_of([(*node.context, y)]) for y in range(size)] for node in nodes}
    if kind == WEIGHTS:
        for letter in "vb" if racing.blocks else "v":
            yield from (weight_name(letter, pair, beside) for row in pairs.values() for pair in row)
        if racing.blocks:
            yield weight_name("v", NULL_OPTION, beside)
        return
    draws = combinations_with_replacement if racing.blocks else combinations
    for count in range(1, len(nodes) + 1):
        for scored in combinations(nodes, count):
            for drawn in product(*(draws(pairs[node.context], len(node.children)) for node in scored)):
                drafted = sorted(pair for part in drawn for pair in part) + [NULL_OPTION] * racing.blocks
                yield from (chance_name(pair, drafted, beside) for pair in sorted(set(drafted))[:-1])


def _nodes(node: DraftNode, depth: int) -> list[DraftNode]:
    """The distinct nodes with children at a depth."""
    if depth == 0:
        return [node] if node.children else []
    return [below for token in sorted(set(node.children)) for below in _nodes(node.child(token), depth - 1)]
