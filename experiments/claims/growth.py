"""Statements about planned and grown draft trees, tested by exhaustive search, and one about the number of shapes."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any

from draftproof.experiments.claims.statements import check_spec
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import DySpec, OptTree, Topology
from draftproof.simulator.drafts.sequoia import plan
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import TableProcess
from draftproof.simulator.protocol import Context, DraftScheme, TokenProcess, Vector
from draftproof.simulator.vectors import without
from draftproof.verifiers.sequoia import acceptance_vector

#: A position where a token can be added: its value, its parent, the parent's draft row without the tokens drawn there.
Slot = tuple[Any, Context, Vector]


def greedy_growth(largest: bool, instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether filling the slot of the largest value first maximises the expected sum of the values filled.

    The value of a slot is the probability that verification reaches it if drafts are accepted with their draft
    probability; it does not depend on the slot's token. largest: False for filling the smallest first.
    """
    assert isinstance(scheme, DySpec)
    root: list[Slot] = [(RATIONAL.number(1), (), instance.draft.row(()))]
    best = _value(instance.draft, root, scheme.nodes, None)
    filled = _value(instance.draft, root, scheme.nodes, max if largest else min)
    return None if filled == best else f"the rule fills {as_python(filled)}, the best way {as_python(best)}"


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


def largest_sum(by_draft: bool, instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether OPT-Tree has the largest sum of draft probabilities of all trees of its size; else: of target ones."""
    assert isinstance(scheme, OptTree)
    process = instance.draft if by_draft else instance.target
    mass = sum(reach(process, context) for context in drafted(scheme, instance.draft))
    every = small_trees(instance.vocab_size, scheme.nodes, scheme.nodes)
    best = max(sum((reach(process, context) for context in tree), RATIONAL.number(0)) for tree in every)
    return None if mass == best else f"the tree has {as_python(mass)}, the best {as_python(best)}"


def fixed_tree_efficiency(by_target: bool, instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether naive sampling on a deterministic tree brings 1 plus the target, else draft, mass of its nodes."""
    process = instance.target if by_target else instance.draft
    claimed = 1 + as_python(sum((reach(process, c) for c in drafted(scheme, instance.draft)), RATIONAL.number(0)))
    efficiency = check_spec("nss", instance, scheme).block_efficiency
    return None if efficiency == claimed else f"nss {efficiency}, claimed {claimed}"


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


def sequoia_plan(planned: bool, instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether the planned tree, else a single path, accepts most if the acceptance vector holds at every node.

    The vector is measured on the instance at its first step.
    """
    nodes, depth = scheme.nodes, scheme.depth
    vector = acceptance_vector(instance.target, instance.draft, 1, instance.vocab_size)
    tree = plan(vector, nodes, depth) if planned else (*(1,) * min(nodes, depth), 0)
    every = [made for count in range(nodes + 1) for made in topologies(count) if Topology(made).depth <= depth]
    planned_gain, best = gain(tree, vector), max(gain(made, vector) for made in every)
    return (
        None if planned_gain == best else f"{tree} accepts {as_python(planned_gain)}, the best tree {as_python(best)}"
    )


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
    places = Topology(tuple(tree)).places
    for node, below in enumerate(places):
        for number, child in enumerate(below):
            mass[child] = mass[node] * (acceptance[number] if number < len(acceptance) else 0)
    return sum(mass.values()) - 1


def counted_shapes(claimed: int, _: Instance, __: DraftScheme) -> str | None:
    """Whether the triples K in 1..4, L1 and L2 in 0..8 are `claimed` different trees."""
    different = {
        (1, length, 0) if K == 1 or L2 == 0 else (K, L1, L2)
        for K, L1, L2 in product(range(1, 5), range(9), range(9))
        for length in (L1 + L2,)
    }
    return None if len(different) == claimed else f"{len(different)} different trees"
