"""Successive halving in `choose`: who goes on, whose intervals, in which order, and what is recommended."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.models.expect.expected import AlongText
from draftproof.experiments.models.loop.setting import Setting, setting
from draftproof.experiments.models.measure.choose import (
    Candidate,
    Forecast,
    generate_call,
    misfits,
    recommendation,
)
from draftproof.experiments.models.measure.estimate import BlockTokens, Rounds, median_interval
from draftproof.experiments.models.measure.halving import (
    BASELINE_EVERY,
    Amount,
    baselines,
    kept_after_round,
    round_order,
    sizes_of,
    successive_halving,
)
from draftproof.experiments.models.measure.rounds import Turn, ratio
from draftproof.experiments.models.measure.writers import (
    ASSISTED,
    GENERATE,
    LOOP,
    ignored_generation_settings,
    plain_ways,
    plain_writers,
    timed_text,
)
from draftproof.experiments.models.pair.heads import new_head
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator import Delayed
from draftproof.simulator.instances.sampling import Sampling

EXPECTED = AlongText(1.0, 0.0, 0.0, 1.0)
NAIVE, ONE = find_verifier("naive"), Delayed(1, 0, 1)


def writers(where: Setting, *ways: Any) -> dict[Any, Any]:
    """The plain ways by name, and the candidates by number."""
    named = [way for way in ways if isinstance(way, str)]
    return {way: (where, way) for way in named} | {
        number: (where, way) for number, way in enumerate(ways[len(named) :])
    }


def test_after_a_round_the_slower_half_is_out() -> None:
    assert [kept_after_round(count) for count in (3, 6, 7, 12, 40)] == [3, 6, 6, 6, 20]
    assert sizes_of(20, 3) == [20, 10, 6]
    assert [baselines(size) for size in sizes_of(20, 3)] == [2, 1, 1]


def test_generate_runs_among_the_others_and_its_turns_are_one(exact_pair: Pair) -> None:
    assert round_order("abc", [GENERATE, LOOP]) == [LOOP, GENERATE, *"abc"]
    assert round_order(range(14), [GENERATE]) == [GENERATE, *range(12), GENERATE, 12, 13]
    combinations = [(NAIVE, ONE)] * (BASELINE_EVERY + 1)
    where = setting(exact_pair, Sampling(), [(0,), (1,)], 0)
    with ignored_generation_settings(where):
        found = successive_halving(
            writers(where, GENERATE, LOOP, *combinations), [EXPECTED] * len(combinations), Amount(2, 3, 2)
        )
    # a text of three tokens after either root, twice at first
    assert [[each.tokens for each in texts] for texts in found.texts[GENERATE]] == [[6, 6], [3, 3]]
    assert [[each.tokens for each in texts] for texts in found.texts[LOOP]] == [[3, 3], [3, 3]]
    assert [len(found.texts[number]) for number in range(len(combinations))].count(2) == kept_after_round(
        len(combinations)
    )
    both = Turn.joined([Turn(1, 2, 3.0, {"draft": 4.0, "verify": 5.0}), Turn(10, 20, 30.0, {"draft": 40.0}, 7)])
    assert both == Turn(11, 22, 33.0, {"draft": 44.0, "verify": 5.0}, 7)


def test_rounds_that_are_kept_are_not_measured_again(exact_pair: Pair) -> None:
    where, kept, made = setting(exact_pair, Sampling(), [(0,), (1,)], 0), dict[str, Any](), list[int]()

    def step(about: Mapping[str, Any], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if str(about) not in kept:
            made.append(about["round"])
            kept[str(about)] = make()
        return dict(kept[str(about)])

    def run(rounds: int) -> Rounds:
        with ignored_generation_settings(where):
            return successive_halving(writers(where, GENERATE, (NAIVE, ONE)), [EXPECTED], Amount(2, 3, rounds), step)

    first, again = run(2), run(3)
    assert made == [0, 1, 2]
    assert first.texts[0] == again.texts[0][:2]


def test_every_way_writes_as_many_tokens_as_asked_for_whatever_the_model_stops_at(random_pair: Any) -> None:
    pair = random_pair()
    pair.target.generation_config.eos_token_id = list(range(8))  # so that `generate` would stop at once
    where = setting(pair, Sampling(), [(1, 2, 3)], 0)
    with ignored_generation_settings(where):
        seconds, why = plain_ways(plain_writers(where), 9)
        assert (set(seconds), why) == ({GENERATE, LOOP, ASSISTED}, [])
        for way in (*seconds, (NAIVE, Delayed(1, 0, 4))):
            assert timed_text(where, way, 9, 0, 0).written == 9
    assert pair.target.generation_config.eos_token_id == list(range(8))


def test_a_draft_that_reads_features_is_timed_in_generate_and_has_no_assisted_generation(random_pair: Any) -> None:
    pair = random_pair()
    where = setting(
        replace(pair, draft=new_head(pair.target, 0).eval().requires_grad_(False)), Sampling(), [(1, 2, 3)], 0
    )
    with ignored_generation_settings(where):
        seconds, why = plain_ways(plain_writers(where), 6)
        assert set(seconds) == {GENERATE, LOOP}
        assert why[0].startswith("assisted generation of transformers is not measured")
        assert timed_text(where, (NAIVE, Delayed(2, 0, 2)), 6, 0, 0).written == 6


def rounds_of(*rates: Sequence[float], roots: int = 2, expected: Sequence[AlongText] | None = None) -> Rounds:
    """Of `generate` and candidates, with one token a block; every text of a round is as quick."""
    made = Rounds(expected or [EXPECTED] * (len(rates) - 1), list(range(len(rates))))
    for number, values in enumerate(rates, -1):
        who: int | str = GENERATE if number < 0 else number
        for value in values:
            made.texts.setdefault(who, []).append([Turn(1000, 1000, 1000 / value, {}, 1000)] * roots)
    return made


def test_tokens_a_block_along_a_text_are_a_harmonic_mean() -> None:
    assert AlongText.of(np.array([[1.0], [2.0]]), 3.0).mean == pytest.approx(4 / 3)


WORTH = [Candidate(NAIVE, ONE, 2.0, EXPECTED, 1.0, 1.0, 1.0, 1.0)] * 3


def test_intervals_are_those_of_texts_side_by_side() -> None:
    made = rounds_of([10.0, 20.0, 40.0], [20.0, 40.0, 80.0])  # twice as fast in every round, whatever the machine does
    assert made.ratio(0) == pytest.approx((2.0, 2.0, 2.0))
    apart = rounds_of([1.0, 1.0, 1.0], [exp(1), exp(2), exp(3)], roots=1)
    half = 4.3026527 / sqrt(3)  # Student's quantile for three texts, and a deviation of 1
    assert apart.ratio(0) == pytest.approx((exp(2), exp(2 - half), exp(2 + half)))
    early = rounds_of([10.0, 10.0, 10.0], [20.0, 20.0, 20.0], [30.0, 30.0])  # out after two rounds
    assert early.order == [0]
    assert early.ratio(1).mean == pytest.approx(3.0)
    assert early.rate(1) == pytest.approx(30)


def test_ratios_between_candidates_are_those_of_the_ranking() -> None:
    made = rounds_of([1.0] * 3, [1.0, 4.0, 2.0], [1.8, 3.0, 1.9], roots=2)  # medians 2 and 1.9; of the ratios 0.95
    assert made.order == [0, 1]
    found = made.ratio(1, 0)
    assert found.mean == pytest.approx(1.9 / 2)
    assert (found.low, found.high) == pytest.approx((0.75, 1.8))
    assert made.ratio(0, 1).mean == pytest.approx(1 / found.mean)


def test_the_interval_of_a_median_holds_it_as_often_as_it_says() -> None:
    assert median_interval(range(6)) == (2.5, 0, 5)
    assert median_interval(range(20)) == (9.5, 5, 14)
    draws = np.random.default_rng(0).exponential(size=(2000, 9))
    found = [median_interval(each) for each in draws]
    assert 0.95 < np.mean([low <= log(2) <= high for _, low, high in found]) < 0.98  # 0.961


def test_a_moment_of_something_else_does_not_move_the_estimate() -> None:
    made = rounds_of([10.0] * 4, [10.0] * 4)
    made.texts[0][1] = [Turn(10, 10, 30.0, {}, 10)] * 2
    assert made.rate(0) == made.rate(GENERATE) == pytest.approx(10.0)
    assert made.measured(0) < 10


def measured_blocks(means: Sequence[float], spread: float, by_context: Sequence[float], mean: float) -> BlockTokens:
    """A text of 100 blocks after each root."""
    expected = AlongText(mean, 0.0, spread, 9.0, tuple(by_context))
    texts = [[Turn(round(100 * each), 100, 1.0, {}, round(100 * each)) for each in means]]
    return Rounds([expected], [ONE], {0: texts}).block_tokens(0)


def test_what_is_expected_and_what_was_measured_are_weighed_by_their_variances() -> None:
    means = [1.9, 2.1, 2.0, 2.0]
    variance = sum((each - 2) ** 2 for each in means) / 3 / 4
    made = measured_blocks(means, sqrt(variance), [3.0] * 4, 3.0)
    assert made.level.weight == pytest.approx(0.5)
    assert made.mean == pytest.approx(2.5)
    assert made.error == pytest.approx(sqrt(variance / 2))
    assert made.misfit == pytest.approx(-0.5 / sqrt(2 * variance))
    assert measured_blocks(means, 0.0, [3.0] * 4, 3.0).mean == 3.0
    assert measured_blocks(means, 100.0, [3.0] * 4, 3.0).mean == pytest.approx(2.0, abs=1e-4)


def test_the_interval_leaves_out_each_root_with_its_contexts_and_texts() -> None:
    means, contexts = [2.0, 2.0, 4.0, 4.0], [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    tokens = measured_blocks(means, 0.1, contexts, 2.0)
    weight = tokens.level.weight
    logs = [log(weight * 2 + (1 - weight) * (sum(means) - each) / 3) for each in means]
    assert tokens.without_roots() == pytest.approx(logs)
    made = Rounds([tokens.expected], [ONE], {0: list(map(list, tokens.texts))})
    made.texts[GENERATE] = [[Turn(100, 100, 1.0, {}, 100)] * 4]
    error = sqrt(3 / 4 * sum((each - np.mean(logs)) ** 2 for each in logs))
    found = made.ratio(0)
    assert log(found.mean / found.low) == pytest.approx(float(t.ppf(0.975, 3)) * error)


@pytest.mark.parametrize("roots", [4, 8, 16])
def test_intervals_speak_of_prompts_whose_blocks_take_other_times(roots: int) -> None:
    """Long prompts have slow blocks: all rounds after one prompt are no more than one prompt."""
    draw, spread, held = np.random.default_rng(roots), 0.3, 0
    wanted = 1 / exp(spread**2 / 2)  # all texts of `generate` in one second, those of the other in so much together
    for _ in range(200):
        slow, noise = np.exp(spread * draw.normal(size=roots)), np.exp(0.03 * draw.normal(size=(5, roots)))
        made = Rounds([AlongText(1.0, 0.0, 0.0, 1.0, (1.0,) * roots)], [ONE])
        for each in noise:
            texts = [Turn(32, 32, float(seconds), {}, 32) for seconds in slow * each]
            made.add({GENERATE: [Turn(32, 32, 1.0, {}, 32)] * roots, 0: texts})
        found = made.ratio(0)
        held += found.low <= wanted <= found.high
    assert 0.9 <= held / 200 <= 1


def test_the_ratio_is_that_of_all_texts_together() -> None:
    made = Rounds([AlongText(1.0, 0.0, 0.0, 1.0, (1.0,) * 4)], [ONE])
    for _ in range(3):
        own = [Turn(10, 10, seconds, {}, 10) for seconds in (1.0, 1.0, 1.0, 7.0)]
        made.add({GENERATE: [Turn(10, 10, 1.0, {}, 10)] * 4, 0: own})
    assert made.ratio(0).mean == pytest.approx(4 / 10)
    assert made.measured(0) / made.measured(GENERATE) == pytest.approx(4 / 10)


def test_what_was_behind_the_end_of_texts_does_not_count() -> None:
    made = rounds_of([10.0] * 3, [10.0] * 3)
    made.texts[0] = [[Turn(1000, 1000, 100.0, {}, 900)] * 2] * 3
    assert made.ratio(0) == pytest.approx((0.9, 0.9, 0.9))


def test_candidates_with_one_law_share_their_blocks_and_differ_by_their_seconds_alone() -> None:
    law = AlongText(2.0, 0.0, 0.1, 2.0, (1.9, 2.1, 2.0, 2.0))
    other = AlongText(2.0, 0.0, 0.1, 2.0, (2.1, 1.9, 2.0, 2.0))
    made = Rounds([law, law, other, law], [ONE, ONE, ONE, Delayed(1, 0, 2)])
    for number, lucky in enumerate((0, 20, 0, 0)):
        made.texts[number] = [
            [Turn(190 + lucky + each, 100, 1.0, {}, 190 + lucky + each) for each in (0, 10, 5, 5)]
        ] * 2
    made.texts[GENERATE] = [[Turn(100, 100, 1.0, {}, 100)] * 4] * 2
    assert [made.law_of(number) for number in range(4)] == [[0, 1], [0, 1], [2], [3]]
    assert made.ratio(0) == made.ratio(1)
    assert made.ratio(0, 1) == (1, 1, 1)
    assert made.ratio(0, 2).mean == pytest.approx(1)  # another law with the same mean, whatever blocks were drawn
    assert made.ratio(0, 2).low < 1 < made.ratio(0, 2).high


def test_a_deeper_tree_reads_no_less_for_blocks_of_bad_luck_and_what_does_not_fit_is_said() -> None:
    laws = [AlongText(mean, 0.0, 0.2, mean, (mean - 0.2, mean, mean, mean + 0.2)) for mean in (2.0, 2.1)]
    made = Rounds(laws, [Delayed(3, 0, 2), Delayed(3, 0, 3)])
    for number, tokens in enumerate((230, 220)):
        made.texts[number] = [[Turn(tokens + each, 100, 1.0, {}, tokens + each) for each in (0, 9, 3, 4)]] * 3
    made.texts[GENERATE] = [[Turn(100, 100, 1.0, {}, 100)] * 4] * 3
    shallow, deep = made.block_tokens(0).mean, made.block_tokens(1).mean
    assert deep / shallow == pytest.approx(2.1 / 2.0)
    assert 2.0 < shallow < 2.3  # texts were better than the contexts
    assert misfits(made, WORTH) == []
    made.texts[1] = [[Turn(tokens.tokens * 3, 100, 1.0, {}, 100) for tokens in texts] for texts in made.texts[1]]
    assert "6.72 tokens a block measured" in misfits(made, WORTH)[-1]


def test_the_recommendation_says_when_nothing_is_gained_and_what_is_as_good() -> None:
    plain = [10.0, 10.1, 9.9]
    slow = rounds_of(plain, [5.0, 5.1, 4.9])
    assert recommendation(slow, slow, WORTH).startswith("no speculation: the best, naive on")
    assert "generate_with" not in generate_call(slow, slow, WORTH, Sampling())
    clear = rounds_of(plain, [20.0, 20.1, 19.9], [12.0, 12.1, 11.9])
    assert recommendation(clear, clear, WORTH).startswith(f"naive on {WORTH[0].scheme}: 2.00 times")
    assert "not distinguishable" not in recommendation(clear, clear, WORTH)
    assert 'custom_generate=generate_with("naive", "delayed:K=1,L1=0,L2=1"), do_sample=True' in generate_call(
        clear, clear, WORTH, Sampling()
    )
    level = rounds_of(plain, [20.0, 22.0, 18.0], [19.9, 22.0, 18.1])
    assert "not distinguishable from it: naive on" in recommendation(level, level, WORTH)
    unsure = rounds_of(plain, [5.0, 5.1, 4.9], [4.0, 1.0, 16.0], roots=1)
    assert recommendation(unsure, unsure, WORTH).endswith(
        f"; open, whether faster than generate: naive on {WORTH[0].scheme}"
    )
    open_ = rounds_of(plain, [9.0, 12.0, 10.5])
    assert "is open" in recommendation(open_, open_, WORTH)
    assert "generate_with" in generate_call(open_, open_, WORTH, Sampling())


def test_the_seconds_of_the_speed_that_is_said_come_from_further_rounds_of_the_best_alone() -> None:
    law = AlongText(1.0, 0.0, 0.25, 1.0, (1.0,) * 4)
    rounds = rounds_of([10.0] * 3, [20.0] * 3, expected=[law])
    plain = [[Turn(36, 36, 7.2, {}, 36)] * 2] * 4
    confirmed = Rounds([law], [ONE], {GENERATE: plain, 0: [[Turn(36, 36, 4.5, {}, 36)] * 2] * 4}, rounds)
    assert rounds.ratio(0).mean == pytest.approx(2.0)
    assert confirmed.ratio(0).mean == pytest.approx(1.6)
    assert recommendation(rounds, confirmed, WORTH).startswith(f"naive on {WORTH[0].scheme}: 1.60 times")
    lower = Rounds([law], [ONE], {GENERATE: plain, 0: [[Turn(36, 36, 9.0, {}, 36)] * 2] * 4}, rounds)
    assert recommendation(rounds, lower, WORTH).startswith("no speculation")
    assert "generate_with" not in generate_call(rounds, lower, WORTH, Sampling())


def test_tokens_of_the_speed_that_is_said_come_from_all_texts() -> None:
    law = AlongText(2.0, 0.0, 0.25, 2.0, (2.0,) * 4)
    plain, texts = [[Turn(40, 40, 8.0, {}, 40)] * 2] * 4, [[Turn(60, 20, 4.0, {}, 60)] * 2] * 4
    rounds = Rounds([law], [ONE], {GENERATE: plain, 0: [[Turn(20, 20, 4.0, {}, 20)] * 2] * 4})
    confirmed = Rounds([law], [ONE], {GENERATE: plain, 0: texts}, rounds)
    assert confirmed.level.counts.shape == (8, 2, 2)
    assert (confirmed.level.counts.sum(axis=(0, 1)) == [640, 640]).all()  # one token a block, then three; two expected
    assert confirmed.level.factor == pytest.approx(1.0)
    assert confirmed.ratio(0).mean == pytest.approx(2.0)


def test_assisted_generation_of_transformers_is_a_candidate() -> None:
    made = rounds_of([10.0] * 3, [20.0] * 3)
    made.texts[ASSISTED] = [[Turn(1000, 1000, 1000 / 30, {}, 1000)] * 2] * 3
    assert recommendation(made, made, WORTH).startswith("assisted generation of transformers: 3.00 times")
    assert generate_call(made, made, WORTH, Sampling(0)) == (
        "target.generate(**inputs, assistant_model=draft, do_sample=False, max_new_tokens=..)"
    )


def test_a_forecast_is_corrected_where_it_was_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    made = Forecast(limit=1000.0)
    made.update(100.0, "at first")
    made.update(110.0, "nearly as before")
    made.update(300.0, "later")
    assert [round(total) for _, total in made.said] == [100, 300]
    assert "later: about 5 min to go, about 5 min in all (not about 2 min)" in capsys.readouterr().err
    assert not made.late(0.5)
    assert made.late(0.5, more=501.0)
    assert not Forecast().late(0.0, more=1e9)


def test_the_interval_of_a_ratio_is_of_paired_rounds() -> None:
    assert ratio([20.0, 40.0], [10.0, 20.0]) == pytest.approx((2, 2, 2))
    half = 12.7062047 * np.std([1, 3], ddof=1) / np.sqrt(2)  # Student's quantile for two rounds
    expected = np.exp([2, 2 - half, 2 + half])
    assert ratio([np.exp(1), np.exp(3)], [1.0, 1.0]) == pytest.approx(tuple(expected))
