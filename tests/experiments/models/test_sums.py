"""Exact expectations without whole tables: sums over contexts, and what one tree tells depth by depth."""

import numpy as np
import pytest

from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import SUMS, Budget, Expected, expected, predict
from draftproof.experiments.models.expect.on_tree import evaluates_by_depth, reaches_on_tree
from draftproof.experiments.models.expect.sums import RootRows, reaches, summable
from draftproof.experiments.models.expect.tables import pair_tables
from draftproof.experiments.models.expect.trees import RootTrees
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator import Delayed, SamplingCoin, TooLarge, block_law
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import DySpec, lossless_for
from draftproof.simulator.errors import UnsupportedTree
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.laws.drawing import drawn_trees
from draftproof.verifiers import REGISTRY, make

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


def test_choices_are_sampled_where_nothing_else_tells(exact_pair):
    trees, generator, scheme = RootTrees(exact_pair, Sampling(), ROOT), np.random.default_rng(0), Delayed(2, 0, 2)
    (tree,) = trees.roots(trees.drawn(scheme, 1, SamplingCoin(generator)))
    assert not evaluates_by_depth(make("path_transport"), scheme)
    assert 1 <= sum(reaches_on_tree(make("path_transport"), scheme, tree, generator)) <= 3


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
