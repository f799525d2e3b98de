"""What an exact evaluation costs is known before it begins, and what does not fit is refused with what does."""

import re
import tracemalloc
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import draftproof.simulator.laws.structured.dispatch as structured_module
from draftproof.simulator import FAMILIES, Delayed, MarkovProcess, TooLarge
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.drafts import scheme_from_dict
from draftproof.simulator.instances.processes import rationalise
from draftproof.simulator.laws.structured import MetricsSink, TableRows
from draftproof.simulator.laws.structured import size as size_module
from draftproof.simulator.laws.structured.leaf_to_root import leaf_to_root
from draftproof.simulator.laws.structured.size import (
    BYTES,
    COLLAPSED,
    FULL_LAW,
    LAW,
    METRICS,
    STEPS,
    Work,
    steps,
    structured_work,
)
from draftproof.simulator.structures import declared
from draftproof.simulator.verdicts import lossless as lossless_module
from draftproof.simulator.verdicts.lossless import Evaluator
from draftproof.verifiers import make

GIB = 2**30


class Unread:
    """A process of any size that has no rows."""

    def __init__(self, vocab_size: int) -> None:
        self.vocab_size = vocab_size

    def row(self, context: tuple[int, ...]) -> Any:
        raise AssertionError("a row was asked for")


def markov(size: int, order: int, seed: int = 0, arithmetic: Any = FLOAT64) -> MarkovProcess:
    rows = np.random.default_rng(seed).dirichlet(np.ones(size), size=size**order)
    return MarkovProcess(rationalise(rows, 2**16, arithmetic), (0,) * order)


def mode(name: str, process: Any, scheme: Delayed, arithmetic: Any = FLOAT64, memory: float = 4 * GIB) -> str:
    work = structured_work(make(name), process, process, scheme, arithmetic, memory)
    assert work.bytes <= memory
    assert work.steps <= STEPS[arithmetic.exact]
    return work.mode


def test_markov_pairs_of_top_down_verifiers_collapse_as_soon_as_laws_are_not_tiny() -> None:
    assert mode("specinfer", markov(4, 1), Delayed(2, 0, 5)) == LAW
    assert mode("specinfer", markov(4, 1), Delayed(2, 0, 7)) == COLLAPSED
    assert mode("specinfer", markov(27, 3), Delayed(4, 8, 8)) == COLLAPSED
    assert mode("specinfer", markov(27, 2), Delayed(4, 8, 8), RATIONAL) == COLLAPSED
    assert FULL_LAW[True] < FULL_LAW[False]


REFUSED = [
    ("nss", 4, Delayed(4, 0, 14), FLOAT64, 4 * GIB),
    ("nss", 4, Delayed(4, 0, 14), RATIONAL, 4 * GIB),
    ("block", 8, Delayed(2, 3, 9), FLOAT64, GIB),
    ("gbv", 27, Delayed(3, 2, 6), RATIONAL, GIB / 100),
    ("traversal", 4, Delayed(4, 0, 6), FLOAT64, 4 * GIB),
    ("traversal", 8, Delayed(8, 2, 6), RATIONAL, GIB),
]


@pytest.mark.parametrize(("name", "size", "scheme", "numbers", "memory"), REFUSED)
def test_the_nearest_shape_that_fits_does_fit(
    name: str, size: int, scheme: Delayed, numbers: Any, memory: float
) -> None:
    with pytest.raises(TooLarge, match=f"at V = {size} this needs about ") as caught:
        structured_work(make(name), Unread(size), Unread(size), scheme, numbers, memory)
    found = re.search(r"the nearest shape that fits is delayed\(K=(\d+), L1=(\d+), L2=(\d+)\)", str(caught.value))
    assert found is not None
    nearest = scheme_from_dict(
        {"name": "delayed", **dict(zip(("K", "L1", "L2"), map(int, found.groups()), strict=True))}
    )
    assert nearest in scheme.reductions()
    assert structured_work(make(name), Unread(size), Unread(size), nearest, numbers, memory).bytes <= memory
    assert nearest.depth >= 1
    larger = [shape for shape in scheme.reductions() if (shape.depth, shape.nodes) > (nearest.depth, nearest.nodes)]
    assert larger
    for shape in larger:
        with pytest.raises(TooLarge):
            structured_work(make(name), Unread(size), Unread(size), shape, numbers, memory)


def refused(function: Any, *arguments: Any, **options: Any) -> str:
    """How the call is refused."""
    with pytest.raises(TooLarge) as caught:
        function(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize("name", ["nss", "block", "traversal"])
@pytest.mark.parametrize("size", [2, 50_000])
@pytest.mark.parametrize("numbers", [RATIONAL, FLOAT64], ids=lambda numbers: numbers.name)
def test_absurd_sizes_are_refused_at_once_without_a_row(name: str, size: int, numbers: Any, calls: Any) -> None:
    arguments = make(name), Unread(size), Unread(size), Delayed(64, 60, 60), numbers
    said = refused(structured_work, *arguments)
    assert (
        calls(partial(refused, structured_work, *arguments)) < 200_000
    )  # no tree of this shape could be walked in so few
    assert "the nearest shape that fits is delayed(" in said
    assert not re.search(r"\b(inf|nan)\b", said)


@pytest.mark.parametrize(
    ("size", "scheme"),
    [(2, (3, 0, 2)), (2, (3, 1, 2)), (3, (2, 0, 3)), (3, (4, 0, 1)), (2, (4, 0, 2)), (2, (1, 2, 2)), (4, (2, 1, 1))],
    ids=str,
)
def test_predicted_states_of_leaf_to_root_are_those_that_are_visited(
    size: int, scheme: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = __import__("sys").modules[leaf_to_root.__module__]
    shape, levels = Delayed(*scheme), []
    instance = FAMILIES["perturbed"].instance(size, shape.depth, np.random.default_rng(0), 2**16, FLOAT64)
    assert all((table > 0).all() for table in instance.draft.tables)
    rows = TableRows.of(instance.target, instance.draft)
    monkeypatch.setattr(module, "_deliver", lambda found, *_: levels.extend(found))
    leaf_to_root(declared(make("traversal")), rows, shape, MetricsSink(rows, shape.depth))
    stages = sum(len(stage.context) for level in levels for stage in level.stages)
    assert steps(make("traversal"), shape, size) == pytest.approx(stages + len(levels[-1].context), rel=1e-12)


def test_a_verifier_with_branch_alone_costs_its_calls() -> None:
    contexts = steps(make("block"), Delayed(3, 0, 2), 5)
    threshold: Any = make("threshold")
    assert steps(threshold, Delayed(3, 0, 2), 5) == pytest.approx(contexts * (5 + 25 + 125))

    class AnyOrder:
        card = replace(threshold.card, exchangeable=True)
        verify, structure = threshold.verify, threshold.structure

    assert steps(AnyOrder(), Delayed(3, 0, 2), 5) == pytest.approx(contexts * (5 + 15 + 35))
    assert steps(AnyOrder(), Delayed(400, 0, 1), 50_000) > 1e300
    for process in (Unread(30), markov(30, 2)):
        with pytest.raises(TooLarge, match=r"float64 steps, more than 3e\+07; the nearest shape that fits is delayed"):
            structured_work(threshold, process, process, Delayed(6, 0, 2), FLOAT64)
        assert structured_work(make("spectr"), process, process, Delayed(6, 0, 2), FLOAT64).steps < 1e6


def measured(work: Work, name: str, target: Any, draft: Any, scheme: Delayed, numbers: Any, patch: Any) -> int:
    """The peak of one check in this mode, in bytes."""
    patch.setattr(lossless_module, "structured_work", lambda *_: work)
    patch.setattr(structured_module, "keep_freed_memory", lambda: None)  # it asks for memory that it never touches
    tracemalloc.start()
    Evaluator(make(name), numbers.name).check(target, draft, scheme)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize(
    ("name", "wanted", "size", "scheme", "numbers"),
    [
        ("spectr", LAW, 8, (3, 1, 4), FLOAT64), ("specinfer", LAW, 4, (2, 1, 3), RATIONAL),
        ("gbv", LAW, 8, (3, 1, 4), FLOAT64), ("spectr", METRICS, 8, (3, 1, 4), FLOAT64),
        ("gbv", METRICS, 4, (2, 1, 6), FLOAT64), ("block_tree", LAW, 8, (4, 0, 4), FLOAT64),
        ("gbv_tree", METRICS, 8, (3, 1, 3), FLOAT64), ("gbv_tree", METRICS, 3, (3, 0, 4), RATIONAL),
        ("gbv", METRICS, 4, (2, 1, 3), RATIONAL), ("traversal", METRICS, 3, (2, 0, 4), FLOAT64),
        ("traversal", LAW, 4, (2, 0, 3), RATIONAL), ("specinfer", COLLAPSED, 27, (4, 2, 8), FLOAT64),
        ("specinfer", COLLAPSED, 8, (3, 2, 3), RATIONAL),
    ],
)  # fmt: skip
def test_predicted_memory_bounds_what_is_used(
    name: str, wanted: str, size: int, scheme: tuple[int, int, int], numbers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = Delayed(*scheme)
    target, draft = markov(size, 1, 0, numbers), markov(size, 1, 1, numbers)
    (work,) = (each for each in size_module._modes(make(name), target, draft, shape, numbers) if each.mode == wanted)
    peak = measured(work, name, target, draft, shape, numbers, monkeypatch)
    assert peak <= work.bytes <= 7 * peak
    assert BYTES[numbers.exact] in (8, 64)
