"""What a user's verifier offers is used as it is, and found out where it is not what the verifier does."""

from collections.abc import Callable
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from draftproof.simulator import FAMILIES, Delayed, InvalidVerifier
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts.delayed import SHAPES
from draftproof.simulator.laws.guarded import guarded_law
from draftproof.simulator.laws.structured import TableRows, assert_structure_agrees, structure_of, structured_law
from draftproof.simulator.laws.structured.guard import TREES, _cases
from draftproof.simulator.laws.structured.top_down import child_law_by_branch
from draftproof.simulator.structures import TopDown, declared
from draftproof.simulator.verdicts.cases import conformance_instances, corner_instances
from draftproof.simulator.verdicts.lossless import choose_engine
from draftproof.verifiers import make
from tests.judged import kinds_failed
from tests.modules import module_of

USERS = module_of(Path(__file__).parents[2] / "data" / "liars.py")
HONEST = [USERS.InOrder, USERS.LikeliestHalf]
#: Every liar with the conformance checks that find it out.
LIARS = {
    USERS.LyingBranch: {"structured-equals-enumerated"},
    USERS.LyingCard: {"structured-equals-enumerated", "branch-ignores-order"},
    USERS.LyingChildLaw: {"structured-equals-enumerated"},
    USERS.LyingLastStep: {"structured-equals-enumerated"},
    USERS.LyingSettle: {"structured-equals-enumerated"},
    USERS.LyingSelect: {"structured-equals-enumerated"},
    USERS.LyingBeside: {"structured-equals-enumerated"},
    USERS.LyingRule: {"structured-equals-enumerated"},
    USERS.LyingReject: {"structured-equals-enumerated"},
    USERS.LyingInTheDeep: {"structured-equals-enumerated"},
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", HONEST, ids=lambda kind: kind.__name__)
def test_a_verifier_with_branch_alone_is_evaluated_top_down(kind: Callable[[], Any]) -> None:
    user = kind()
    assert user.structure.child_law is None
    assert isinstance(structure_of(user, Delayed(2, 0, 1)), TopDown)
    assert choose_engine(user, Delayed(2, 0, 1)) == "enumerate"
    assert choose_engine(user, Delayed(2, 0, 1), "structured") == "structured (top-down)"
    for shape in (*SHAPES, (2, 2, 1, 3)):
        scheme = Delayed(*shape[1:])
        for instance in (*conformance_instances(shape, 2), *corner_instances(shape)):
            ours = structured_law(user, TableRows.of(instance.target, instance.draft), scheme)
            theirs = guarded_law(user, instance.target, instance.draft, scheme)
            assert [masses.tolist() for masses in ours.correction] == [masses.tolist() for masses in theirs.correction]


@pytest.mark.parametrize("exchangeable", [True, False])
def test_one_arrangement_of_every_multiset_is_enough_where_the_order_does_not_matter(exchangeable: bool) -> None:
    asked: list[tuple[int, ...]] = []

    def branch(p: Any, q: Any, drafted: tuple[int, ...]) -> Any:
        asked.append(drafted)
        return declared(make("specinfer")).branch(p, q, drafted)

    instance = next(conformance_instances((3, 3, 0, 1), 1))
    p, q = instance.target.tables[0], instance.draft.tables[0]
    law = child_law_by_branch(branch, exchangeable, p, q, 3)
    assert law.tolist() == declared(make("specinfer")).child_law(p, q, 3).tolist()
    assert asked == list(combinations_with_replacement(range(3), 3) if exchangeable else product(range(3), repeat=3))


@pytest.mark.parametrize("name", ["naive_tree", "spectr", "khisti", "rejection_without_replacement", "threshold"])
def test_verifiers_whose_branch_depends_on_the_order_do_not_declare_otherwise(name: str) -> None:
    verifier: Any = make(name)
    assert not verifier.card.exchangeable
    pairs = [(i.target.row(()), i.draft.row(())) for i in conformance_instances((3, 3, 0, 1), 4)]
    laws = [[declared(verifier).branch(p, q, drafted).tolist() for drafted in permutations(range(3))] for p, q in pairs]
    assert any(law != others[0] for others in laws for law in others)


@pytest.mark.heavy
@pytest.mark.parametrize("liar", LIARS, ids=lambda liar: liar.__name__)
def test_a_liar_does_what_is_right_and_is_found_out_by_exactly_these_checks(liar: Callable[[], Any]) -> None:
    assert kinds_failed(liar()) == LIARS[liar]


@pytest.mark.one_in(18)
@pytest.mark.parametrize(
    ("liar", "size", "scheme"),
    [
        (liar, size, scheme)
        for size, scheme in (
            (2, Delayed(3, 0, 2)),
            (50, Delayed(3, 1, 1)),
            (3, Delayed(3, 1, 2)),
            (8, Delayed(4, 0, 1)),
        )
        for liar in LIARS
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_liar_does_not_get_past_the_guard(liar: Callable[[], Any], size: int, scheme: Delayed) -> None:
    """With many tokens too, where only a single path of the scheme could be enumerated."""
    instance = FAMILIES["dirichlet"].instance(size, scheme.depth, np.random.default_rng(0), 100)
    with pytest.raises(InvalidVerifier, match=r"verify and the structure that it offers give two laws on delayed\(K="):
        assert_structure_agrees(liar(), instance.target, instance.draft, scheme, RATIONAL)


@pytest.mark.parametrize("scheme", [Delayed(1, 0, 1), Delayed(2, 0, 2), Delayed(5, 3, 3), Delayed(3, 1, 9)], ids=str)
def test_what_is_offered_is_compared_where_it_is_quick_and_with_paths_and_a_trunk(scheme: Delayed) -> None:
    instance = next(conformance_instances((2, 1, scheme.L1, scheme.L2), 1))
    own, *fixed = [shape for *_, shape in _cases(instance.target, instance.draft, scheme, RATIONAL)]
    assert 2**own.nodes <= TREES
    assert own.depth <= scheme.depth
    assert {shape.depth for shape in fixed} == {2}
    assert {shape.L1 for shape in fixed} == {0, 1}
    assert max(shape.K for shape in fixed) == min(scheme.K, 4)
