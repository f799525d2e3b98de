"""Intervals of sampled predictions hold the truth as often as they say; what does not is noticed."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import predict, sampled
from draftproof.experiments.models.expect.mean_interval import mean_interval
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator import Delayed
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make


@pytest.mark.parametrize("count", [1, 2, 8, 30])
def test_means_of_zeros_and_ones_are_held_as_often_as_said_exactly(count: int) -> None:
    """The probability that the interval holds the truth, summed over all counts of ones, at many truths."""
    found = [mean_interval([1] * ones + [0] * (count - ones), 0, 1) for ones in range(count + 1)]
    for truth in np.linspace(0.01, 0.99, 99):
        held = sum(binom.pmf(ones, count, truth) for ones, (low, high) in enumerate(found) if low <= truth <= high)
        assert held >= 0.95


def test_half_of_that_interval_is_not_enough_at_some_truth() -> None:
    worst, count = 1.0, 30
    found = [mean_interval([1] * ones + [0] * (count - ones), 0, 1) for ones in range(count + 1)]
    for truth in np.linspace(0.01, 0.99, 99):
        centres = [((low + high) / 2, (high - low) / 4) for low, high in found]
        held = sum(
            binom.pmf(ones, count, truth) for ones, (centre, half) in enumerate(centres) if abs(centre - truth) <= half
        )
        worst = min(worst, held)
    assert worst < 0.9


def test_the_interval_shrinks_with_more_numbers_and_keeps_to_its_range() -> None:
    numbers = np.tile([1.5, 2.0, 2.5, 3.0], 64)
    widths = [np.diff(mean_interval(numbers[:count], 1, 3))[0] for count in (8, 32, 128, 256)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < widths[0] / 4
    low, high = mean_interval([3.0] * 8, 1, 3)
    assert 1 < low < 2.7
    assert high == pytest.approx(3)  # halvings of the range
    assert mean_interval([3.0] * 8, 1, 3, 0.5)[0] > low
    assert mean_interval([1.0] * 8, 1, 1) == (1, 1)  # trees without drafts


@pytest.mark.heavy
def test_intervals_of_predictions_hold_the_exact_block_efficiency(random_pair: Callable[..., Pair]) -> None:
    """On a draft that is mostly right: nearly all trees have the same mean, and a normal interval is too narrow."""
    pair, scheme, roots = random_pair(noise=0.01), Delayed(2, 0, 2), ((1, 2, 3), (3, 1, 5, 2))
    verifier = make("traversal")
    contexts = Contexts(pair, Sampling(), roots)
    truth, held, normal = predict(verifier, contexts.cases(scheme.depth), scheme).mean, 0, 0
    for seed in range(200):
        found = sampled(verifier, scheme, contexts, 8, np.random.default_rng(seed))
        low, high = found.interval()
        held += low <= truth <= high
        normal += abs(found.mean - truth) <= 1.96 * found.error
    fewest = binom.ppf(0.001, 200, 0.95)  # fewer hits are an accident of one in a thousand where 95 % hold
    assert normal < fewest <= held
