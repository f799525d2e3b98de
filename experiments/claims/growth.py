"""Quantities of planned and grown draft trees, by exhaustive search, and the number of different delayed trees."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any

from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import Topology
from draftproof.simulator.drafts.sequoia import plan
from draftproof.simulator.drafts.topology import places_of
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import Context, DraftScheme, TokenProcess, Vector
from draftproof.simulator.tables import TableProcess
from draftproof.simulator.vectors import without
from draftproof.verifiers.sequoia import acceptance_vector

#: A position where a token can be added: its value, its parent, the parent's draft row without the tokens drawn there.
Slot = tuple[Any, Context, Vector]


def slots(instance: Instance, scheme: DraftScheme, rule: str) -> Any:
    """The expected sum of the values of the slots filled; rule: `largest` or `smallest` first, `best` for the most.

    The value of a slot is the probability that verification reaches it if drafts are accepted with their draft
    probability; it does not depend on the slot's token.
    """
    root: list[Slot] = [(RATIONAL.number(1), (), instance.draft.row(()))]
    chosen = {"largest": max, "smallest": min, "best": None}[rule]
    return as_python(_value(instance.draft, root, scheme.nodes, chosen))


def _value(draft: TokenProcess, slots: list[Slot], left: int, rule: Any) -> Any:
    """The expected sum of values when `left` more slots are filled; rule: None for the best choice each time."""
    places = [place for place, slot in enumerate(slots) if slot[0] > 0]
    if not left or not places:
        return RATIONAL.number(0)
    if rule is not None:
        places = [rule(places, key=lambda place: slots[place][0])]
    return max(_filled(draft, slots, place, left, rule) for place in places)


def _filled(draft: TokenProcess, slots: list[Slot], place: int, left: int, rule: Any) -> Any:
    value, context, row = slots[place]
    others = slots[:place] + slots[place + 1 :]
    total = value
    for token, share in enumerate(row):
        if share > 0 and left > 1:
            child, rest = (*context, token), value * (1 - share)
            grown = [*others, (value * share, child, draft.row(child))]
            grown += [(rest, context, without(row, token))] if rest > 0 else []
            total += share * _value(draft, grown, left - 1, rule)
    return total


def drafted_mass(instance: Instance, scheme: DraftScheme, side: str) -> Any:
    """The sum of probabilities of the nodes of a deterministic tree, and 1 for its root; side: `target` or `draft`."""
    process = getattr(instance, side)
    return 1 + as_python(sum((reach(process, c) for c in drafted(scheme, instance.draft)), RATIONAL.number(0)))


def largest_mass(instance: Instance, scheme: DraftScheme, side: str) -> Any:
    """The largest such sum of all trees of the size."""
    process = getattr(instance, side)
    every = small_trees(instance.vocab_size, scheme.nodes, scheme.nodes)
    return 1 + as_python(max(sum((reach(process, c) for c in tree), RATIONAL.number(0)) for tree in every))


def drafted(scheme: DraftScheme, draft: TokenProcess) -> list[Context]:
    """The drafted nodes of a deterministic scheme."""
    [(tree, _)] = outcomes(lambda coin: scheme.draw(draft, coin), RATIONAL)
    assert isinstance(tree, DraftTree)
    return [(*context, token) for context, tokens in tree.children.items() for token in dict.fromkeys(tokens)]


def reach(process: TableProcess, context: Context) -> Any:
    """The probability of a context."""
    total = RATIONAL.number(1)
    for depth, token in enumerate(context):
        total = total * process.row(context[:depth])[token]
    return total


def small_trees(size: int, depth: int, nodes: int) -> Iterator[tuple[Context, ...]]:
    """Every tree of at most this depth and number of nodes."""
    contexts = [context for level in range(1, depth + 1) for context in product(range(size), repeat=level)]
    for count in range(nodes + 1):
        for chosen in combinations(contexts, count):
            if all(len(context) == 1 or context[:-1] in chosen for context in chosen):
                yield chosen


def accepted_of_tree(instance: Instance, scheme: DraftScheme, which: str) -> Any:
    """Expected accepted tokens of the `planned` tree, of a single `path` or of the `best` tree of its size and depth.

    The acceptance vector is that of the instance at its first step, and holds at every node.
    """
    nodes, depth = scheme.nodes, scheme.depth
    vector = acceptance_vector(instance.target, instance.draft, 1, instance.vocab_size)
    if which == "best":
        every = (tree for count in range(nodes + 1) for tree in topologies(count) if Topology(tree).depth <= depth)
        return as_python(max(gain(tree, vector) for tree in every))
    tree = {"planned": plan(vector, nodes, depth), "path": (*(1,) * min(nodes, depth), 0)}[which]
    return as_python(gain(tree, vector))


def topologies(nodes: int) -> Iterator[tuple[int, ...]]:
    """Every tree of exactly `nodes` drafted tokens, as numbers of children level by level."""

    def extend(counts: tuple[int, ...], open_: int, left: int) -> Iterator[tuple[int, ...]]:
        if not open_:
            if not left:
                yield counts
            return
        for children in range(left + 1):
            yield from extend((*counts, children), open_ - 1 + children, left - children)

    yield from extend((), 1, nodes)


def gain(tree: Sequence[int], acceptance: Sequence[Any]) -> Any:
    """Expected number of accepted tokens if the b-th child of any node is the accepted one with probability P[b]."""
    mass: dict[int, Any] = {0: 1}
    for node, below in enumerate(places_of(tree)):
        for number, child in enumerate(below):
            mass[child] = mass[node] * (acceptance[number] if number < len(acceptance) else 0)
    return sum(mass.values()) - 1


def different_trees(_: Instance, __: DraftScheme, ___: str) -> int:
    """The number of different delayed trees with K in 1..4 and L1 and L2 in 0..8."""
    every = product(range(1, 5), range(9), range(9))
    return len({(1, L1 + L2, 0) if K == 1 or L2 == 0 else (K, L1, L2) for K, L1, L2 in every})
