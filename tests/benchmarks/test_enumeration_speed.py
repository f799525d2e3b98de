"""Runs a second of the enumerating engine, in both arithmetics: `make bench`.

The goal for `traversal` at V = 3, K = 2, L2 = 2 is 20,000 runs a second in float64 and 8,000 in rationals.
Each test prints its rate; the table after them has the times.
"""

from __future__ import annotations

import numpy as np
import pytest

from simulator.arithmetic import ARITHMETICS
from simulator.coins import outcomes
from simulator.drafts import Delayed
from simulator.instances.families import FAMILIES
from simulator.laws.enumeration import enumerate_law
from verifiers import STANDALONE, make

SCHEME = Delayed(K=2, L1=0, L2=2)
INSTANCE = FAMILIES["dirichlet"].instance(3, 2, np.random.default_rng(0))


def count_runs(verifier, instance) -> int:
    runs = 0
    for tree, _ in outcomes(lambda coin: SCHEME.draw(instance.draft, coin), instance.target.arithmetic):
        root = tree.root(instance.target, instance.draft)
        runs += sum(
            1 for _ in outcomes(lambda coin, root=root: verifier.verify(root, coin), instance.target.arithmetic)
        )
    return runs


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("name", STANDALONE)
def test_runs_a_second(benchmark, capsys, name, arithmetic):
    verifier = make(name)
    instance = INSTANCE.converted(ARITHMETICS[arithmetic], SCHEME.depth)
    runs = count_runs(verifier, instance)
    benchmark.group = arithmetic
    law = benchmark(enumerate_law, verifier, instance.target, instance.draft, SCHEME)
    assert abs(law.total - 1) <= ARITHMETICS[arithmetic].tolerance
    rate = runs / benchmark.stats.stats.median
    benchmark.extra_info["runs"] = runs
    benchmark.extra_info["runs/s"] = round(rate)
    with capsys.disabled():
        print(f"\n{name:28s}{arithmetic:10s}{runs:6,d} runs{rate:12,.0f} runs/s", end="")
