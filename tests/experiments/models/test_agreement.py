"""The statistics of `model validate`: sums of squares by hand and by simulation."""

from math import exp

import numpy as np
import pytest

from draftproof.experiments.models.expect.expected import Expected, predict
from draftproof.experiments.models.loop.loop import Block
from draftproof.experiments.models.validate.agreement import (
    Agreement,
    ChiSquare,
    agreement,
    compare,
    pearson,
    table_chi_square,
)
from draftproof.simulator import Delayed, TableProcess
from draftproof.simulator.instances.case import Case
from draftproof.simulator.laws.metrics import moments
from draftproof.simulator.tables import context_at
from draftproof.verifiers import make


def tables(size, depth, seed, apart=1.0):
    generator = np.random.default_rng(seed)
    target, other = ([generator.dirichlet(np.ones(size), size**d) for d in range(depth + 1)] for _ in range(2))
    draft = [(1 - apart) * p + apart * q for p, q in zip(target, other, strict=True)]
    return Case("root", TableProcess(target, "target"), TableProcess(draft, "draft"))


def drawn(law, count, generator):
    """Blocks drawn from a law, without any verifier."""
    masses = np.concatenate([np.asarray(each, dtype=float).ravel() for each in law.correction])
    names = [
        Block(context_at(context, depth, law.vocab_size), token)
        for depth in range(law.depth + 1)
        for context in range(law.vocab_size**depth)
        for token in range(law.vocab_size)
    ]
    return [names[index] for index in generator.choice(len(masses), size=count, p=masses / masses.sum())]


def test_pearson_by_hand():
    found = pearson(np.array([30.0, 50.0, 20.0]), np.array([25.0, 50.0, 25.0]))
    assert found == ChiSquare(1 + 0 + 1, 2)
    assert found.p_value == pytest.approx(exp(-1))  # the tail of two degrees of freedom is exp(-x/2)


def test_rare_outcomes_count_together():
    found = pearson(np.array([80.0, 8.0, 12.0]), np.array([80.0, 9.0, 11.0]))
    assert found.freedom == 1  # 9 alone is too few, so the 11 joins it
    assert found.statistic == 0
    assert pearson(np.array([95.0, 5.0]), np.array([97.0, 3.0])) == ChiSquare(0, 0)


def test_what_cannot_happen_and_does_is_refuted():
    assert pearson(np.array([100.0, 0.0]), np.array([100.0, 0.0])) == ChiSquare(0, 0)
    for possible in ([100.0], [50.0, 50.0]):  # one leaves no degree of freedom, two leave one
        seen, means = np.array([*possible[1:], possible[0] - 1, 1.0]), np.array([*possible, 0.0])
        assert pearson(seen, means).p_value < 1e-100


def test_a_sum_of_squares_leaves_out_what_cannot_vary():
    cells = [Agreement(2.0, 2.2, 0.1, 100, ChiSquare(0, 0)), Agreement(3.0, 3.0, 0.0, 100, ChiSquare(0, 0))]
    assert table_chi_square(cells).freedom == 1
    assert table_chi_square(cells).statistic == pytest.approx(4)
    assert abs(Agreement(3.0, 2.9, 0.0, 100, ChiSquare(0, 0)).z) > 1e6  # a law without variance was broken


def test_comparisons_with_the_true_law_are_chi_square():
    pairs, scheme, generator = [tables(3, 2, 0), tables(3, 2, 1)], Delayed(2, 0, 2), np.random.default_rng(0)
    prediction = predict(make("traversal"), pairs, scheme)
    cells = [compare(prediction, [drawn(law, 400, generator) for law in prediction.laws]) for _ in range(300)]
    z = np.array([cell.z for cell in cells])
    # 300 draws of a standard normal: 4 standard errors of their mean and of their variance
    assert abs(z.mean()) < 4 / np.sqrt(300)
    assert abs(z.var() - 1) < 4 * np.sqrt(2 / 300)
    freedom = cells[0].outcomes.freedom
    assert freedom > 10
    statistics = np.array([cell.outcomes.statistic for cell in cells])
    assert abs(statistics.mean() - freedom) < 4 * np.sqrt(2 * freedom / 300)
    assert all(cell.agrees(300) for cell in cells)


def test_blocks_minus_their_own_expectations_are_standard_however_they_were_chosen():
    """The verifier of a block hangs on how the one before it ended, as a policy's choice may; errors add up."""
    generator, schemes = np.random.default_rng(0), (Delayed(1, 0, 2), Delayed(2, 0, 2))
    predictions = [predict(make("traversal"), [tables(3, 2, 0)], scheme) for scheme in schemes]
    pools = [iter(drawn(prediction.laws[0], 300 * 60, generator)) for prediction in predictions]
    z, wrong = [], []
    for _ in range(300):
        taken = [[], []]
        deep = 0
        for _ in range(60):
            block = next(pools[deep])
            taken[deep].append(block)
            deep = int(block.depth > 0)
        z.append(agreement(predictions, taken).z)
        wrong.append(agreement(predictions[::-1], taken).z)
    # 300 draws of a standard normal: 4 standard errors of their mean and of their variance
    assert abs(np.mean(z)) < 4 / np.sqrt(300)
    assert abs(np.var(z) - 1) < 4 * np.sqrt(2 / 300)
    assert abs(np.mean(wrong)) > 4 / np.sqrt(300)


def test_a_prediction_from_trees_adds_its_own_error():
    sampled = Expected(np.array([[2.0, 4.0], [3.0, 3.0]]), np.array([1.0, 2.0]), 3)
    blocks = [[Block((0, 0), 0)] * 3, [Block((0, 0), 0)]]
    found = agreement([sampled], blocks)
    assert (found.predicted, found.measured) == (3, 3)
    # (3 * 1 + 2) / 4**2 of the blocks; the mean after the first context has the variance 2 / 2
    assert found.standard_error == pytest.approx(np.sqrt(5 / 16 + (3 / 4) ** 2))


def test_the_same_efficiency_with_other_tokens_is_seen_in_the_outcomes():
    pair, scheme = tables(3, 2, 0, apart=0.6), Delayed(1, 0, 2)
    claim = predict(make("naive"), [pair], scheme)
    lie = predict(make("naive_from_target"), [pair], scheme)
    assert lie.mean == pytest.approx(claim.mean, abs=1e-12)
    found = compare(claim, [drawn(lie.laws[0], 4000, np.random.default_rng(0))])
    assert abs(found.z) < 4
    assert found.outcomes.p_value < 1e-6
    assert not found.agrees(1)


def test_the_error_of_a_mean_over_roots_is_that_within_roots():
    prediction = predict(make("naive"), [tables(3, 2, 0), tables(3, 2, 1)], Delayed(1, 0, 2))
    first, second = (float(moments(law.depth_distribution)[1]) for law in prediction.laws)
    found = compare(prediction, [drawn(law, 50, np.random.default_rng(0)) for law in prediction.laws])
    assert found.standard_error == pytest.approx(np.sqrt((first + second) / 4 / 50))
