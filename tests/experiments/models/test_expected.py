"""Expected tokens a block: exact laws, sums over contexts, and sampled trees, each against another road."""

import numpy as np
import pytest

from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import SUMS, Budget, Expected, expected, predict, sampled
from draftproof.experiments.models.expect.on_tree import RootTrees, evaluates_by_depth, reaches_on_tree
from draftproof.experiments.models.expect.sums import RootRows, reaches, summable
from draftproof.experiments.models.expect.tables import pair_tables
from draftproof.experiments.models.loop.drafting import nodes_of
from draftproof.experiments.models.pair.pair import ROLES, Pair
from draftproof.simulator import Card, Delayed, SamplingCoin, TableProcess, TooLarge, Verdict, block_law
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import DySpec, Eagle2, Sequoia, SpecHub, lossless_for
from draftproof.simulator.errors import UnsupportedTree
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.laws.drawing import drawn_trees
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.simulator.laws.estimator import tree_efficiency_by_coins
from draftproof.simulator.laws.metrics import moments
from draftproof.verifiers import REGISTRY, make

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


ROOT = (0, 1, 2, 3)
SHAPES = [Delayed(*shape) for shape in ((1, 0, 1), (1, 0, 3), (3, 0, 1), (2, 1, 1), (2, 0, 2))]
NAMES = [name for name in REGISTRY if name != "optimum" and "delayed" in lossless_for(REGISTRY[name].card)]


def given(family, vocab, depth):
    return FAMILIES[family].instance(vocab, depth, np.random.default_rng(1))


def rows_of(instance, entries=10**6):
    def read(which, contexts):
        process = instance.target if which == "target" else instance.draft
        return np.array([[float(mass) for mass in process.row(tuple(map(int, each)))] for each in contexts])

    return RootRows(read, instance.target.vocab_size, entries)


def mean_over_trees(verifier, scheme, instance):
    """What every tree that can be drawn says, weighted with its probability."""
    generator, mean = np.random.default_rng(0), np.zeros(scheme.depth + 1)
    for tree, mass in drawn_trees(scheme, instance.draft, RATIONAL):
        reached = reaches_on_tree(verifier, scheme, tree.root(instance.target, instance.draft), generator)
        mean[: len(reached)] += [float(mass) * float(reach) for reach in reached]
    return list(mean)


def deeper(law):
    """`P(tau >= d)` of a law."""
    return [float(sum(law.depth_distribution[depth:])) for depth in range(law.depth + 1)]


@pytest.mark.parametrize("name", NAMES)
def test_sums_are_the_enumerated_depths(name):
    """Against laws in rational arithmetic, which know whole tables; with tokens that the draft never gives, too."""
    verifier, done = make(name), 0
    for scheme in SHAPES:
        for family in ("dirichlet", "zeros") if summable(verifier, scheme) else ():
            instance = given(family, 3, scheme.depth)
            try:
                summed = Expected.of_reaches([reaches(verifier, scheme, rows_of(instance))])
            except UnsupportedTree:
                continue
            law = block_law(verifier, instance.target, instance.draft, scheme, "rational")
            # weights of races are found in float64
            assert summed.depth_distribution == pytest.approx(
                [float(mass) for mass in law.depth_distribution], abs=1e-12
            )
            done += 1
    assert done == {"traversal": 4, "layer_transport": 8, "layer_verification": 8}.get(name, done)
    assert done or name in {"rejection_without_replacement", "sequoia", *NOT_SUMMED}


#: Their state at a context hangs on the drafts beside it, or nothing but `verify` is offered.
NOT_SUMMED = {"block_tree", "gbv_tree", "greedy_multi_draft", "layer_greedy", "spechub", "layer_without_replacement"}


@pytest.mark.parametrize("name", NAMES)
def test_the_mean_over_trees_of_what_counts_depth_by_depth_is_the_law_of_depths(name):
    """Of every tree that can be drawn, with its probability, in rational arithmetic."""
    verifier = make(name)
    for scheme in SHAPES:
        instance = given("dirichlet", 2, scheme.depth)
        if evaluates_by_depth(verifier, scheme):
            law = block_law(verifier, instance.target, instance.draft, scheme, "rational")
            assert mean_over_trees(verifier, scheme, instance) == pytest.approx(deeper(law), abs=1e-12)
    assert not evaluates_by_depth(verifier, DySpec(2))


def test_weights_of_lossy_verifiers_are_no_probabilities():
    wrong, scheme = make("block_by_weights"), Delayed(1, 0, 2)
    assert not summable(wrong, scheme)
    assert not evaluates_by_depth(wrong, scheme)
    instance = given("dirichlet", 3, 2)
    law = block_law(wrong, instance.target, instance.draft, scheme, "rational")
    assert mean_over_trees(wrong, scheme, instance) == pytest.approx(deeper(law), abs=1e-12)


def test_users_are_not_believed_and_rows_are_bounded():
    class Mine(type(make("block"))):
        pass

    assert not summable(Mine(), Delayed(1, 0, 2))
    assert not summable(make("traversal"), Delayed(2, 0, 1))
    assert not summable(make("traversal"), DySpec(2))
    instance = given("dirichlet", 3, 2)
    assert len(reaches(make("naive"), Delayed(1, 0, 2), rows_of(instance, 9))) == 3
    with pytest.raises(TooLarge, match=r"3 contexts: rows of more than 4,096 or of more than 8 numbers"):
        reaches(make("naive"), Delayed(1, 0, 2), rows_of(instance, 8))


def test_what_the_draft_cannot_reach_is_not_read(exact_pair):
    """With two tokens kept in each row, three contexts are enough at depth 2."""
    sampling = Sampling(top_k=2)
    rows = RootRows.of(exact_pair, sampling, ROOT, 16)
    case = Case("", *pair_tables(exact_pair, sampling, ROOT, 2))
    law = predict(make("block"), [case], Delayed(1, 0, 2))
    summed = Expected.of_reaches([reaches(make("block"), Delayed(1, 0, 2), rows)])
    assert summed.depth_distribution == pytest.approx(law.depth_distribution)


def test_a_pair_is_summed_where_its_tables_are_too_large(exact_pair):
    case, contexts = Case("", *pair_tables(exact_pair, Sampling(), ROOT, 2)), Contexts(exact_pair, Sampling(), [ROOT])
    for name, scheme in (("naive", Delayed(1, 0, 2)), ("specinfer", Delayed(2, 0, 2)), ("block", Delayed(1, 0, 2))):
        found = expected(make(name), scheme, contexts, Budget(0, 4), np.random.default_rng(0))
        law = predict(make(name), [case], scheme)
        assert (found.how, found.exact, found.laws) == (SUMS, True, ())
        assert found.mean == pytest.approx(law.mean, abs=1e-12)
        assert found.variance == pytest.approx(law.variance, abs=1e-12)
        assert found.depth_distribution == pytest.approx(law.depth_distribution, abs=1e-12)
    trees = expected(make("traversal"), Delayed(2, 0, 1), contexts, Budget(0, 4), np.random.default_rng(0))
    assert trees.how == "4 sampled trees"
    with pytest.raises(TooLarge, match=r"traversal on delayed.* has no exact mean that is small enough"):
        expected(make("traversal"), Delayed(2, 0, 1), contexts, Budget(0, 0), np.random.default_rng(0))


def test_work_that_is_interrupted_leaves_no_half_of_it(exact_pair, monkeypatch):
    whole = Contexts(exact_pair, Sampling(), [ROOT, ROOT[:2]])
    broken = Contexts(exact_pair, Sampling(), [ROOT, ROOT[:2]])
    for done in (whole, broken):
        assert len(done.cases(1)) == 2
        done.rows(10**6)[0].level(0)
    count, right = 0, Pair.sampled

    def late(*given):
        nonlocal count
        count += 1
        if count > 3:
            raise TooLarge("too long")
        return right(*given)

    with monkeypatch.context() as patched:
        patched.setattr(Pair, "sampled", late)
        for work in (lambda: broken.cases(2), lambda: broken.rows(10**6)[0].level(1)):
            with pytest.raises(TooLarge, match="too long"):
                work()
            count = 3
    scheme, budget = Delayed(1, 0, 2), Budget(0, 0)
    for name in ("naive", "block"):
        means = [expected(make(name), scheme, each, budget, np.random.default_rng(0)).mean for each in (whole, broken)]
        assert means[0] == means[1]
    assert [case.target.depth for case in broken.cases(1)] == [1, 1]
