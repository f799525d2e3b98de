"""The law that a structured engine computes is the enumerated one: exactly in rationals, to rounding elsewhere."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from draftproof import verifiers
from draftproof.simulator import BlockLaw, Delayed, Instance, InvalidInput, TableProcess
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.drafts import SCHEMES
from draftproof.simulator.drafts.delayed import SHAPES
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.simulator.laws.structured import (
    LawSink,
    MetricsSink,
    TableRows,
    run,
    structure_of,
    structured_law,
    structured_metrics,
)
from draftproof.simulator.laws.structured.continued import continued_law
from draftproof.simulator.laws.structured.layered import layered_law
from draftproof.simulator.laws.structured.paths import path_law
from draftproof.simulator.laws.structured.top_down import top_down
from draftproof.simulator.protocol import Verifier
from draftproof.simulator.verdicts.cases import conformance_instances, corner_instances
from tests.quick import by_turns

STRUCTURES = {
    "nss": "top-down",
    "naive": "top-down",
    "naive_tree": "top-down",
    "specinfer": "top-down",
    "spectr": "top-down",
    "khisti": "top-down",
    "optimal_transport": "top-down",
    "gls": "top-down",
    "gls_reused_noise": None,
    "path_transport": "path",
    "optimum": "path",
    "block": "path",
    "hsd": "path",
    "block_tree": "continued",
    "gbv_tree": "continued",
    "layer_transport": "layered",
    "layer_verification": "layered",
    "layer_without_replacement": None,
    "layer_greedy": None,
    "hsd_uncapped": None,
    "tree_monte_carlo": "path",
    "traversal": "leaf-to-root",
    "gbv": "path",
    "mixed_order": "path",
    "rejection_without_replacement": "top-down",
    "greedy_multi_draft": "top-down",
    "sequoia": "top-down",
    "spechub": None,
    "traversal_insertion_order": None,
    "block_by_weights": "path",
    "naive_from_target": "top-down",
    "ensemble": "top-down",
    "typical": None,
    "threshold": "top-down",
    "lenience": "top-down",
    "truncation": None,
    "eta": None,
    "cactus": "top-down",
    "fuzzy": "top-down",
    "budgeted": None,
    "budgeted_tree": None,
    "mentored": "top-down",
    "cascade": "top-down",
    "toward": None,
}
#: Those of them that can be made without an instance.
OFFERING = [name for name in verifiers.STANDALONE if STRUCTURES[name]]
DEEPER = ((2, 3, 0, 3), (3, 2, 1, 2), (2, 2, 2, 2), (3, 2, 0, 3))
#: Rounding of sums of a few thousand products of numbers of at most 1.
ROUNDING = 1e-12


def enumerated(verifier: Verifier, instance: Instance, scheme: Delayed) -> BlockLaw:
    return enumerate_law(verifier, instance.target, instance.draft, scheme)


def structured(verifier: Verifier, instance: Instance, scheme: Delayed) -> BlockLaw:
    return structured_law(verifier, TableRows.of(instance.target, instance.draft), scheme)


def tables(law: BlockLaw) -> list[list[Any]]:
    return [masses.tolist() for masses in law.correction]


def few(shape: tuple[int, int, int, int]) -> Iterator[Instance]:
    yield from conformance_instances(shape, 2)
    yield from corner_instances(shape)


def as_floats(instance: Instance) -> Instance:
    return instance.converted(FLOAT64, instance.depth)


def test_what_every_verifier_of_the_registry_offers() -> None:
    made = {name: verifiers.make(name) for name in verifiers.STANDALONE}
    structures = {name: structure_of(verifier, Delayed(2, 1, 1)) for name, verifier in made.items()}
    found = {name: structure and structure.name for name, structure in structures.items()}
    assert found | {"optimum": "path"} == STRUCTURES  # `optimum` needs a plan: see its own tests


@pytest.mark.parametrize("kind", [name for name in SCHEMES if name != "delayed"])
def test_no_structure_is_used_on_other_schemes(kind: str) -> None:
    scheme = SCHEMES[kind]()
    assert {structure_of(verifiers.make(name), scheme) for name in verifiers.STANDALONE} == {None}
    instance = next(conformance_instances((2, 1, 0, scheme.depth), 1))
    with pytest.raises(InvalidInput, match=r"nss offers no structured evaluation on .*; use the engine enumerate"):
        structured(verifiers.make("nss"), instance, scheme)


@pytest.mark.parametrize("name", [name for name, structure in STRUCTURES.items() if structure is None])
def test_verifiers_that_offer_nothing_are_refused_by_name(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} offers no structured evaluation on delayed"):
        structured(verifiers.make(name), next(conformance_instances((2, 2, 0, 1), 1)), Delayed(2, 0, 1))


@pytest.mark.parametrize(
    ("name", "shape"),  # half of the shapes with each, and each with half of the verifiers
    [
        pytest.param(name, shape, id=f"{name}-{shape}", marks=[pytest.mark.heavy] * ((turn + place) % 2))
        for turn, name in enumerate(OFFERING)
        for place, shape in enumerate(SHAPES)
    ],
)
def test_structured_law_equals_the_enumerated_one_exactly(name: str, shape: tuple[int, int, int, int]) -> None:
    verifier, scheme = verifiers.make(name), Delayed(*shape[1:])
    for instance in few(shape):
        law = structured(verifier, instance, scheme)
        assert tables(law) == tables(enumerated(verifier, instance, scheme))
        assert law.total == 1


@pytest.mark.heavy
@pytest.mark.parametrize(("shape", "count"), [*((s, 200) for s in SHAPES), *((s, 10) for s in DEEPER)], ids=str)
@pytest.mark.parametrize("name", OFFERING)
def test_structured_law_equals_the_enumerated_one_on_many(
    name: str, shape: tuple[int, int, int, int], count: int
) -> None:
    verifier, scheme = verifiers.make(name), Delayed(*shape[1:])
    for instance in (*conformance_instances(shape, count), *corner_instances(shape)):
        assert tables(structured(verifier, instance, scheme)) == tables(enumerated(verifier, instance, scheme))


@pytest.mark.parametrize("scheme", [Delayed(1, 0, 0), Delayed(1, 0, 3), Delayed(1, 3, 0), Delayed(1, 1, 2)], ids=str)
@pytest.mark.parametrize("name", by_turns(OFFERING, 3))
def test_single_paths_and_empty_trees(name: str, scheme: Delayed) -> None:
    for instance in few((2, 1, 0, scheme.depth)):
        verifier = verifiers.make(name)
        assert tables(structured(verifier, instance, scheme)) == tables(enumerated(verifier, instance, scheme))


@pytest.mark.parametrize("name", OFFERING)
def test_float64_law_differs_from_the_exact_one_by_rounding(name: str) -> None:
    shape, verifier = (3, 2, 1, 1), verifiers.make(name)
    for instance in few(shape):
        exact = structured(verifier, instance, Delayed(*shape[1:]))
        rounded = structured(verifier, as_floats(instance), Delayed(*shape[1:]))
        for ours, theirs in zip(exact.correction, rounded.correction, strict=True):
            assert theirs.dtype == np.float64
            assert abs(ours.astype(np.float64) - theirs).max() <= ROUNDING


@pytest.mark.parametrize("name", OFFERING)
def test_torch_law_and_metrics_are_those_of_numpy(name: str) -> None:
    pytest.importorskip("torch", reason="the extra `models` is not installed")
    shape, verifier = (3, 2, 1, 1), verifiers.make(name)
    scheme = Delayed(*shape[1:])
    for instance in map(as_floats, few(shape)):
        rows = TableRows.of(instance.target, instance.draft, device="cpu")
        law = structured_law(verifier, rows, scheme)
        for ours, theirs in zip(law.correction, structured(verifier, instance, scheme).correction, strict=True):
            assert isinstance(ours, np.ndarray)
            assert abs(ours - theirs).max() <= ROUNDING
        (streamed,) = structured_metrics(verifier, rows, scheme)
        assert streamed.depth_distribution == pytest.approx(law.depth_distribution, abs=ROUNDING)
        assert streamed.max_deviation == pytest.approx(law.max_deviation(instance.target), abs=ROUNDING)


def test_torch_takes_no_rationals() -> None:
    pytest.importorskip("torch", reason="the extra `models` is not installed")
    instance = next(conformance_instances((2, 2, 0, 1), 1))
    with pytest.raises(InvalidInput, match="torch holds no rationals"):
        TableRows.of(instance.target, instance.draft, device="cpu")


@pytest.mark.parametrize("chunk", [1, 2, 7])
@pytest.mark.parametrize("name", by_turns((name for name in OFFERING if STRUCTURES[name] != "leaf-to-root"), 3))
def test_the_size_of_chunks_does_not_matter(name: str, chunk: int) -> None:
    shape, verifier = (3, 2, 1, 1), verifiers.make(name)
    scheme = Delayed(*shape[1:])
    structure: Any = verifier.structure
    engine: Any = partial(path_law, structure, chunk=chunk)
    if STRUCTURES[name] == "top-down":
        engine = partial(top_down, structure, verifier.card, chunk=chunk)
    elif STRUCTURES[name] == "layered":
        engine = partial(layered_law, structure, chunk=chunk)
    elif STRUCTURES[name] == "continued":
        engine = partial(continued_law, structure, chunk=chunk)
    instances = list(few(shape))
    for instance in instances:
        rows = TableRows.of(instance.target, instance.draft)
        law, sums = LawSink(rows, scheme.depth), MetricsSink(rows, scheme.depth)
        for sink in (law, sums):
            engine(rows, scheme, sink)
        whole = structured(verifier, instance, scheme)
        assert tables(law.law()) == tables(whole)
        assert sums.metrics().depth_distribution == whole.depth_distribution
        assert sums.metrics().worst == whole.violation(instance.target)
    rows = together(instances)
    batch = MetricsSink(rows, scheme.depth)
    engine(rows, scheme, batch)
    for root, instance in enumerate(instances):
        assert batch.metrics(root).max_deviation == structured(verifier, instance, scheme).max_deviation(
            instance.target
        )


@pytest.mark.parametrize("shape", [(2, 3, 0, 2), (3, 2, 1, 1)], ids=str)
@pytest.mark.parametrize("name", by_turns(OFFERING, 3))
def test_streamed_metrics_are_those_of_the_law(name: str, shape: tuple[int, int, int, int]) -> None:
    verifier, scheme = verifiers.make(name), Delayed(*shape[1:])
    for instance in few(shape):
        (found,) = structured_metrics(verifier, TableRows.of(instance.target, instance.draft), scheme)
        wanted = structured(verifier, instance, scheme).metrics(instance.target)
        assert found.depth_distribution == wanted.depth_distribution
        assert (found.max_deviation, found.worst) == (wanted.max_deviation, wanted.worst)
        assert found.total_variation == (None if wanted.max_deviation else 0)
        assert (found.block_efficiency, found.variance) == (wanted.block_efficiency, wanted.variance)


def together(instances: list[Instance]) -> TableRows:
    """Many instances one after the other in one set of tables."""

    def stacked(processes: list[TableProcess]) -> list[Any]:
        return [np.concatenate(level) for level in zip(*(process.tables for process in processes), strict=True)]

    sides = [instance.target for instance in instances], [instance.draft for instance in instances]
    return TableRows(stacked(sides[0]), stacked(sides[1]), roots=len(instances))


@pytest.mark.parametrize("arithmetic", [RATIONAL, FLOAT64], ids=lambda arithmetic: arithmetic.name)
@pytest.mark.parametrize("shape", [(2, 3, 0, 2), (3, 2, 1, 1)], ids=str)
@pytest.mark.parametrize("name", by_turns(OFFERING, 3))
def test_a_batch_equals_its_instances_one_by_one(name: str, shape: tuple[int, int, int, int], arithmetic: Any) -> None:
    verifier, scheme = verifiers.make(name), Delayed(*shape[1:])
    instances = [instance.converted(arithmetic, instance.depth) for instance in few(shape)]
    slack = 0 if arithmetic.exact else ROUNDING
    rows = together(instances)
    metrics = structured_metrics(verifier, rows, scheme)
    law = structured_law(verifier, rows, scheme)
    assert len(metrics) == len(instances)
    for root, instance in enumerate(instances):
        alone = structured(verifier, instance, scheme)
        found = metrics[root]
        gaps = [abs(a - b) for a, b in zip(found.depth_distribution, alone.depth_distribution, strict=True)]
        assert max(gaps) <= slack
        assert abs(found.max_deviation - alone.max_deviation(instance.target)) <= slack
        for depth, masses in enumerate(alone.correction):
            width = shape[0] ** depth
            assert abs(law.correction[depth][root * width : (root + 1) * width] - masses).max() <= slack


@pytest.mark.parametrize("name", ["nss", "block", "traversal"])
def test_progress_counts_every_context_once(name: str) -> None:
    instance = next(conformance_instances((3, 2, 0, 2), 1))
    rows = TableRows.of(instance.target, instance.draft)
    told: list[int] = []
    run(verifiers.make(name), rows, Delayed(2, 0, 2), MetricsSink(rows, 2, told.append))
    assert sum(told) == 1 + 3 + 9
