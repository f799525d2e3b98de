"""Predictions: from tables exactly, from sampled trees with the error they state, and both from other passes."""

import numpy as np
import pytest

from draftproof.experiments.inputs.verifiers import Planned
from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import predict, sampled
from draftproof.experiments.models.expect.on_tree import reaches_on_tree
from draftproof.experiments.models.expect.tables import pair_tables
from draftproof.experiments.models.expect.trees import RootTrees
from draftproof.experiments.models.loop.drafting import nodes_of
from draftproof.experiments.models.pair.pair import ROLES
from draftproof.simulator import Card, Delayed, InvalidInput, SamplingCoin, TableProcess, TooLarge, Verdict
from draftproof.simulator.drafts import DySpec, Eagle2, Sequoia, SpecHub
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.simulator.laws.estimator import tree_efficiency_by_coins
from draftproof.simulator.laws.metrics import moments
from draftproof.verifiers import make

ROOTS = [(0, 1, 2, 3), (5, 0, 0, 1)]


@pytest.fixture(scope="module")
def tables(tiny_pair):
    return [Case(str(root), *pair_tables(tiny_pair, Sampling(), root, 3)) for root in ROOTS]


def small_tables(seed):
    generator = np.random.default_rng(seed)
    target, draft = ([generator.dirichlet(np.ones(2), 2**depth) for depth in range(4)] for _ in range(2))
    return Case("root", TableProcess(target, "target"), TableProcess(draft, "draft"))


def draw_trees(pair, scheme, sampling, root, count):
    trees = RootTrees(pair, sampling, root)
    return trees.roots(trees.drawn(scheme, count, SamplingCoin(np.random.default_rng(0))))


class FirstDraft:
    """Accepts the first draft whatever it is; offers no engine."""

    card = Card(name="first_draft", title="", source=None, needs=None)

    def verify(self, root, coin):
        if not root.children:
            return Verdict((), coin.choose(root.target))
        node = root.child(root.children[0])
        return Verdict(node.context, coin.choose(node.target))


@pytest.mark.parametrize("name", ["specinfer", "block", "traversal", "path_transport"])
def test_a_prediction_is_the_mean_of_the_enumerated_laws(name):
    pairs, scheme = [small_tables(0), small_tables(1)], Delayed(2, 1, 1)
    found = predict(make(name), pairs, scheme)
    laws = [enumerate_law(make(name), each.target, each.draft, scheme) for each in pairs]
    efficiencies = [float(law.block_efficiency) for law in laws]
    assert found.mean == pytest.approx(sum(efficiencies) / 2, abs=1e-12)  # float sums in another order
    assert found.variance == pytest.approx(
        sum(float(moments(law.depth_distribution)[1]) for law in laws) / 2, abs=1e-12
    )
    assert sum(found.depth_distribution) == pytest.approx(1, abs=1e-12)


def test_a_verifier_without_an_engine_is_enumerated_where_that_is_short(tables):
    law = predict(FirstDraft(), tables, Delayed(1, 0, 1)).laws[0]
    assert law.depth_distribution == pytest.approx([0, 1], abs=1e-12)
    with pytest.raises(TooLarge, match=r"first_draft on .* means .* runs for one root"):
        predict(FirstDraft(), tables, Delayed(3, 1, 2))


def test_a_planned_verifier_is_refused_by_name():
    with pytest.raises(InvalidInput, match="optimum is planned for one instance"):
        predict(Planned(), [small_tables(0)], Delayed())


@pytest.mark.parametrize(("name", "scheme"), [("specinfer", Delayed(2, 1, 2)), ("naive_tree", DySpec(3))])
def test_what_a_tree_says_is_the_mean_over_the_whole_coin(tiny_pair, name, scheme):
    for tree in draw_trees(tiny_pair, scheme, Sampling(), ROOTS[1], 5):
        reached = reaches_on_tree(make(name), scheme, tree, np.random.default_rng(0))
        # the depth of these is decided by flips, so nothing is left to chance; floats are summed in another order
        assert sum(reached) == pytest.approx(float(tree_efficiency_by_coins(make(name), tree)), abs=1e-12)
        assert reached == sorted(reached, reverse=True)


@pytest.mark.parametrize("name", ["specinfer", "traversal", "gbv"])
def test_sampled_and_exact_predictions_agree_within_the_stated_error(tiny_pair, tables, name):
    scheme, generator = Delayed(2, 1, 2), np.random.default_rng(1)
    exact = predict(make(name), tables, scheme)
    found = sampled(make(name), scheme, Contexts(tiny_pair, Sampling(), ROOTS), 192, generator)
    assert 0 < found.error < np.sqrt(exact.variance / 384)  # the mean over the coin is exact
    assert abs(found.mean - exact.mean) < 4 * found.error
    assert found.variance == pytest.approx(exact.variance, rel=0.25)  # of 384 trees


@pytest.mark.parametrize(
    "scheme", [Delayed(2, 1, 2), DySpec(3), Eagle2(2, 3, 4), SpecHub(2), Sequoia(4, 3, (2, 1, 0, 1, 0))], ids=str
)
def test_sampled_trees_of_any_scheme_hold_the_rows_of_plain_passes(exact_pair, scheme):
    nodes = draw_trees(exact_pair, scheme, Sampling(0.7), ROOTS[0], 6)
    for node in nodes:
        # these rows come from passes over a cache, the others from passes without one, both in float64
        p, q = (exact_pair.rows(role, [[*ROOTS[0], *node.context]], Sampling(0.7))[0].numpy() for role in ROLES)
        assert np.abs(node.target - p).max() < 1e-10
        if node.children:
            assert np.abs(node.draft - q).max() < 1e-10
            nodes += [node.child(token) for token in dict.fromkeys(node.children)]
    assert len(nodes) > 6 * 3


def test_the_targets_rows_of_a_tree_come_from_one_pass_a_depth(exact_pair):
    sampling, root, read = Sampling(temperature=0.8), ROOTS[0], list[int]()
    trees = RootTrees(exact_pair, sampling, root)
    drawn = trees.drawn(Delayed(2, 0, 3), 1, SamplingCoin(np.random.default_rng(0)))
    hook = exact_pair.target.register_forward_hook(lambda *_: read.append(1))
    trees.roots(drawn)
    hook.remove()
    assert len(read) == 4 + 3  # and at each depth below the root one over the root
    assert len(trees.target.known) == 1 + len(nodes_of(drawn[0]))
    for context, row in trees.target.known.items():
        alone = exact_pair.rows("target", [[*root, *context]], sampling)[0].numpy()
        assert row == pytest.approx(alone, abs=1e-12)  # passes of other shapes sum in another order
