"""Seconds by part, and the times of measured passes."""

import numpy as np
import pytest
import torch

from draftproof.experiments.inputs.latency import TimeModel, block_time, time_model
from draftproof.experiments.models.loop import caches, reading, timing
from draftproof.experiments.models.loop.loop import Loop
from draftproof.experiments.models.loop.timing import Stopwatch
from draftproof.experiments.models.measure.passes import measure_passes, measured_times
from draftproof.simulator import Delayed, InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.verifiers import make


def test_times_can_be_given_to_compare(random_pair, tmp_path):
    file, schemes = tmp_path / "cost.json", (Delayed(3, 2, 2), Delayed(1, 3, 0), Delayed(1, 0, 0), Delayed(4, 1, 3))
    measured = measured_times(random_pair(), 16, schemes, repetitions=2)
    file.write_text(measured.text(str(file)), encoding="utf-8")
    cost = time_model(str(file))
    assert cost == measured
    assert sorted(cost.draft) == [1, 2, 3, 4, 8]
    assert sorted(cost.target) == [0, 3, 7, 8, 13, 15, 31]  # the root is no draft
    assert all(cost.time(scheme.as_dict()) > 0 for scheme in schemes)


def test_the_loop_makes_the_passes_that_are_counted(random_pair, monkeypatch):
    passes = []
    pair = random_pair()

    def forward(model, before, tokens, *rest):
        passes.extend([tokens.shape[1]] * (model is pair.draft))
        return caches.forward(model, before, tokens, *rest)

    monkeypatch.setattr(reading, "forward", forward)
    for shape in ((3, 2, 2), (3, 0, 2), (1, 3, 0), (2, 1, 1), (1, 0, 0), (4, 1, 3)):
        scheme = Delayed(*shape)
        loop, way = Loop(pair, Sampling()), (make("naive_tree"), scheme)
        state = loop.start([1, 2, 3])
        passes.clear()
        loop.step(state, *way, SamplingCoin(np.random.default_rng(0)))
        # Times of one for a single token, 100 for several, nothing for the target.
        counted = block_time(*shape, draft=lambda tokens: 1.0 if tokens == 1 else 100.0, target=lambda _: 0.0)
        assert counted == sum(1 if tokens == 1 else 100 for tokens in passes)


def test_times_that_cost_would_refuse_are_not_written():
    with pytest.raises(InvalidInput, match="must take more than 0"):
        TimeModel({1: 1.0}, {0: 0.0, 4: 1.0}, open_ended=False).text("cost.json")
    with pytest.raises(InvalidInput, match="have no file format"):
        time_model("draft=1,target=2").text("cost.json")


def test_contexts_beyond_the_positions_are_refused(random_pair):
    pair = random_pair(family="GPT2")
    with pytest.raises(InvalidInput, match="reads 64 tokens at most"):
        measure_passes(pair, pair.target, 64, (1,), repetitions=1)


def test_watches_go_by_the_clock_that_was_chosen(monkeypatch):
    monkeypatch.setitem(timing.CLOCKS, "processor", lambda: 7.0)
    with timing.measured_by("processor", "cpu"):
        inside = Stopwatch()
    assert inside.now() == 7.0
    assert Stopwatch().now() != 7.0
    with (
        pytest.raises(InvalidInput, match="unknown clock 'sun'; choose wall or processor"),
        timing.measured_by("sun", "cpu"),
    ):
        pass
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    with pytest.raises(InvalidInput, match="one thread of a CPU"), timing.measured_by("processor", "cpu"):
        pass
