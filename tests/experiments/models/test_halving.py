"""Successive halving in `choose`: who goes on, whose intervals, in which order, and what is recommended."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest

from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.models.expect.expected import AlongText
from draftproof.experiments.models.loop.setting import setting
from draftproof.experiments.models.measure.choose import Candidate, recommendation
from draftproof.experiments.models.measure.halving import (
    PLAIN_EVERY,
    Halving,
    beside_plain,
    going_on,
    successive_halving,
    turns_of,
)
from draftproof.experiments.models.measure.rounds import Turn, ratio
from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.models.pair.warp import Warp
from draftproof.simulator import Delayed

EXPECTED = AlongText(1.0, 0.0, 0.0, 1.0)


def test_after_a_round_the_slower_half_is_out() -> None:
    assert [going_on(count) for count in (3, 6, 7, 12, 40)] == [3, 6, 6, 6, 20]
    assert turns_of(20, 3) == 2 + 20 + 1 + 10 + 1 + 6


def test_plain_generation_runs_among_the_others_and_its_turns_are_one(exact_pair: Pair) -> None:
    assert beside_plain("abc") == [None, *"abc"]
    assert beside_plain(range(14)) == [None, *range(12), None, 12, 13]
    players = [(find_verifier("naive"), Delayed(1, 0, 1))] * (PLAIN_EVERY + 1)
    found = successive_halving(setting(exact_pair, Warp(), [(0,), (1,)], 0), players, [EXPECTED] * len(players), 3, 2)
    plain = found.turns[None]
    assert [each.tokens for each in plain] == [
        2 * 2 * 3,
        2 * 3,
    ]  # texts of three tokens after two roots, twice at first
    assert [len(found.turns[number]) for number in range(len(players))].count(2) == going_on(len(players))
    assert found.block(None) == pytest.approx(sqrt(found.block(None, 1) * found.blocks[None][1]))
    assert found.measured(0) == pytest.approx(
        sqrt(found.turns[0][0].rate * found.turns[0][1].rate) if len(found.turns[0]) > 1 else found.turns[0][0].rate
    )
    both = Turn.joined([Turn(1, 2, 3.0, {"draft": 4.0, "verify": 5.0}), Turn(10, 20, 30.0, {"draft": 40.0})])
    assert both == Turn(11, 22, 33.0, {"draft": 44.0, "verify": 5.0})


def halving_of(*rates: list[float]) -> Halving:
    made = Halving([EXPECTED] * (len(rates) - 1))
    for number, values in enumerate(rates, -1):
        for value in values:
            made.add(None if number < 0 else number, [Turn(int(1e6), int(1e6), 1e6 / value)])
    return made


WORTH = [Candidate(find_verifier("naive"), Delayed(1, 0, 1), 2.0, EXPECTED, 1.0, 1.0, 1.0, 1.0)] * 3


def test_intervals_are_those_of_paired_rounds() -> None:
    made = halving_of([10.0, 20.0, 40.0], [20.0, 40.0, 80.0])  # twice as fast in every round, whatever the machine does
    assert made.ratio(0) == pytest.approx((2.0, 2.0, 2.0))
    apart = halving_of([1.0, 1.0, 1.0], [exp(1), exp(2), exp(3)])
    half = 4.3026527 / sqrt(3)  # Student's quantile for three rounds, and a deviation of 1
    assert apart.ratio(0) == pytest.approx((exp(2), exp(2 - half), exp(2 + half)))
    early = halving_of([10.0, 10.0, 10.0], [20.0, 20.0, 20.0], [30.0, 30.0])  # out after two rounds
    assert early.order == [0]
    assert early.ratio(1)[0] == pytest.approx(3.0)


def test_the_order_is_by_expected_tokens_over_measured_seconds() -> None:
    made = halving_of([10.0, 10.0], [20.0, 20.0], [25.0, 25.0])
    made.expected = [AlongText(2.0, 0.0, 0.0, 2.0), EXPECTED]  # the second one was lucky with its tokens
    assert made.order == [0, 1]
    assert (made.rate(0), made.measured(0)) == pytest.approx((40.0, 20.0))
    assert made.ratio(0) == pytest.approx((4.0, 4.0, 4.0))
    assert made.ratio(0, 1)[0] == pytest.approx(40 / 25)


def test_what_is_not_known_of_expected_tokens_widens_the_interval() -> None:
    made = halving_of([10.0, 10.0], [20.0, 20.0])
    made.expected = [AlongText(2.0, 0.0, 0.2, 2.0)]
    assert made.ratio(0) == pytest.approx((4.0, 4.0 * exp(-1.96 * 0.1), 4.0 * exp(1.96 * 0.1)))


def test_a_moment_of_something_else_does_not_move_the_median_text() -> None:
    made = Halving([EXPECTED])
    for number in (None, 0):
        made.add(number, [Turn(10, 10, seconds) for seconds in (1.0, 1.0, 30.0)])
        made.add(number, [Turn(10, 10, 1.0)] * 3)
    assert made.rate(0) == made.rate(None) == pytest.approx(10.0)
    assert made.measured(0) < 10


def test_the_recommendation_says_when_nothing_is_gained_and_what_is_as_good() -> None:
    plain = [10.0, 10.1, 9.9]
    assert recommendation(halving_of(plain, [5.0, 5.1, 4.9]), WORTH).startswith("no speculation: the best, naive on")
    clear = recommendation(halving_of(plain, [20.0, 20.1, 19.9], [12.0, 12.1, 11.9]), WORTH)
    assert clear.startswith(f"naive on {WORTH[0].scheme}: 2.00 times")
    assert "not told apart" not in clear
    assert "not told apart from it" in recommendation(halving_of(plain, [20.0, 22.0, 18.0], [19.9, 22.0, 18.1]), WORTH)
    unsure = recommendation(halving_of(plain, [5.0, 5.1, 4.9], [4.0, 1.0, 16.0]), WORTH)
    assert unsure.endswith(f"; open, whether faster than plain generation: naive on {WORTH[0].scheme}")
    assert "is open" in recommendation(halving_of(plain, [9.0, 12.0, 10.5]), WORTH)


def test_the_interval_of_a_ratio_is_of_paired_rounds() -> None:
    assert ratio([20.0, 40.0], [10.0, 20.0]) == pytest.approx((2, 2, 2))
    half = 12.7062047 * np.std([1, 3], ddof=1) / np.sqrt(2)  # Student's quantile for two rounds
    expected = np.exp([2, 2 - half, 2 + half])
    assert ratio([np.exp(1), np.exp(3)], [1.0, 1.0]) == pytest.approx(tuple(expected))
