"""The structured engines on the problems whose speed is promised: `make bench`; `make speed` has the comparisons."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.studies.speed_cases import TOP_DOWN, random_rows, summed
from simulator.arithmetic import ARITHMETICS
from simulator.drafts import Delayed
from simulator.instances.families import FAMILIES
from simulator.laws.structured import TableRows, structured_law, structured_metrics
from verifiers import make

#: (verifier, V, K, L2).
CASES = (
    *((name, V, 4, L) for V, L in ((4, 9), (50, 3)) for name in TOP_DOWN),
    *((name, 8, 4, 7) for name in ("block", "gbv", "mixed_order")),
    ("traversal", 4, 3, 4),
    ("traversal", 8, 2, 4),
)


@pytest.mark.parametrize(("name", "V", "K", "L"), CASES)
def test_metrics(benchmark, name, V, K, L):
    verifier, scheme = make(name), Delayed(K, 0, L)
    rows, _, _ = random_rows(V, L)
    benchmark.group = f"V = {V}, L = {L}"
    benchmark(summed(verifier, rows, scheme))
    found = structured_metrics(verifier, rows, scheme)[0]
    assert found.max_deviation <= ARITHMETICS["float64"].tolerance
    assert abs(sum(found.depth_distribution) - 1) <= ARITHMETICS["float64"].tolerance


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_law_of_traversal(benchmark, arithmetic):
    instance = FAMILIES["dirichlet"].instance(3, 4, np.random.default_rng(0), arithmetic=ARITHMETICS[arithmetic])
    benchmark.group = "traversal, V = 3, L = 4"
    rows = TableRows.of(instance.target, instance.draft)
    law = benchmark(structured_law, make("traversal"), rows, Delayed(2, 0, 4))
    assert abs(law.total - 1) <= ARITHMETICS[arithmetic].tolerance
