"""The law that a structured engine computes is the enumerated one: exactly in rationals, to rounding elsewhere."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from draftproof import verifiers
from draftproof.simulator import BlockLaw, Delayed, Instance, InvalidInput, MarkovProcess
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.drafts import SCHEMES
from draftproof.simulator.drafts.delayed import SHAPES
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.simulator.laws.metrics import Metrics
from draftproof.simulator.laws.structured import (
    LawSink,
    MarkovRows,
    MetricsSink,
    TableRows,
    structure_of,
    structured_law,
    structured_metrics,
)
from draftproof.simulator.laws.structured.continued import continued_law
from draftproof.simulator.laws.structured.layered import layered_law
from draftproof.simulator.laws.structured.paths import path_law
from draftproof.simulator.laws.structured.top_down import top_down
from draftproof.simulator.protocol import Verifier
from draftproof.simulator.structures import TopDown, declared
from draftproof.simulator.verdicts.cases import conformance_instances, corner_instances

#: What each verifier of the registry offers; the others offer nothing.
KINDS = {
    "top-down": (
        "nss naive naive_tree specinfer spectr khisti optimal_transport gls "
        "rejection_without_replacement greedy_multi_draft sequoia naive_from_target ensemble "
        "threshold lenience cactus fuzzy mentored cascade rheo slack"
    ),
    "path": "path_transport optimum block hsd tree_monte_carlo gbv mixed_order block_by_weights",
    "continued": "block_tree gbv_tree",
    "layered": "layer_transport layer_verification",
    "leaf-to-root": "traversal",
}
STRUCTURES = {name: kind for kind, names in KINDS.items() for name in names.split()}
#: Those of them that can be made without an instance.
OFFERING = [name for name in verifiers.STANDALONE if name in STRUCTURES]
#: Every kind of shape: no drafts, single paths, trunks, branches, both; those of conformance among them.
WAYS = (*SHAPES, (2, 1, 0, 0), (2, 1, 0, 3), (2, 1, 3, 0), (2, 1, 1, 2))
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
    found = {name: structure.name for name, structure in structures.items() if structure is not None}
    assert found | {"optimum": "path"} == STRUCTURES  # `optimum` needs a plan: see its own tests


@pytest.mark.parametrize("kind", [name for name in SCHEMES if name != "delayed"])
def test_no_structure_is_used_on_other_schemes(kind: str) -> None:
    scheme = SCHEMES[kind]()
    assert {structure_of(verifiers.make(name), scheme) for name in verifiers.STANDALONE} == {None}
    instance = next(conformance_instances((2, 1, 0, scheme.depth), 1))
    with pytest.raises(InvalidInput, match=r"nss offers no structured evaluation on .*; use the engine enumerate"):
        structured(verifiers.make("nss"), instance, scheme)


@pytest.mark.parametrize("name", [name for name in verifiers.STANDALONE if name not in STRUCTURES])
def test_verifiers_that_offer_nothing_are_refused_by_name(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} offers no structured evaluation on delayed"):
        structured(verifiers.make(name), next(conformance_instances((2, 2, 0, 1), 1)), Delayed(2, 0, 1))


def engine_of(name: str, chunk: int) -> Any:
    """The structured engine of a verifier, with chunks of this size."""
    structure, card = declared(verifiers.make(name)), verifiers.make(name).card
    return {
        "top-down": partial(top_down, structure, card, chunk=chunk),
        "layered": partial(layered_law, structure, chunk=chunk),
        "continued": partial(continued_law, structure, chunk=chunk),
        "path": partial(path_law, structure, chunk=chunk),
    }[str(STRUCTURES[name])]


def assert_same_metrics(found: Any, wanted: Any) -> None:
    assert found.depth_distribution == wanted.depth_distribution
    assert found.max_deviation == wanted.max_deviation
    assert (found.block_efficiency, found.variance) == (wanted.block_efficiency, wanted.variance)


@pytest.mark.one_in(64)
@pytest.mark.parametrize(("name", "shape"), [(name, shape) for shape in WAYS for name in OFFERING], ids=str)
def test_every_way_to_a_law_gives_the_enumerated_one(name: str, shape: tuple[int, int, int, int]) -> None:
    """At once, in chunks and summed up on the way: exactly."""
    verifier, scheme = verifiers.make(name), Delayed(*shape[1:])
    for instance in few(shape):
        law = enumerated(verifier, instance, scheme)
        rows, wanted = TableRows.of(instance.target, instance.draft), Metrics.of(law, instance.target)
        assert law.total == 1
        assert tables(structured_law(verifier, rows, scheme)) == tables(law)
        streamed = structured_metrics(verifier, rows, scheme)
        assert_same_metrics(streamed, wanted)
        assert not wanted.max_deviation or streamed.worst == wanted.worst
        assert streamed.total_variation == (None if wanted.max_deviation else 0)
        for chunk in (1, 7) if STRUCTURES[name] != "leaf-to-root" else ():
            whole, sums = LawSink(rows, scheme.depth), MetricsSink(rows, scheme.depth)
            for sink in (whole, sums):
                engine_of(name, chunk)(rows, scheme, sink)
            assert tables(whole.law()) == tables(law)
            assert_same_metrics(sums.metrics(), wanted)
            assert not wanted.max_deviation or sums.metrics().worst == wanted.worst


@pytest.mark.one_in(4)
@pytest.mark.parametrize("scheme", [Delayed(2, 1, 1), Delayed(2, 0, 2)], ids=str)
@pytest.mark.parametrize("name", OFFERING)
def test_roots_that_are_evaluated_at_once_have_their_own_laws(name: str, scheme: Delayed) -> None:
    instance, verifier = next(conformance_instances((3, 1, 0, 2), 1)), verifiers.make(name)
    rows = MarkovRows(*(MarkovProcess(side.tables[1], (0,)) for side in (instance.target, instance.draft)))
    together = structured_law(verifier, rows.starting_at(range(3)), scheme)
    for root in range(3):
        alone = structured_law(verifier, rows.starting_at([root]), scheme)
        assert tables(alone) == [
            masses[root * 3**d : (root + 1) * 3**d].tolist() for d, masses in enumerate(together.correction)
        ]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("device", [None, "cpu"], ids=["numpy", "torch"])
@pytest.mark.parametrize("name", OFFERING)
def test_laws_in_floats_differ_from_the_exact_one_by_rounding(name: str, device: str | None) -> None:
    if device:
        pytest.importorskip("torch", reason="the extra `models` is not installed")
    shape, verifier = (3, 2, 1, 1), verifiers.make(name)
    scheme, instances = Delayed(*shape[1:]), list(few(shape))
    laws = [structured(verifier, instance, scheme) for instance in instances]
    for instance, exact in zip(map(as_floats, instances), laws, strict=True):
        rows = TableRows.of(instance.target, instance.draft, device=device)
        law = structured_law(verifier, rows, scheme)
        for ours, theirs in zip(exact.correction, law.correction, strict=True):
            assert isinstance(theirs, np.ndarray)
            assert theirs.dtype == np.float64
            assert abs(ours.astype(np.float64) - theirs).max() <= ROUNDING
        streamed = structured_metrics(verifier, rows, scheme)
        assert streamed.depth_distribution == pytest.approx(law.depth_distribution, abs=ROUNDING)
        assert streamed.max_deviation == pytest.approx(law.max_deviation(instance.target), abs=ROUNDING)


@pytest.mark.parametrize("scheme", [Delayed(3, 0, 4), Delayed(2, 1, 3), Delayed(2, 3, 1), Delayed(1, 0, 4)], ids=str)
def test_a_child_law_is_asked_for_no_more_and_no_fewer_paths_than_there_may_be(scheme: Delayed) -> None:
    specinfer, asked = verifiers.make("specinfer"), set()

    def child_law(p: Any, q: Any, k: int) -> Any:
        asked.add(k)
        return declared(specinfer).child_law(p, q, k)

    class Asked:
        card, verify, structure = specinfer.card, specinfer.verify, TopDown(child_law=child_law)

    instance = next(conformance_instances((2, scheme.K, scheme.L1, scheme.L2), 1))
    law = structured(Asked(), instance, scheme)
    assert tables(law) == tables(structured(specinfer, instance, scheme))
    assert asked == {*range(1, scheme.K + 1)}
