"""The smallest tree, and what a structured engine asks of the functions that a verifier offers."""

from typing import Any

import numpy as np
import pytest

from draftproof import verifiers
from draftproof.simulator import BlockLaw, Delayed, Instance, InvalidInput
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.laws.structured import TableRows, structured_law
from draftproof.simulator.laws.structured.guard import TREES, _cases
from draftproof.simulator.protocol import Verifier
from draftproof.simulator.structures import TopDown, declared
from draftproof.simulator.verdicts.cases import conformance_instances


def structured(verifier: Verifier, instance: Instance, scheme: Delayed) -> BlockLaw:
    return structured_law(verifier, TableRows.of(instance.target, instance.draft), scheme)


def tables(law: BlockLaw) -> list[list[Any]]:
    return [masses.tolist() for masses in law.correction]


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


@pytest.mark.parametrize(("name", "depth"), [("target", 0), ("target", 2), ("draft", 1)])
@pytest.mark.parametrize("wrong", [(1, 3), (4, 2), (2, 2), (9, 3)], ids=str)
def test_tables_of_another_shape_are_named(name: str, depth: int, wrong: tuple[int, int]) -> None:
    tables = {each: [np.full((2 * 3**d, 3), 1 / 3) for d in range(3)] for each in ("target", "draft")}
    TableRows(**tables, roots=2)
    tables[name][depth] = np.full(wrong, 0.5)
    with pytest.raises(InvalidInput, match=r"(target|draft): table \d has shape .*; it must be "):
        TableRows(**tables, roots=2)


@pytest.mark.parametrize("scheme", [Delayed(1, 0, 1), Delayed(2, 0, 2), Delayed(5, 3, 3), Delayed(3, 1, 9)], ids=str)
def test_what_is_offered_is_compared_where_it_is_quick_and_with_paths_and_a_trunk(scheme: Delayed) -> None:
    instance = next(conformance_instances((2, 1, scheme.L1, scheme.L2), 1))
    own, *fixed = [shape for *_, shape in _cases(instance.target, instance.draft, scheme, RATIONAL)]
    assert 2**own.nodes <= TREES
    assert own.depth <= scheme.depth
    assert {shape.depth for shape in fixed} == {2}
    assert {shape.L1 for shape in fixed} == {0, 1}
    assert max(shape.K for shape in fixed) == min(scheme.K, 4)
