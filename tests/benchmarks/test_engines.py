"""Structured engines beside what they replace, and beside one pass over their tables, which nothing can beat."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.simulator.laws.structured import (
    MetricsSink,
    TableRows,
    run,
    structured_law,
)
from draftproof.verifiers import make
from tests.benchmarks.conftest import seconds_of

TOP_DOWN = ("nss", "naive_tree", "specinfer", "spectr")


def tables(V: int, L: int) -> tuple[list[Any], list[Any]]:
    """Dirichlet tables of depths `0..L - 1`, all that the metrics of trees of depth `L` read."""
    generator = np.random.default_rng(0)
    target, draft = (
        [generator.dirichlet(np.ones(V), size=V**depth) for depth in range(L)] for _ in ("target", "draft")
    )
    return target, draft


def metrics(name: str, rows: TableRows, scheme: Delayed) -> Callable[[], object]:
    """Depth distribution and largest deviation."""
    return lambda: run(make(name), rows, scheme, MetricsSink(rows, scheme.depth))


@pytest.mark.parametrize(("V", "L"), [(4, 9), (50, 3)])
@pytest.mark.parametrize("name", TOP_DOWN)
def test_top_down_beside_a_pass_over_the_tables(timed, full, name, V, L):
    target, draft = tables(*((V, L) if full else (4, 3)))
    scheme = Delayed(4, 0, len(target))

    def reading() -> None:
        for p, q in zip(target, draft, strict=True):
            np.minimum(p, q).sum()

    timed(metrics(name, TableRows(target, draft), scheme), "minimum(p, q).sum()", reading, goal="<= 200")


@pytest.mark.parametrize("arithmetic", [RATIONAL, FLOAT64], ids=lambda each: each.name)
@pytest.mark.parametrize("name", ["traversal", "nss", "specinfer", "spectr", "gbv", "mixed_order"])
def test_laws_beside_enumeration(timed, full, name, arithmetic):
    V, L = (3, 4 if name == "traversal" else 3) if full else (2, 2)
    scheme = Delayed(2, 0, L)
    instance = FAMILIES["dirichlet"].instance(V, L, np.random.default_rng(0), arithmetic=arithmetic)
    rows = TableRows.of(instance.target, instance.draft)
    enumerated = seconds_of(partial(enumerate_law, make(name), instance.target, instance.draft, scheme))
    goal = "<= 1/50" if name == "traversal" else ""
    timed(partial(structured_law, make(name), rows, scheme), "enumeration", enumerated, goal=goal)


@pytest.mark.parametrize(("V", "K", "L"), [(4, 3, 4), (8, 2, 4)])
def test_traversal_where_nothing_is_enumerated(timed, full, V, K, L):
    V, K, L = (V, K, L) if full else (2, 2, 2)
    timed(metrics("traversal", TableRows(*tables(V, L)), Delayed(K, 0, L)), "2 minutes", 120.0, goal="<= 1", rounds=1)
