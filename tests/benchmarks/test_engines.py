"""Structured engines beside what they replace, and beside one pass over their tables, which nothing can beat."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.coins import SamplingCoin, outcomes
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.simulator.laws.structured import (
    MarkovRows,
    MetricsSink,
    TableRows,
    run,
    structured_law,
    structured_metrics,
)
from draftproof.simulator.laws.structured.collapsed import CollapsedTopDown
from draftproof.verifiers import make
from tests.benchmarks.conftest import seconds_of
from tests.benchmarks.trees import NAMES

TOP_DOWN = ("nss", "naive_tree", "specinfer", "spectr")


def tables(V: int, L: int, roots: int = 1) -> tuple[list[Any], list[Any]]:
    """Dirichlet tables of depths `0..L - 1`, all that the metrics of trees of depth `L` read."""
    generator = np.random.default_rng(0)
    target, draft = (
        [generator.dirichlet(np.ones(V), size=roots * V**depth) for depth in range(L)] for _ in ("target", "draft")
    )
    return target, draft


def metrics(name: str, rows: TableRows, scheme: Delayed) -> Callable[[], object]:
    """Depth distribution and largest deviation of every root."""
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


@pytest.mark.parametrize("K", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["block", "gbv", "mixed_order"])
def test_selected_paths_beside_a_pass_over_all_paths(timed, full, name, K):
    V, L = (8, 7) if full else (2, 3)
    target, draft = tables(V, L)

    def paths() -> None:
        masses = np.ones(1)
        for q in draft:
            masses = (masses[:, None] * q).reshape(-1)
        for _ in draft:
            masses = masses.reshape(-1, V).sum(-1)

    timed(
        metrics(name, TableRows(target, draft), Delayed(K, 0, L)), f"one pass over {V**L:,} paths", paths, goal="<= 10"
    )


@pytest.mark.parametrize("name", ["specinfer", "spectr", "gbv", "traversal"])
def test_many_instances_beside_one_by_one(timed, full, name):
    roots, V, L = (64, 4, 4) if full else (3, 2, 2)
    target, draft = tables(V, L, roots)
    scheme = Delayed(2, 0, L)

    def part(side: list[Any], root: int) -> list[Any]:
        return [table[root * V**depth : (root + 1) * V**depth] for depth, table in enumerate(side)]

    single = [metrics(name, TableRows(part(target, root), part(draft, root)), scheme) for root in range(roots)]
    together = metrics(name, TableRows(target, draft, roots), scheme)
    timed(together, f"{roots} one by one", lambda: [each() for each in single])


@pytest.mark.parametrize("name", TOP_DOWN)
def test_many_shapes_beside_one_by_one(timed, full, name):
    lengths = range(9 if full else 2)
    shapes = [Delayed(K, L1, L2) for K in (1, 2, 3, 4) for L1 in lengths for L2 in lengths if L2 or K == 1]
    generator = np.random.default_rng(0)
    rows = MarkovRows(*(MarkovProcess(generator.dirichlet(np.ones(4), size=16), (0, 0)) for _ in range(2)))

    def together() -> None:
        engine = CollapsedTopDown(make(name), rows)
        for shape in shapes:
            engine.metrics(shape)

    def apart() -> None:
        for shape in shapes:
            CollapsedTopDown(make(name), rows).metrics(shape)

    timed(together, f"{len(shapes)} one by one", apart)


@pytest.mark.parametrize(
    ("name", "K"), [("nss", 4), ("specinfer", 4), ("spectr", 4), ("gbv", 4), ("mixed_order", 4), ("traversal", 2)]
)
def test_metrics_beside_sampling_to_a_standard_error(timed, full, name, K):
    """Until E[tau + 1] is known to 1e-3."""
    V, L = (4, 5) if full else (2, 2)
    instance = FAMILIES["dirichlet"].instance(V, L, np.random.default_rng(0), arithmetic=FLOAT64)
    rows, scheme, coin = (
        TableRows.of(instance.target, instance.draft),
        Delayed(K, 0, L),
        SamplingCoin(np.random.default_rng(1)),
    )
    runs = 2000 if full else 10

    def sample() -> None:
        for _ in range(runs):
            tree = scheme.draw(instance.draft, coin)
            make(name).verify(tree.root(instance.target, instance.draft), coin)

    samples = float(structured_metrics(make(name), rows, scheme)[0].variance) / 1e-3**2
    seconds = samples * seconds_of(sample) / runs
    timed(metrics(name, rows, scheme), "sampling", seconds, note=f"{samples:,.0f} samples")


@pytest.mark.parametrize(("name", "L"), [("khisti", 3), ("optimal_transport", 2)])
def test_programs_at_every_node(timed, full, name, L):
    rows = TableRows(*tables(4, L if full else 1))
    timed(metrics(name, rows, Delayed(4, 0, L if full else 1)), "20 seconds", 20.0, goal="<= 1", rounds=1)


@pytest.mark.parametrize("name", NAMES)
def test_enumeration_in_rationals_beside_float64(timed, full, name):
    V, scheme = (3, Delayed(2, 0, 2)) if full else (2, Delayed(2, 0, 1))
    exact = FAMILIES["dirichlet"].instance(V, scheme.depth, np.random.default_rng(0))
    ours, floats = (exact.converted(each, scheme.depth) for each in (RATIONAL, FLOAT64))
    trees = [tree for tree, _ in outcomes(lambda coin: scheme.draw(ours.draft, coin), RATIONAL)]
    roots = [tree.root(ours.target, ours.draft) for tree in trees]
    runs = sum(1 for root in roots for _ in outcomes(partial(make(name).verify, root), RATIONAL))
    rational, other = (partial(enumerate_law, make(name), each.target, each.draft, scheme) for each in (ours, floats))
    timed(rational, "float64", other, note=f"{runs:,} runs")


#: (verifier, axis, values, what is fixed): the group of each shows the factor from the least value on.
GROWTH = [
    ("specinfer", "L", (5, 6, 7, 8, 9), {"V": 4, "K": 4}),
    ("gbv", "L", (5, 6, 7, 8, 9), {"V": 4, "K": 4}),
    ("traversal", "L", (2, 3, 4, 5, 6), {"V": 4, "K": 2}),
    ("specinfer", "K", (1, 2, 3, 4, 5, 6), {"V": 4, "L": 7}),
    ("gbv", "K", (1, 2, 3, 4, 5, 6), {"V": 4, "L": 7}),
    ("traversal", "K", (1, 2, 3, 4), {"V": 4, "L": 3}),
    ("specinfer", "V", (8, 16, 32, 64), {"K": 4, "L": 3}),
    ("gbv", "V", (8, 16, 32, 64), {"K": 4, "L": 3}),
    ("traversal", "V", (4, 8, 12, 16), {"K": 2, "L": 3}),
]


@pytest.mark.parametrize(
    ("name", "axis", "value", "at"),
    [(name, axis, value, {**fixed, axis: value}) for name, axis, values, fixed in GROWTH for value in values],
)
def test_growth(timed, full, name, axis, value, at):
    first = next(values[0] for other, along, values, _ in GROWTH if (other, along) == (name, axis))
    if not full and value != first:
        pytest.skip("only the smallest one runs here")
    below = {**at, axis: first}
    task, smallest = (
        metrics(name, TableRows(*tables(size["V"], size["L"])), Delayed(size["K"], 0, size["L"]))
        for size in (at, below)
    )
    timed(task, f"{axis} = {first}", smallest)
