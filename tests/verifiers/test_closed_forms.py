"""Closed forms of top-down verifiers equal enumeration exactly; torch equals numpy; so does the estimator."""

from functools import partial
from itertools import combinations, islice, product

import pytest

from draftproof.experiments.claims import formulas
from draftproof.simulator import CallableProcess, Delayed, check
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import DySpec, Topology
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.laws.enumeration import verdicts
from draftproof.simulator.laws.estimator import TreeEfficiency, tree_efficiency, tree_efficiency_by_coins
from draftproof.simulator.structures import branch_of
from draftproof.simulator.verdicts.cases import CASES, case_instances, conformance_instances, corner_instances
from draftproof.verifiers import STANDALONE, make
from draftproof.verifiers._tournament import tournament
from draftproof.verifiers.khisti import law_of
from draftproof.verifiers.optimal_transport import set_masses
from tests.quick import quick

TOP_DOWN = ["nss", "naive_tree", "specinfer", "spectr", "khisti", "optimal_transport", "gls"]
#: Those of other schemes: their branching laws hold for any drafts.
OTHERS = ["rejection_without_replacement", "greedy_multi_draft", "sequoia", "threshold"]


def one_step(size: int, k: int, count: int = 3):
    yield from conformance_instances((size, k, 0, 1), count)
    yield from corner_instances((size, k, 0, 1))


#: The formulas of the papers, which the child laws must add up to.
PUBLISHED = {name: getattr(formulas, name) for name in ("nss", "naive_tree", "specinfer", "spectr", "khisti")}


@pytest.mark.parametrize("k", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("name", PUBLISHED)
def test_acceptance_rate_equals_the_published_formula(name, k):
    for size in (2, 3, 4):
        for instance in one_step(size, k):
            p, q = instance.target.row(()), instance.draft.row(())
            assert PUBLISHED[name](p, q, k) == make(name).acceptance_rate(p, q, k)


def test_the_verifiers_with_closed_forms_are_the_ones_named_here():
    assert [name for name in STANDALONE if branch_of(make(name)) is not None] == TOP_DOWN + OTHERS


@pytest.mark.parametrize("k", quick([1, 2, 3], (1, 2)))
@pytest.mark.parametrize("name", TOP_DOWN + OTHERS)
def test_branching_probabilities_equal_enumeration(name, k):
    verifier = make(name)
    for size in (2, 3):
        for instance in one_step(size, k, 2):
            p, q = instance.target.row(()), instance.draft.row(())
            for tree, _ in outcomes(partial(Delayed(k, 0, 1).draw, instance.draft), RATIONAL):
                law = verifier.structure.branch(p, q, tree.children[()])
                found = RATIONAL.zeros(size)
                for (accepted, token), mass in verdicts(
                    verifier, tree, instance.target, instance.draft, RATIONAL
                ).items():
                    found[(*accepted, token)[0]] += mass
                assert law.tolist() == found.tolist()


ZEROS = [["1/2", "1/2", "0"], ["0", "1/3", "2/3"], ["1", "0", "0"], ["1/4", "1/4", "1/2"], ["0", "0", "1"]]
#: Its plan has no sets of drafts that q never draws.
PLANNED = {"optimal_transport"}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", sorted({*TOP_DOWN, *OTHERS, "traversal"} - PLANNED))
def test_drafts_with_a_told_q_of_zero_are_judged_alike_by_formulas_and_by_verify(name):
    verifier = make(name)
    for target, draft in product(ZEROS, ZEROS):
        p, q = (MarkovProcess(RATIONAL.vector([row] * 3), (0,), "rows") for row in (target, draft))
        for drafts in ([(0,)], [(2,)], [(0,), (1,)], [(2,), (0,)], [(2,), (2,)], [(0, 2), (1, 0)]):
            tree = DraftTree.from_paths((), drafts)
            assert tree_efficiency(verifier, tree.root(p, q)) == tree_efficiency_by_coins(verifier, tree.root(p, q))
            for (accepted, token), mass in verdicts(verifier, tree, p, q, RATIONAL).items():
                assert not mass or all(p.row(())[each] for each in (*accepted, token))


@pytest.mark.parametrize("name", ["naive", "block", "specinfer", "naive_tree", "spectr", "khisti", "traversal"])
def test_a_draft_with_a_told_q_of_zero_is_accepted_where_p_is_above_zero(name):
    p = MarkovProcess(RATIONAL.vector([["1/4", "0", "3/4"]] * 3), (0,), "p")
    q = MarkovProcess(RATIONAL.vector([["0", "0", "1"]] * 3), (0,), "q")
    for token, depth in ((0, 1), (1, 0)):
        found = verdicts(make(name), DraftTree.from_paths((), [(token,)]), p, q, RATIONAL)
        assert {len(accepted) for (accepted, _), mass in found.items() if mass} == {depth}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_optimal_transport_attains_the_single_step_optimum(k):
    for size in (2, 3, 4):
        for instance in one_step(size, k):
            p, q = ([as_python(value) for value in process.row(())] for process in (instance.target, instance.draft))
            subsets = [set(some) for r in range(size + 1) for some in combinations(range(size), r)]
            optimum = min(
                sum(p[y] for y in range(size) if y not in some) + 1 - (1 - sum(q[y] for y in some)) ** k
                for some in subsets
            )
            found = check(
                make("optimal_transport"), instance.target, instance.draft, Delayed(k, 0, 1), engine="enumerate"
            )
            assert found.block_efficiency == 1 + optimum
            for other in TOP_DOWN:
                rate = make(other).acceptance_rate(instance.target.row(()), instance.draft.row(()), k)
                assert as_python(rate) <= optimum


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_lower_bound_of_khisti_is_one(k):
    strict = 0
    for size in (2, 3):
        for instance in one_step(size, k, 6):
            p, q = instance.target.row(()), instance.draft.row(())
            bound = sum(min(a, b) for a, b in zip(p, law_of(tournament(p, q, k), q), strict=True))
            rate = make("khisti").acceptance_rate(p, q, k)
            assert bound <= rate
            strict += bound < rate
    assert strict > 0 or k == 1


@pytest.mark.one_in(32)
@pytest.mark.parametrize("name", [name for name in STANDALONE if name != "spechub"])  # it has its own pairs
def test_fixed_tree_estimator_equals_the_coins_and_averages_to_block_efficiency(name):
    verifier = make(name)
    for number, case in enumerate(CASES["delayed"]):
        for instance in islice(case_instances(case, 1), number % 3, None, 3):  # every corner case, over the shapes
            mean = RATIONAL.number(0)
            for tree, weight in outcomes(partial(case[1].draw, instance.draft), RATIONAL):
                root = tree.root(instance.target, instance.draft)
                value = tree_efficiency(verifier, root)
                assert value == tree_efficiency_by_coins(verifier, root)
                mean += weight * value
            law = check(verifier, instance.target, instance.draft, case[1], engine="enumerate")
            assert as_python(mean) == law.block_efficiency


@pytest.mark.parametrize("name", ["traversal", "traversal_insertion_order", "rejection_without_replacement"])
@pytest.mark.parametrize("scheme", [DySpec(4), Topology((2, 2, 1, 0, 0, 0))])
def test_fixed_tree_estimator_equals_the_coins_on_trees_of_other_kinds(name, scheme):
    for instance in case_instances((3, scheme), 2):
        every = TreeEfficiency(make(name))
        for tree, _ in outcomes(partial(scheme.draw, instance.draft), RATIONAL):
            root = tree.root(instance.target, instance.draft)
            assert every.of(root) == tree_efficiency_by_coins(make(name), root)


def test_sets_whose_probability_is_tiny_are_kept_in_float64():
    """Inclusion and exclusion would cancel here: q = 1 - 2e-9, 1e-9, 1e-9."""
    masses = set_masses([[1 - 2e-9, 1e-9, 1e-9]] * 3)
    assert masses[0, 1, 2] == pytest.approx(6 * (1 - 2e-9) * 1e-18, rel=1e-12)  # rounding of a product
    assert sum(masses.values()) == pytest.approx(1, abs=1e-12)


def test_khisti_loses_nothing_by_a_draft_after_the_winner_has_the_law_of_the_target():
    """After two drafts `r = p`, and `q` is another law: equal weights would pull the winner back towards `q`."""
    target, draft = (CallableProcess(2, lambda context, row=row: row) for row in (["3/4", "1/4"], ["1/2", "1/2"]))
    for K in (2, 3, 4):
        assert check(make("khisti"), target, draft, Delayed(K, 0, 1)).block_efficiency == 2
