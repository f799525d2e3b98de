"""Tokens a block for `choose`: exact means are those of laws, bounds bound, upper ends hold where few trees tell."""

from math import sqrt
from statistics import harmonic_mean

import numpy as np
import pytest

from draftproof.experiments.inputs.schemes import find_scheme
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.models.expect.expected import AlongText, Budget, SharedTrees, along, most_tokens, predict
from draftproof.experiments.models.expect.tables import pair_tables
from draftproof.experiments.models.expect.trees import RootTrees
from draftproof.experiments.models.loop.drafting import nodes_of
from draftproof.experiments.models.loop.setting import setting
from draftproof.experiments.models.pair.pair import Pair
from draftproof.lp_analysis import optimum
from draftproof.simulator import Delayed
from draftproof.simulator.coins import SamplingCoin
from draftproof.simulator.drafts import Stratified
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.sampling import Sampling

CONTEXTS = [(0, 1, 2, 3), (3, 1, 0)]

SHAPES = [Delayed(*shape) for shape in ((1, 0, 0), (1, 0, 2), (3, 0, 1), (2, 1, 1), (2, 0, 2), (2, 1, 2))]


def dirichlet(depth: int, seed: int) -> Instance:
    return FAMILIES["dirichlet"].instance(3, depth, np.random.default_rng(seed))


def test_no_optimum_is_above_the_bound() -> None:
    for seed in range(3):
        instance = dirichlet(3, seed)
        case = Case("", instance.target, instance.draft)
        for shape in SHAPES:
            found = float(optimum(instance.target, instance.draft, shape).lower)
            assert found <= most_tokens(shape, [case]) + 1e-9
        for apart in (Stratified(2, 0, 2), Stratified(2, 1, 1), Stratified(3, 0, 1)):
            most = most_tokens(apart, [case])
            assert float(optimum(instance.target, instance.draft, apart).lower) <= most + 1e-9
            assert most_tokens(Delayed(apart.K, apart.L1, apart.L2), [case]) <= most <= 1 + apart.depth
        one = Delayed(1, 0, 1)
        overlap = sum(min(p, q) for p, q in zip(instance.target.row(()), instance.draft.row(()), strict=True))
        assert most_tokens(one, [case]) == pytest.approx(1 + float(overlap))  # reached by every verifier of one draft


def test_the_bound_goes_on_below_the_tables_and_knows_nothing_of_other_schemes() -> None:
    instance = dirichlet(1, 0)
    case = Case("", instance.target, instance.draft)
    drafts = [most_tokens(Delayed(2, 0, depth), [case]) - 1 for depth in (1, 3)]
    assert drafts[1] == pytest.approx(3 * drafts[0])
    assert most_tokens(find_scheme("dyspec:nodes=3"), [case]) == 1 + find_scheme("dyspec:nodes=3").depth


NAMED = [find_verifier(name) for name in ("specinfer", "traversal", "block")]


def test_exact_expectations_are_laws(exact_pair: Pair) -> None:
    where, shapes = setting(exact_pair, Sampling(), CONTEXTS, 0), [Delayed(2, 0, 1), Delayed(1, 0, 2)]
    combinations = [(named, shape) for named in NAMED for shape in shapes]
    cases = [Case("", *pair_tables(exact_pair, Sampling(), context, 2)) for context in CONTEXTS]
    for (named, shape), found in zip(combinations, SharedTrees(where, CONTEXTS, shapes).of(combinations), strict=True):
        assert found.error == 0
        means = [float(law.block_efficiency) for law in predict(named.verifier, cases, shape).laws]
        assert found.mean == pytest.approx(harmonic_mean(means), abs=1e-12)
        assert found.high == pytest.approx(sum(means) / len(means), abs=1e-12)


def test_sampled_expectations_are_near_the_laws_and_do_not_depend_on_who_asks(exact_pair: Pair) -> None:
    where, shapes = setting(exact_pair, Sampling(), CONTEXTS, 0), [Delayed(2, 0, 1), Delayed(2, 1, 1), Delayed(1, 0, 2)]
    schemes = [*shapes, find_scheme("dyspec:nodes=2")]
    combinations = [
        (named, scheme) for named in NAMED[:2] for scheme in schemes if scheme in shapes or named is NAMED[1]
    ]
    laws = SharedTrees(where, CONTEXTS, schemes).of(combinations)
    assert [found.error for found in laws] == [0.0] * len(combinations)
    sampled = SharedTrees(where, CONTEXTS, schemes, Budget(0, 200, sums=0))
    estimates = sampled.of(combinations)
    for law, found in zip(laws, estimates, strict=True):
        assert abs(found.mean - law.mean) <= 4 * found.error
        assert 0 < found.error < 0.1
    assert sampled.of(combinations[3:5])[0] == estimates[3]


def test_the_targets_rows_of_a_tree_come_from_one_pass_over_its_paths(exact_pair: Pair) -> None:
    warp, root, read = Sampling(temperature=0.8), CONTEXTS[0], list[int]()
    trees = RootTrees(exact_pair, warp, root)
    drawn = trees.drawn(Delayed(2, 0, 3), 1, SamplingCoin(np.random.default_rng(0)))
    hook = exact_pair.target.register_forward_hook(lambda *_: read.append(1))
    trees.roots(drawn)
    hook.remove()
    assert len(read) == 1
    assert len(trees.target.known) == 1 + len(nodes_of(drawn[0]))
    for context, row in trees.target.known.items():
        alone = exact_pair.rows("target", [[*root, *context]], warp)[0].numpy()
        assert row == pytest.approx(alone, abs=1e-12)  # passes of other shapes sum in another order


def test_errors_are_of_trees_and_spreads_of_contexts() -> None:
    exact = AlongText.of(np.array([[2.0], [4.0]]), 5.0)
    assert (exact.error, exact.high) == (0.0, 3.0)
    assert exact.spread == pytest.approx(sqrt(2) / sqrt(2))
    trees = AlongText.of(np.array([[1.0, 3.0], [1.0, 3.0]]), 5.0)
    assert trees.error == pytest.approx(sqrt(2 / 4))
    assert trees.spread == trees.error  # contexts that look alike make nothing surer
    assert 2 < trees.high <= 5


def test_along_a_text_blocks_begin_where_they_are_short() -> None:
    easy, hard = 4, 2  # tokens a block in two kinds of stretches, equally long
    stretch = 100
    blocks = stretch / easy + stretch / hard
    assert along(np.array([easy, hard]), 0.0) == pytest.approx(2 * stretch / blocks)
    assert AlongText.of(np.array([[4.0], [2.0]]), 5.0).mean == pytest.approx(8 / 3)
    assert along(np.array([4.0, 2.0]), 1.0) == 3.0  # their errors alone could have made that difference
    assert 8 / 3 < along(np.array([4.0, 2.0]), 0.5) < 3.0


@pytest.mark.heavy
def test_hardly_ever_is_the_mean_above_the_upper_end_where_few_trees_tell() -> None:
    generator, missed = np.random.default_rng(0), 0
    shares = np.array([0.02, 0.05, 0.1])  # most trees of a context are alike, few differ much
    for _ in range(400):
        trees = 1 + 4 * (generator.random((2, 3)) < shares)
        missed += AlongText.of(trees.T.astype(float), 5.0).high < 1 + 4 * shares.mean()
    assert missed <= 20  # 2.5 % are 10; two standard errors above a mean of trees that are all alike miss most
