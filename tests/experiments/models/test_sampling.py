"""From logits to distributions: temperature, top-k, top-p."""

import pytest
import torch

from draftproof.simulator.instances.sampling import Sampling


def test_temperature_zero_takes_the_lowest_of_the_largest_logits():
    logits = torch.tensor([[1.0, 3.0, 3.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    assert Sampling(0).of_logits(logits).tolist() == [[0, 1, 0, 0], [1, 0, 0, 0]]
    assert Sampling(0, top_k=2, top_p=0.5).of_logits(logits).tolist() == [[0, 1, 0, 0], [1, 0, 0, 0]]


@pytest.mark.parametrize("temperature", [1e-3, 1e-300, 5e-324])
def test_temperatures_close_to_zero_share_the_mass_among_the_largest_logits(temperature):
    rows = Sampling(temperature).of_logits(torch.tensor([[1.0, 30.0, -torch.inf, 30.0]], dtype=torch.float64))
    assert rows.tolist() == [[0, 0.5, 0, 0.5]]


def test_top_k_keeps_every_token_that_equals_the_last_one_kept():
    third = pytest.approx(1 / 3, abs=1e-15)  # a softmax of equal logits
    assert Sampling(top_k=2).of_logits(torch.tensor([2.0, 2.0, 1.0, 2.0])).tolist() == [third, third, 0, third]


def test_probability_zero_stays_zero():
    logits = torch.tensor([0.0, -torch.inf, 0.0])
    assert Sampling(top_p=1.0).of_logits(logits).tolist() == [0.5, 0, 0.5]
    assert Sampling(top_p=0.9).of_logits(logits)[1] == 0
