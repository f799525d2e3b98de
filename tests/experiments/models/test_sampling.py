"""From logits to distributions, where they are equal, infinite, or divided by hardly anything."""

import pytest
import torch

from draftproof.simulator.instances.sampling import Sampling

INFINITE, THIRD = float("inf"), pytest.approx(1 / 3, abs=1e-15)  # a softmax of equal logits


@pytest.mark.parametrize(
    ("sampling", "logits", "row"),
    [
        (Sampling(0), [1.0, 3.0, 3.0, 2.0], [0, 1, 0, 0]),  # the lowest of the largest
        (Sampling(0, top_k=2, top_p=0.5), [0.0, 0.0, 0.0, 0.0], [1, 0, 0, 0]),
        *((Sampling(heat), [1.0, 30.0, -INFINITE, 30.0], [0, 0.5, 0, 0.5]) for heat in (1e-3, 1e-300, 5e-324)),
        (Sampling(top_k=2), [2.0, 2.0, 1.0, 2.0], [THIRD, THIRD, 0, THIRD]),
        (Sampling(top_p=1.0), [0.0, -INFINITE, 0.0], [0.5, 0, 0.5]),
        (Sampling(top_p=0.9), [0.0, -INFINITE, 0.0], [0.5, 0, 0.5]),
    ],
    ids=str,
)
def test_rows_of_logits(sampling, logits, row):
    assert sampling.of_logits(torch.tensor(logits, dtype=torch.float64)).tolist() == row
