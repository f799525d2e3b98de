"""A pair whose draft is sampled otherwise than its target: rows, trees and texts."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import Budget, expected
from draftproof.experiments.models.expect.tables import pair_tables
from draftproof.experiments.models.loop.loop import Loop, many_blocks
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator import Delayed
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling, Samplings
from draftproof.simulator.verdicts.lossless import check
from draftproof.verifiers import make
from tests.experiments.models.drawn import Recorder

APART = Samplings.of_options("top_p=.9", "temperature=.5")
ROOT, SCHEME = (1, 2, 0), Delayed(2, 0, 1)


def test_rows_and_tables_are_those_of_each_role(random_pair: Callable[..., Pair]) -> None:
    pair = random_pair(vocab=4, dtype=torch.float64)
    for role, own in (("target", Sampling(top_p=0.9)), ("draft", Sampling(0.5))):
        assert torch.equal(pair.rows(role, [ROOT], APART), pair.rows(role, [ROOT], own))
    target, draft = pair_tables(pair, APART, ROOT, 1)
    loop, verifier = Loop(pair, APART), Recorder("naive")
    loop.step(loop.start(ROOT).repeated(3), verifier, SCHEME, coin_for("numpy", 0))
    assert len(verifier.trees) == 3
    for root, *_ in verifier.trees:
        assert np.allclose(root.target, target.row(()), atol=1e-12)  # one pass over a tree, another over a text
        assert np.allclose(root.draft, draft.row(()), atol=1e-12)


def test_first_blocks_are_as_often_as_computed(random_pair: Callable[..., Pair]) -> None:
    pair, runs = random_pair(vocab=3, dtype=torch.float64), 4_000
    target, draft = pair_tables(pair, APART, ROOT, 1)
    exact = check(make("naive"), target, draft, SCHEME, FLOAT64.name)
    assert exact.lossless
    loop, way = Loop(pair, APART), (make("naive"), SCHEME)
    taken = np.mean([block.depth for block in many_blocks(loop, *way, ROOT, runs, coin_for("numpy", 1))])
    assert abs(taken + 1 - float(exact.block_efficiency)) < 5 / np.sqrt(runs) / 2  # five standard errors of a coin


@pytest.mark.parametrize("name", ["specinfer", "traversal", "gbv"])
def test_where_tables_are_too_large_means_are_of_trees_with_what_verifiers_are_told(
    random_pair: Callable[..., Pair], name: str
) -> None:
    pair, verifier = random_pair(vocab=4, dtype=torch.float64), make(name)
    told = Samplings.of_options("top_p=.9", "top_k=2", "draft")
    exact, other = (
        expected(verifier, SCHEME, Contexts(pair, sampling, [ROOT]), Budget(10_000, 2), np.random.default_rng(0)).mean
        for sampling in (told, Samplings.of_options("top_p=.9", "top_k=2"))
    )
    found = expected(verifier, SCHEME, Contexts(pair, told, [ROOT]), Budget(0, 600), np.random.default_rng(0))
    assert not found.exact
    # four standard errors; the means of verifiers that are told the truth are further away
    assert abs(found.mean - exact) < 4 * found.error < abs(exact - other)


def test_marginals_of_a_draft_are_sums_over_its_paths_and_only_tables_have_them(
    random_pair: Callable[..., Pair],
) -> None:
    pair, sampling = random_pair(vocab=3), Samplings.of_options("temperature=1.3", "temperature=.8,memory=0")
    plain = Samplings.of_options("temperature=1.3", "temperature=.8")
    (target, draft), (same, whole) = (pair_tables(pair, each, ROOT, 2) for each in (sampling, plain))
    assert np.array_equal(target.tables[2], same.tables[2])
    marginal = whole.row(()) @ whole.tables[1]
    assert draft.tables[1] == pytest.approx(np.tile(marginal, (3, 1)), abs=1e-12)  # sums of three products
    with pytest.raises(InvalidInput, match="memory=0 sums over all paths"):
        Loop(pair, sampling)
