"""Audits beside enumeration, bounds beside the gap that is promised, comparisons beside the time of their rows."""

import random
from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import pytest

from draftproof.lp_analysis import optimum
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.audit import make_audit
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.verifiers import make
from tests.benchmarks.conftest import seconds_of


def chain(tokens: Sequence[int], q: Sequence[Any], p: Sequence[Any]) -> tuple[Any, int]:
    """Token-by-token speculative sampling as a project without draftproof writes it."""
    for place, token in enumerate(tokens):
        if random.random() * q[place][token] >= p[place][token]:
            rest = [max(a - b, 0) for a, b in zip(p[place], q[place], strict=True)]
            return place, random.choices(range(len(rest)), weights=rest)[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]


@pytest.mark.parametrize("interface", ["chain", "transformers"])
def test_an_audit_beside_the_enumeration_of_naive(timed, full, interface):
    function = chain
    if interface == "transformers":
        pytest.importorskip("torch")
        function = pytest.importorskip("transformers.generation.utils")._speculative_sampling
    V, length = (3, 4) if full else (2, 1)
    scheme, audit = Delayed(1, 0, length), make_audit(function, interface)
    instance = FAMILIES["dirichlet"].instance(V, length, np.random.default_rng(0))
    floats = instance.converted(FLOAT64, length)
    ours = seconds_of(partial(enumerate_law, make("naive"), floats.target, floats.draft, scheme))
    note = f"about {audit.size(instance, scheme).runs:,.0f} calls"
    timed(partial(audit.judge, instance, scheme), "enumeration", ours, rounds=1, note=note)


@pytest.mark.parametrize(("V", "K", "L", "gap", "seconds"), [(4, 3, 5, 1e-3, 60), (4, 4, 6, 2e-3, 300)])
def test_bounds_reach_the_promised_gap(timed, full, V, K, L, gap, seconds):
    V, K, L = (V, K, L) if full else (2, 2, 1)
    instance = FAMILIES["perturbed"].instance(V, L, np.random.default_rng(0))

    def bounds() -> None:
        found = optimum(
            instance.target, instance.draft, Delayed(K, 0, L), gap=gap, seconds=float(seconds), clock=perf_counter
        )
        assert found.gap <= gap

    timed(bounds, f"the seconds for a gap of {gap:g}", float(seconds), goal="<= 1", rounds=1)
