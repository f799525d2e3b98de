"""The best fixed topology under recursive rejection without replacement, with all rows known.

A place in a topology is a list of child indices: `(2, 1)` is the first child of the root's second. The probability that
verification takes the token at a place depends on the place alone, not on what else is drafted later, so the block
efficiency of a topology is the sum over its places. Sequoia plans with one acceptance rate for every child index, the
average over contexts; here every place has its own.
"""

from collections import defaultdict
from functools import cache
from typing import Any

from draftproof.lp_analysis.oracles.slots import Slots
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.protocol import Context, TokenProcess

#: Nodes of the largest topology that is searched: the number of places doubles with every node.
MOST_NODES = 14

#: Child indices, from 1, from the root down.
Place = tuple[int, ...]


def best_topology(target: TokenProcess, draft: TokenProcess, nodes: int, depth: int) -> tuple[Any, tuple[int, ...]]:
    """The largest block efficiency of a topology of at most `nodes` tokens and this depth, and the topology.

    The topology is given as to `Topology`: numbers of children, node by node, level by level. Ties go to fewer nodes.
    Raises `TooLarge` above 14 nodes.
    """
    if nodes > MOST_NODES:
        raise TooLarge(f"{nodes} nodes are more than {MOST_NODES}: a topology has 2^nodes places to choose from")
    masses = place_masses(target, draft, nodes, depth)

    @cache
    def best(place: Place, first: int, size: int) -> tuple[Any, tuple[Any, ...]]:
        """The largest gain of `size` tokens as children `first`, .. of a place and below them, and their plan."""
        largest: tuple[Any, tuple[Any, ...]] = (0, ())
        child = (*place, first)
        if size and child in masses:
            for given in range(1, size + 1):
                below, inner = best(child, 1, given - 1)
                beside, others = best(place, first + 1, size - given)
                gain = masses[child] + below + beside
                if gain > largest[0]:
                    largest = (gain, (inner, *others))
        return largest

    gain, plan = best((), 1, nodes)
    counts: list[int] = []
    waiting = [plan]
    for children in waiting:  # grows while it is walked
        counts.append(len(children))
        waiting += children
    return 1 + gain, tuple(counts)


def place_masses(target: TokenProcess, draft: TokenProcess, nodes: int, depth: int) -> dict[Place, Any]:
    """For every place of a topology of at most `nodes` tokens the probability that verification takes its token."""
    slots = Slots(target, draft)
    masses: dict[Place, Any] = {}
    waiting: list[tuple[Place, dict[Context, Any]]] = [((), {(): target.row(()).sum()})]
    for place, reached in waiting:  # grows while it is walked
        if len(place) == depth:
            continue
        slot_masses: dict[tuple[Context, tuple[int, ...]], Any] = {
            (context, ()): mass for context, mass in reached.items()
        }
        for index in range(1, nodes - sum(place) + 1):  # a place needs its elder siblings: as many nodes as its sum
            taken, missed = _tried(slots, slot_masses)
            if not taken:
                break
            masses[*place, index] = sum(taken.values())
            waiting.append(((*place, index), taken))
            slot_masses = missed
    return masses


def _tried(slots: Slots, slot_masses: dict[Any, Any]) -> tuple[dict[Context, Any], dict[Any, Any]]:
    """One more child at every slot: the masses of the accepted contexts, and those of the slots after a rejection."""
    taken: dict[Context, Any] = defaultdict(lambda: 0)
    missed: dict[Any, Any] = defaultdict(lambda: 0)
    for (context, tried), mass in slot_masses.items():
        for draw in slots.draws((context, tried)):
            accepted = mass * draw.probability * draw.accepted
            if accepted > 0:
                taken[*context, draw.token] += accepted
            if draw.accepted < 1:
                missed[context, (*tried, draw.token)] += mass * draw.probability - accepted
    return dict(taken), dict(missed)
