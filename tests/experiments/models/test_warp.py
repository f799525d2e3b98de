"""From logits to distributions: temperature, top-k, top-p."""

import pytest
import torch
from transformers.generation.logits_process import (
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from draftproof.simulator.instances.sampling import Sampling

LOGITS = torch.randn(50, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(3)) * 3


def by_transformers(logits: torch.Tensor, warp: Sampling) -> torch.Tensor:
    steps = LogitsProcessorList([TemperatureLogitsWarper(warp.temperature)])
    if warp.top_k is not None:
        steps.append(TopKLogitsWarper(warp.top_k))
    if warp.top_p is not None:
        steps.append(TopPLogitsWarper(warp.top_p))
    return steps(torch.zeros(len(logits), 1, dtype=torch.long), logits).softmax(dim=-1)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 1.7])
@pytest.mark.parametrize("top_k", [None, 1, 5, 30, 100])
@pytest.mark.parametrize("top_p", [None, 0.05, 0.5, 0.9, 1.0])
def test_rows_are_those_of_transformers(temperature: float, top_k: int | None, top_p: float | None) -> None:
    warp = Sampling(temperature, top_k, top_p)
    rows, theirs = warp.of_logits(LOGITS), by_transformers(LOGITS, warp)
    assert torch.equal(rows > 0, theirs > 0)
    # Two softmaxes in float64, one over all tokens and one over those that are left.
    assert (rows - theirs).abs().max() < 1e-14
    assert (rows.sum(dim=-1) - 1).abs().max() < 1e-14


def test_rows_keep_shape_and_are_float64_unless_told_otherwise() -> None:
    logits = torch.zeros(2, 3, 4, dtype=torch.bfloat16)
    assert torch.equal(Sampling().of_logits(logits), torch.full((2, 3, 4), 0.25, dtype=torch.float64))
    assert Sampling().of_logits(logits, torch.float32).dtype == torch.float32


def test_temperature_zero_takes_the_lowest_of_the_largest_logits() -> None:
    logits = torch.tensor([[1.0, 3.0, 3.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    assert Sampling(0).of_logits(logits).tolist() == [[0, 1, 0, 0], [1, 0, 0, 0]]
    assert Sampling(0, top_k=2, top_p=0.5).of_logits(logits).tolist() == [[0, 1, 0, 0], [1, 0, 0, 0]]


@pytest.mark.parametrize("temperature", [1e-3, 1e-300, 5e-324])
def test_temperatures_close_to_zero_share_the_mass_among_the_largest_logits(temperature: float) -> None:
    rows = Sampling(temperature).of_logits(torch.tensor([[1.0, 30.0, -torch.inf, 30.0]], dtype=torch.float64))
    assert rows.tolist() == [[0, 0.5, 0, 0.5]]


def test_top_k_keeps_every_token_that_equals_the_last_one_kept() -> None:
    third = pytest.approx(1 / 3, abs=1e-15)  # a softmax of equal logits
    assert Sampling(top_k=2).of_logits(torch.tensor([2.0, 2.0, 1.0, 2.0])).tolist() == [third, third, 0, third]


def test_probability_zero_stays_zero() -> None:
    logits = torch.tensor([0.0, -torch.inf, 0.0])
    assert Sampling(top_p=1.0).of_logits(logits).tolist() == [0.5, 0, 0.5]
    assert Sampling(top_p=0.9).of_logits(logits)[1] == 0
