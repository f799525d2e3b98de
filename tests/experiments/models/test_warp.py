"""From logits to distributions: temperature, top-k, top-p."""

import pytest
import torch
from transformers.generation.logits_process import (
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from draftproof.experiments.models.pair.warp import Warp
from draftproof.simulator.errors import InvalidInput

LOGITS = torch.randn(50, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(3)) * 3


def by_transformers(logits: torch.Tensor, warp: Warp) -> torch.Tensor:
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
    warp = Warp(temperature, top_k, top_p)
    rows, theirs = warp.rows(LOGITS), by_transformers(LOGITS, warp)
    assert torch.equal(rows > 0, theirs > 0)
    # Two softmaxes in float64, one over all tokens and one over those that are left.
    assert (rows - theirs).abs().max() < 1e-14
    assert (rows.sum(dim=-1) - 1).abs().max() < 1e-14


def test_rows_keep_shape_and_are_float64_unless_told_otherwise() -> None:
    logits = torch.zeros(2, 3, 4, dtype=torch.bfloat16)
    assert torch.equal(Warp().rows(logits), torch.full((2, 3, 4), 0.25, dtype=torch.float64))
    assert Warp().rows(logits, torch.float32).dtype == torch.float32


def test_temperature_zero_takes_the_lowest_of_the_largest_logits() -> None:
    logits = torch.tensor([[1.0, 3.0, 3.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    assert Warp(0).rows(logits).tolist() == [[0, 1, 0, 0], [1, 0, 0, 0]]
    assert Warp(0, top_k=2, top_p=0.5).rows(logits).tolist() == [[0, 1, 0, 0], [1, 0, 0, 0]]


@pytest.mark.parametrize("temperature", [1e-3, 1e-300, 5e-324])
def test_temperatures_close_to_zero_share_the_mass_among_the_largest_logits(temperature: float) -> None:
    rows = Warp(temperature).rows(torch.tensor([[1.0, 30.0, -torch.inf, 30.0]], dtype=torch.float64))
    assert rows.tolist() == [[0, 0.5, 0, 0.5]]


def test_top_k_keeps_every_token_that_equals_the_last_one_kept() -> None:
    third = pytest.approx(1 / 3, abs=1e-15)  # a softmax of equal logits
    assert Warp(top_k=2).rows(torch.tensor([2.0, 2.0, 1.0, 2.0])).tolist() == [third, third, 0, third]


@pytest.mark.parametrize(
    ("top_p", "row"),
    [
        (0.5, [1, 0, 0, 0]),  # the first token alone has this mass
        (0.51, [2 / 3, 1 / 3, 0, 0]),
        (0.75, [2 / 3, 1 / 3, 0, 0]),
        (0.76, [4 / 7, 2 / 7, 1 / 7, 0]),  # of two equal tokens the lower one
        (0.875, [4 / 7, 2 / 7, 1 / 7, 0]),
        (0.88, [1 / 2, 1 / 4, 1 / 8, 1 / 8]),
        (1e-9, [1, 0, 0, 0]),
    ],
)
def test_top_p_keeps_tokens_while_the_mass_before_them_is_below_it(top_p: float, row: list[float]) -> None:
    logits = torch.tensor([0.5, 0.25, 0.125, 0.125], dtype=torch.float64).log()
    # Logarithms of powers of two are rounded.
    assert Warp(top_p=top_p).rows(logits).tolist() == pytest.approx(row, abs=1e-15)


def test_probability_zero_stays_zero() -> None:
    logits = torch.tensor([0.0, -torch.inf, 0.0])
    assert Warp(top_p=1.0).rows(logits).tolist() == [0.5, 0, 0.5]
    assert Warp(top_p=0.9).rows(logits)[1] == 0


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"temperature": -0.1}, "temperature -0.1 must be a number of at least 0"),
        ({"temperature": float("nan")}, "temperature nan"),
        ({"temperature": float("inf")}, "temperature inf"),
        ({"top_k": 0}, "top-k 0 must be at least 1"),
        ({"top_p": 0.0}, "top-p 0.0 must be above 0"),
        ({"top_p": 1.1}, "top-p 1.1 must be above 0 and at most 1"),
    ],
)
def test_values_out_of_range_are_named(fields: dict[str, float], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Warp(**fields)


def test_a_warp_says_what_it_does() -> None:
    assert str(Warp(0.7, 50, 0.9)) == "temperature 0.7, top-k 50, top-p 0.9"
    assert Warp().as_dict() == {"temperature": 1.0, "top_k": None, "top_p": None}
