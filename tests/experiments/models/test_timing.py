"""Seconds by part, and the latency model that is fitted to measured passes."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from draftproof.experiments.inputs.latency import TimeModel, block_time, time_model
from draftproof.experiments.models.loop import caches, reading, timing
from draftproof.experiments.models.loop.loop import Loop
from draftproof.experiments.models.loop.timing import PARTS, Stopwatch
from draftproof.experiments.models.measure.passes import Latency, Pass, PassTimes, fit_latency
from draftproof.simulator import Delayed, InvalidInput
from draftproof.simulator.coins import SamplingCoin
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make

TRUE = (3.0, 0.01, 0.5, 0.002)


def seconds(context: int, tokens: int) -> float:
    start, by_context, by_token, by_both = TRUE
    return start + by_context * context + by_token * tokens + by_both * context * tokens


EXACT = [Pass(context, tokens, seconds(context, tokens)) for context in (10, 100, 1000) for tokens in (1, 4, 16)]


def test_a_stopwatch_adds_up_each_part() -> None:
    ticks = count()
    watch = Stopwatch(clock=lambda: float(next(ticks)))
    for name in ("draft", "draft", "verify"):
        with watch.part(name):
            pass
    assert watch.seconds == {**dict.fromkeys(PARTS, 0.0), "draft": 2.0, "verify": 1.0}


def test_a_part_that_fails_is_counted() -> None:
    ticks = count()
    watch = Stopwatch(clock=lambda: float(next(ticks)))
    with pytest.raises(ZeroDivisionError), watch.part("target"):
        1 / 0  # noqa: B018
    assert watch.seconds["target"] == 1.0


def test_a_fit_finds_the_coefficients_of_exact_times() -> None:
    fit = PassTimes.fit(EXACT)
    assert fit.coefficients == pytest.approx(TRUE, rel=1e-9)  # least squares in float64
    assert fit.error < 1e-9
    assert fit.worst < 1e-9
    assert fit.at(50, 3) == pytest.approx(seconds(50, 3))


def test_a_fit_says_how_much_it_misses() -> None:
    disturbed = [
        Pass(each.context, each.read, each.seconds * (1.1 if at % 2 else 0.9)) for at, each in enumerate(EXACT)
    ]
    fit = PassTimes.fit(disturbed)
    assert 0.01 < fit.error < 0.15
    assert 0.05 < fit.worst < 0.25


def test_a_fit_needs_two_of_each() -> None:
    for few in (EXACT[:3], EXACT[::3]):
        with pytest.raises(InvalidInput, match="at least two"):
            PassTimes.fit(few)


@pytest.mark.parametrize(
    ("shape", "trunks", "branches"),
    [((3, 2, 2), 3, 1), ((3, 0, 2), 1, 1), ((1, 3, 0), 3, 0), ((2, 1, 1), 2, 0), ((1, 0, 0), 0, 0)],
)
def test_passes_of_a_block_are_counted(shape: tuple[int, int, int], trunks: int, branches: int) -> None:
    latency = Latency(PassTimes.fit(EXACT), PassTimes.fit(EXACT))
    scheme = Delayed(*shape)
    expected = trunks * seconds(64, 1) + branches * seconds(64, scheme.K) + seconds(64, scheme.nodes + 1)
    assert latency.block(scheme, 64) == pytest.approx(expected)


def test_times_can_be_given_to_compare(tmp_path: Path) -> None:
    file = tmp_path / "cost.json"
    latency = Latency(PassTimes.fit(EXACT), PassTimes.fit(EXACT))
    latency.times(64).save(str(file))
    cost = time_model(str(file))
    assert cost == latency.times(64)
    assert (max(cost.draft), max(cost.target)) == (16, 15)  # as far as passes were measured; the root is no draft
    for shape in ((3, 2, 2), (3, 0, 2), (1, 3, 0), (2, 1, 1), (1, 0, 0), (4, 1, 3)):
        scheme = Delayed(*shape)
        assert cost.time(scheme.as_dict()) == latency.block(scheme, 64)


def test_the_loop_makes_the_passes_that_are_counted(
    random_pair: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[int] = []
    pair = random_pair()

    def forward(model: Any, before: Any, tokens: Any, *rest: Any) -> Any:
        passes.extend([tokens.shape[1]] * (model is pair.draft))
        return caches.forward(model, before, tokens, *rest)

    monkeypatch.setattr(reading, "forward", forward)
    for shape in ((3, 2, 2), (3, 0, 2), (1, 3, 0), (2, 1, 1), (1, 0, 0), (4, 1, 3)):
        scheme = Delayed(*shape)
        loop = Loop(pair, make("naive_tree"), scheme, Sampling())
        state = loop.start([1, 2, 3])
        passes.clear()
        loop.blocks(state, SamplingCoin(np.random.default_rng(0)))
        # Times of one for a single token, 100 for several, nothing for the target.
        counted = block_time(*shape, draft=lambda tokens: 1.0 if tokens == 1 else 100.0, target=lambda _: 0.0)
        assert counted == sum(1 if tokens == 1 else 100 for tokens in passes)


def test_times_that_cost_would_refuse_are_not_saved(tmp_path: Path) -> None:
    file = tmp_path / "cost.json"
    with pytest.raises(InvalidInput, match="must take more than 0"):
        TimeModel({1: 1.0}, {0: 0.0, 4: 1.0}, open_ended=False).save(str(file))
    with pytest.raises(InvalidInput, match="have no file format"):
        time_model("draft=1,target=2").save(str(file))
    assert not file.exists()


def test_passes_of_a_pair_are_measured(random_pair: Callable[..., Any]) -> None:
    latency = fit_latency(random_pair(), (4, 40), (1, 4), (1, 8), repetitions=2)
    assert [(each.context, each.read) for each in latency.target.passes] == [(4, 1), (4, 8), (40, 1), (40, 8)]
    assert all(each.seconds > 0 for each in latency.draft.passes + latency.target.passes)
    assert latency.target.error < 1e-9  # four coefficients through four points


def test_contexts_beyond_the_positions_are_refused(random_pair: Callable[..., Any]) -> None:
    with pytest.raises(InvalidInput, match="reads 64 tokens at most"):
        fit_latency(random_pair(family="GPT2"), (4, 64))


def test_watches_go_by_the_clock_that_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(timing.CLOCKS, "processor", lambda: 7.0)
    with timing.measured_by("processor", "cpu"):
        inside = Stopwatch()
    assert inside.now() == 7.0
    assert Stopwatch().now() != 7.0
    assert Stopwatch(clock=lambda: 1.0).now() == 1.0
    with (
        pytest.raises(InvalidInput, match="unknown clock 'sun'; choose wall or processor"),
        timing.measured_by("sun", "cpu"),
    ):
        pass
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    with pytest.raises(InvalidInput, match="one thread of a CPU"), timing.measured_by("processor", "cpu"):
        pass
