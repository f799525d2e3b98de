"""Layers that are sampled, beside the exact law of the same shape."""

import numpy as np
import pytest

from draftproof.simulator import Delayed, Instance, block_law
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.laws.structured import TableRows
from draftproof.simulator.laws.structured.layered import sampled_depths
from draftproof.verifiers import make

#: Sums of a few products of numbers of at most 1.
ROUNDING = 1e-11


def test_a_sampled_last_layer_is_the_exact_one_within_its_error():
    instance = FAMILIES["dirichlet"].instance(3, 3, np.random.default_rng(2), 2**16)
    floats = Instance.of(instance.target, instance.draft, 3, FLOAT64)
    rows, scheme = TableRows.of(floats.target, floats.draft), Delayed(3, 0, 3)
    structure = make("layer_transport").structure
    exact = block_law(make("layer_transport"), instance.target, instance.draft, scheme, "float64", "structured")
    depths, error = sampled_depths(structure, rows, scheme, 4000, np.random.default_rng(0))
    wanted = [sum(exact.depth_distribution[depth:]) for depth in range(4)]
    assert np.allclose(depths[:3], wanted[:3], rtol=0, atol=ROUNDING)
    assert 0 < error < 0.01
    assert abs(depths[3] - wanted[3]) <= 4 * error


@pytest.mark.parametrize("shape", [(2, 1, 1), (2, 0, 2), (1, 0, 2)], ids=str)
def test_a_sampled_layer_comes_after_the_same_states_as_the_exact_one(shape):
    instance = FAMILIES["dirichlet"].instance(3, 2, np.random.default_rng(2), 2**16)
    floats, scheme = Instance.of(instance.target, instance.draft, 2, FLOAT64), Delayed(*shape)
    exact = block_law(make("layer_transport"), instance.target, instance.draft, scheme, "float64", "structured")
    rows, structure = TableRows.of(floats.target, floats.draft), make("layer_transport").structure
    depths, error = sampled_depths(structure, rows, scheme, 1000, np.random.default_rng(0))
    wanted = [sum(exact.depth_distribution[depth:]) for depth in range(3)]
    assert np.allclose(depths[:2], wanted[:2], rtol=0, atol=ROUNDING)
    assert abs(depths[2] - wanted[2]) <= 4 * error
