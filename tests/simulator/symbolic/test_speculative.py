"""Speculative sampling as it is installed with transformers, and as one would write it, under symbolic randomness."""

import inspect
import itertools

import numpy as np
import pytest

from draftproof.simulator.arithmetic import FLOAT64

torch = pytest.importorskip("torch")


def rows(seed, count, V):
    generator = np.random.default_rng(seed)
    return torch.tensor(generator.dirichlet(np.ones(V), size=count))


def first_token_law(follow, function, p, q, length):
    """Law of the first token over all drafts, and the number of runs."""
    V, runs = p.shape[1], 0
    total = np.zeros(V)
    for draft in itertools.product(range(V), repeat=length):
        weight = float(np.prod([q[i, token] for i, token in enumerate(draft)]))
        found = follow(lambda draft=draft: function(draft), arithmetic=FLOAT64)
        runs += found.runs
        for tokens, mass in found.law.items():
            total[tokens[0]] += weight * mass
    return total, runs


@pytest.fixture(scope="module")
def speculative():
    return pytest.importorskip("transformers.generation.utils")._speculative_sampling


def test_speculative_sampling_of_transformers_keeps_the_first_token_law(follow, speculative):
    L, V = 3, 3
    p, q = rows(1, L + 1, V), rows(2, L, V)

    def function(draft):
        tokens, _ = speculative(torch.tensor([draft]), q.log()[None], L, p.log()[None])
        return tokens[0].tolist()

    found, runs = first_token_law(follow, function, p, q, L)
    assert np.abs(found - p[0].numpy()).max() < 1e-12  # rounding of float64 sums
    assert 50 < runs < 2000  # one for each way that the decisions can go, not one for each draw


def test_ensemble_weight_biases_the_first_token(follow, speculative):
    if "assistant_ensemble_weight" not in inspect.signature(speculative).parameters:
        pytest.skip("this transformers has no ensemble verification")
    p, q = torch.tensor([[0.25, 0.75]] * 2).double(), torch.tensor([[0.75, 0.25]]).double()

    def function(draft):
        tokens, _ = speculative(torch.tensor([draft]), q.log()[None], 1, p.log()[None], assistant_ensemble_weight=0.5)
        return tokens[0].tolist()

    found, _ = first_token_law(follow, function, p, q, 1)
    # accepted with 1/2 + p/(2q) at most 1: token 0 keeps 3/4 * 2/3, the rest goes to token 1
    assert found == pytest.approx([0.5, 0.5], abs=1e-12)  # softmax of logarithms in float64


def test_a_tree_in_plain_python_is_enumerated_exactly(law, q):
    from random import random

    p, d = [q(1, 3), q(2, 3)], [q(2, 3), q(1, 3)]

    def function(draft):
        if random() < p[draft] / d[draft]:
            return draft
        return 1  # the residual is on token 1

    assert law(lambda: function(0)) == {0: q(1, 2), 1: q(1, 2)}
    assert law(lambda: function(1)) == {1: 1}
