"""Stochastic beam search: its law by races of all leaves, and what sees that siblings are not i.i.d."""

from itertools import product

import numpy as np
import pytest
from flint import fmpq

from draftproof import verifiers
from draftproof.simulator import check
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.drafts import StochasticBeam
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.protocol import Context
from draftproof.simulator.tables import TableProcess
from draftproof.simulator.verdicts.cases import case_instances
from tests.simulator.drafts.drawn import Tree, law_of_trees


def instance(family: str, size: int, depth: int, seed: int = 0) -> Instance:
    return FAMILIES[family].instance(size, depth, np.random.default_rng((seed, size, depth)), 20)


def leaves(draft: TableProcess, depth: int) -> dict[Context, fmpq]:
    masses = {(): fmpq(1)}
    for _ in range(depth):
        masses = {(*c, y): m * q for c, m in masses.items() for y, q in enumerate(draft.row(c)) if m * q > 0}
    return masses


def kept(ranking: tuple[Context, ...], K: int, L: int) -> Tree:
    """The tree of a ranking of leaves: at each level the first `K` different prefixes."""
    drafted: dict[Context, tuple[int, ...]] = {}
    for depth in range(1, L + 1):
        for *parent, token in list(dict.fromkeys(leaf[:depth] for leaf in ranking))[:K]:
            drafted[tuple(parent)] = (*drafted.get(tuple(parent), ()), token)
    return tuple(sorted(drafted.items()))


def raced(draft: TableProcess, K: int, L: int) -> dict[Tree, fmpq]:
    """The law by all rankings of the leaves without replacement, each as far as it decides the tree."""
    masses = leaves(draft, L)
    enough = [min(K, len({leaf[:depth] for leaf in masses})) for depth in range(1, L + 1)]
    found: dict[Tree, fmpq] = {}

    def follow(ranking: tuple[Context, ...], mass: fmpq, rest: fmpq) -> None:
        if all(len({leaf[:depth] for leaf in ranking}) >= count for depth, count in enumerate(enough, 1)):
            key = kept(ranking, K, L)
            found[key] = found.get(key, fmpq(0)) + mass
            return
        for leaf, m in masses.items():
            if leaf not in ranking:
                follow((*ranking, leaf), mass * m / rest, rest - m)

    follow((), fmpq(1), fmpq(1))
    return found


SMALL = [(2, 2, 2), (2, 3, 2), (2, 4, 2), (3, 3, 1), (2, 1, 3), (2, 2, 3), (3, 2, 2)]


@pytest.mark.parametrize(("family", "shape"), list(product(["dirichlet", "zeros", "ties"], SMALL)), ids=str)
def test_the_law_is_that_of_all_leaves_ranked_without_replacement(family: str, shape: tuple[int, int, int]) -> None:
    size, K, L = shape
    draft = instance(family, size, L).draft
    exact = law_of_trees(StochasticBeam(K, L), draft)
    assert exact == raced(draft, K, L)
    assert sum(exact.values()) == 1
    floats = law_of_trees(StochasticBeam(K, L), tabulate(draft, L - 1, FLOAT64), FLOAT64)
    assert floats == pytest.approx({key: float(mass.p) / float(mass.q) for key, mass in exact.items()}, abs=1e-14)


@pytest.mark.parametrize("name", ["rejection_without_replacement", "specinfer", "naive_tree", "layer_transport"])
def test_recursive_rejection_is_lossless_and_rules_for_other_trees_have_a_witness(name: str) -> None:
    """SpecInfer takes siblings for i.i.d. ones; the layer rule takes them for independent ones."""
    verifier, scheme = verifiers.make(name), StochasticBeam(2, 2)
    declared = verifier.card.needs in StochasticBeam.draws
    verdicts = [check(verifier, each.target, each.draft, scheme).lossless for each in case_instances((2, scheme), 6)]
    assert all(verdicts) == declared == (name in ("rejection_without_replacement", "naive_tree"))
