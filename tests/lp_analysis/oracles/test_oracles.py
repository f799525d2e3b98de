"""The best trees when the target is known: each programme equals a search through all trees, or all policies."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from draftproof.lp_analysis.oracles.growth import Growth
from draftproof.lp_analysis.oracles.sets import most_probable, set_efficiency
from draftproof.lp_analysis.oracles.topologies import best_topology, place_masses
from draftproof.simulator import InvalidInput, TooLarge, check
from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.drafts import DySpec, Eagle2, OptTree, Topology, UserScheme
from draftproof.simulator.drafts.sequoia import plan
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.verifiers import make
from draftproof.verifiers.sequoia import acceptance_vector

CASES = [(family, seed) for family in ("dirichlet", "perturbed", "zeros", "ties") for seed in range(2)]


def instance(family: str, seed: int, size: int, depth: int) -> Instance:
    return FAMILIES[family].instance(size, depth, np.random.default_rng(seed), 20)


def efficiency(verifier: str, given: Instance, scheme: object) -> Fraction:
    found = check(make(verifier), given.target, given.draft, scheme, engine="enumerate")
    assert found.max_deviation == 0
    return Fraction(found.block_efficiency)


@pytest.mark.parametrize(("family", "seed"), CASES)
def test_the_most_probable_contexts_are_the_best_of_all_sets(family: str, seed: int) -> None:
    given = instance(family, seed, 2, 3)
    contexts = [context for depth in (1, 2, 3) for context in product(range(2), repeat=depth)]
    for nodes in range(5):
        chosen = [context for context, _ in most_probable(given.target, nodes, 3)]
        trees = [
            some
            for count in range(nodes + 1)
            for some in combinations(contexts, count)
            if all(len(context) == 1 or context[:-1] in some for context in some)
        ]
        best = max(set_efficiency(given.target, tree) for tree in trees)
        assert set_efficiency(given.target, chosen) == best
        assert tuple(chosen) == () or all(context[:-1] in ((), *chosen) for context in chosen)


@pytest.mark.parametrize(("family", "seed"), CASES)
def test_what_a_fixed_set_attains_is_what_naive_sampling_has_on_the_tree(family: str, seed: int) -> None:
    given = instance(family, seed, 3, 3)
    for nodes in (2, 4):
        found = set_efficiency(given.target, [c for c, _ in most_probable(given.draft, nodes, 3)])
        assert as_python(found) == efficiency("nss", given, Eagle2(3, 3, nodes))
    assert efficiency("nss", given, OptTree(3)) == as_python(
        set_efficiency(given.target, [c for c, _ in most_probable(given.draft, 3, 3)])
    )


def topologies(nodes: int, depth: int) -> Iterator[tuple[int, ...]]:
    for count in range(nodes + 1):
        for counts in product(range(nodes + 1), repeat=count + 1):
            try:
                made = Topology(counts)
            except InvalidInput:
                continue
            if made.depth <= depth:
                yield counts


@pytest.mark.parametrize(("family", "seed"), CASES)
def test_the_best_topology_is_the_best_of_all_topologies(family: str, seed: int) -> None:
    given = instance(family, seed, 2 + seed, 2 + (seed == 0))
    depth = given.depth
    values = {
        tree: efficiency("rejection_without_replacement", given, Topology(tree)) for tree in topologies(4 - seed, depth)
    }
    value, tree = best_topology(given.target, given.draft, 4 - seed, depth)
    assert as_python(value) == max(values.values()) == values[tree]
    planned = plan(acceptance_vector(given.target, given.draft, depth, 3), 4 - seed, depth)
    assert as_python(value) >= values[planned]  # Sequoia knows averages only


def test_masses_of_places_add_up_to_the_block_efficiency() -> None:
    given = instance("dirichlet", 3, 3, 2)
    masses = place_masses(given.target, given.draft, 6, 2)
    places = [(1,), (2,), (1, 1), (1, 2), (2, 1)]
    total = 1 + sum(masses[place] for place in places)
    assert as_python(total) == efficiency("rejection_without_replacement", given, Topology((2, 2, 1, 0, 0, 0)))
    assert sum(masses[index,] for index in (1, 2, 3)) == 1  # three different tokens of three
    with pytest.raises(TooLarge, match="15 nodes are more than 14"):
        best_topology(given.target, given.draft, 15, 2)


State = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]


class Policy:
    """A scheme that fills the slots which a table names: by what was drawn so far, the node to draw at."""

    def __init__(self, nodes: int, table: dict[State, tuple[int, ...]]) -> None:
        self.nodes = self.depth = nodes
        self.table = table

    def draw(self, draft, coin):  # type: ignore[no-untyped-def]
        drawn: dict[tuple[int, ...], tuple[int, ...]] = {}
        for _ in range(self.nodes):
            state = tuple(sorted(drawn.items()))
            context = self.table[state]
            q = draft.row(context) * 1
            for token in drawn.get(context, ()):
                q[token] = q[token] * 0
            if not q.sum() > 0:
                break
            drawn[context] = (*drawn.get(context, ()), coin.choose(q))
        return drawn


def policies(size: int, nodes: int) -> Iterator[dict[State, tuple[int, ...]]]:
    """Every rule, by listing the choices at every state that another rule may lead to."""

    def nodes_of(state: State) -> list[tuple[int, ...]]:
        return [(), *((*context, token) for context, tokens in state for token in tokens)]

    def after(state: State, context: tuple[int, ...]) -> list[State]:
        drawn = dict(state)
        tried = drawn.get(context, ())
        free = [token for token in range(size) if token not in tried]
        return [tuple(sorted({**drawn, context: (*tried, token)}.items())) for token in free]

    def rules(waiting: list[State], left: int) -> Iterator[dict[State, tuple[int, ...]]]:
        """Rules for these states and all that they lead to."""
        if not left or not waiting:
            yield {}
            return
        for choice in product(*(nodes_of(state) for state in waiting)):
            table = dict(zip(waiting, choice, strict=True))
            following = sorted({new for state, context in table.items() for new in after(state, context)})
            for rest in rules(following, left - 1):
                yield {**table, **rest}

    yield from rules([()], nodes)


@pytest.mark.parametrize(
    ("family", "seed", "size", "nodes"), [("dirichlet", 0, 2, 3), ("ties", 1, 2, 3), ("perturbed", 4, 3, 2)]
)
def test_the_best_growth_is_the_best_of_all_policies(family: str, seed: int, size: int, nodes: int) -> None:
    given = instance(family, seed, size, nodes)
    values = [
        efficiency("rejection_without_replacement", given, UserScheme(Policy(nodes, table)))
        for table in policies(size, nodes)
    ]
    assert len(values) >= 8
    assert as_python(Growth(given.target, given.draft, nodes).best(nodes)) == max(values)
    assert min(values) < max(values)


@pytest.mark.parametrize(("family", "seed"), CASES)
def test_no_scheme_under_recursive_rejection_is_above_the_best_growth(family: str, seed: int) -> None:
    given = instance(family, seed, 2, 4)
    best = as_python(Growth(given.target, given.draft, 4).best(4))
    assert best >= efficiency("rejection_without_replacement", given, DySpec(4))
    assert best >= as_python(best_topology(given.target, given.draft, 4, 4)[0])


def test_the_programme_ends_where_there_are_too_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    given = instance("dirichlet", 0, 2, 4)
    monkeypatch.setattr("draftproof.lp_analysis.oracles.growth.MOST_STATES", 3)
    with pytest.raises(TooLarge, match="over 3 states"):
        Growth(given.target, given.draft, 4).best(4)


def by_draft(seed: int, nodes: int, best: Callable[[Growth, int], Fraction]) -> Fraction:
    given = instance("dirichlet", seed, 2, nodes)
    return Fraction(as_python(best(Growth(given.draft, given.draft, nodes, by_draft=True), nodes)))


def test_greedy_growth_is_not_optimal_even_if_acceptance_is_draft_probability() -> None:
    gaps = [by_draft(seed, 3, Growth.best) - by_draft(seed, 3, Growth.greedy) for seed in range(6)]
    assert min(gaps) == 0
    assert max(gaps) > 0


@pytest.mark.parametrize("seed", range(3))
def test_growth_stays_within_its_depth(seed: int) -> None:
    """Of one layer only the siblings of the root are left: as many as there are nodes."""
    given = instance("dirichlet", seed, 3, 2)
    for nodes in (1, 2, 3):
        siblings = efficiency("rejection_without_replacement", given, Topology((nodes, *[0] * nodes)))
        for grown in (Growth.best, Growth.greedy):
            assert as_python(grown(Growth(given.target, given.draft, 1), nodes)) == siblings
    assert Growth(given.target, given.draft, 2).best(3) > Growth(given.target, given.draft, 1).best(3)
