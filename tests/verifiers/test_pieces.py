"""What verifiers declare of their own law, in pieces: each says what enumeration of their source says, exactly.

The same pieces in floats, in tensors, for many instances at once and for drafts that the told q could not give.
"""

from functools import partial
from itertools import islice, product
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from draftproof.experiments.claims import formulas
from draftproof.simulator import CallableProcess, Delayed, Instance, TableProcess, block_law, check
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import DySpec, Topology
from draftproof.simulator.laws.estimator import TreeEfficiency, tree_efficiency_by_coins
from draftproof.simulator.laws.guarded import verdicts
from draftproof.simulator.structures import branch_of, declared
from draftproof.simulator.verdicts.cases import CASES, case_instances, conformance_instances, corner_instances
from draftproof.verifiers import STANDALONE, make
from draftproof.verifiers.block import stop_probability
from draftproof.verifiers.optimal_transport import set_masses
from tests.lp_analysis.cases import best_acceptance
from tests.quick import quick

#: Those with a law of every child given the number of drafts, and of them those of one path.
TOP_DOWN = ["nss", "naive_tree", "specinfer", "spectr", "khisti", "optimal_transport", "gls"]
SINGLE_PATH = ["naive", "ensemble", "naive_from_target"]
#: Those with a law of the next token given the drafts.
BRANCHING = [name for name in STANDALONE if branch_of(make(name)) is not None]
#: Rounding of sums of fewer than a thousand terms of size at most 1.
ROUNDING = 1e-12


def one_step(size: int, k: int, count: int = 4) -> list[Instance]:
    shape = (size, k, 0, 1)
    return [*conformance_instances(shape, count), *corner_instances(shape)]


def rows(instance: Instance) -> tuple[Any, Any]:
    return instance.target.row(()), instance.draft.row(())


def many(size: int, k: int) -> tuple[Any, Any]:
    """The rows of all instances as two arrays of shape `(n, V)`."""
    pairs = [rows(instance) for instance in one_step(size, k)]
    return np.stack([p for p, _ in pairs]), np.stack([q for _, q in pairs])


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("name", "k"), [*product(dict.fromkeys([*TOP_DOWN, *BRANCHING]), (1, 2, 3)), *((name, 1) for name in SINGLE_PATH)]
)
def test_laws_of_a_step_are_those_of_every_draft_tree_and_coin(name: str, k: int) -> None:
    """That given the drafts, and that of the next token with the number of drafts that equal it."""
    verifier = make(name)
    branch, child_law = branch_of(verifier), getattr(declared(verifier), "child_law", None)
    for size in (2, 3):
        for instance in one_step(size, k, 2):
            wanted = RATIONAL.zeros(k + 1, size)
            for tree, weight in outcomes(partial(Delayed(k, 0, 1).draw, instance.draft), RATIONAL):
                given, drafted = RATIONAL.zeros(size), tree.children[()]
                masses = verdicts(verifier, tree, instance.target, instance.draft, RATIONAL)
                for (accepted, correction), mass in masses.items():
                    given[(*accepted, correction)[0]] += mass
                    place = (drafted.count(accepted[0]), accepted[0]) if accepted else (0, correction)
                    wanted[place] += weight * mass
                assert branch is None or branch(*rows(instance), drafted).tolist() == given.tolist()
            if child_law is not None:
                law = child_law(*rows(instance), k)
                assert all(type(value) is fmpq for value in law.ravel())
                assert law.tolist() == wanted.tolist()


@pytest.mark.parametrize(("name", "k"), [*product(TOP_DOWN, (1, 2, 3, 4, 6)), *((name, 1) for name in SINGLE_PATH)])
def test_what_is_short_for_the_child_law_says_the_same_in_every_arithmetic(name: str, k: int) -> None:
    verifier = make(name)
    for size in (2, 3, 4):
        p, q = many(size, k)
        whole = declared(verifier).child_law(p, q, k)
        if name in (*TOP_DOWN, "naive"):
            assert whole.sum(0).tolist() == p.tolist(), "a lossless step has the law p"
        if name in TOP_DOWN:
            rates = whole[1:].sum((0, -1)).tolist()
            if (published := getattr(formulas, name, None)) is not None:
                assert [published(*pair, k) for pair in zip(p, q, strict=True)] == rates
        if (last_step := getattr(declared(verifier), "last_step", None)) is not None:
            stops, goes = last_step(p, q, {k: 1})
            assert (stops.tolist(), goes.tolist()) == (whole[0].tolist(), whole[1:].sum(0).tolist())
            for exact, found in zip((stops, goes), last_step(*map(FLOAT64.vector, (p, q)), {k: 1}), strict=True):
                assert abs(found - exact.astype(np.float64)).max() <= ROUNDING
                assert (found >= 0).all()
        floats = declared(verifier).child_law(*map(FLOAT64.vector, (p, q)), k)
        assert abs(floats - whole.astype(np.float64)).max() <= ROUNDING


@pytest.mark.parametrize("name", [*TOP_DOWN, *SINGLE_PATH])
def test_many_instances_at_once_and_tensors_equal_row_by_row(name: str) -> None:
    torch = pytest.importorskip("torch", reason="the extra `models` is not installed")
    child_law, k = declared(make(name)).child_law, 1 if name in SINGLE_PATH else 3
    exact = many(3, k)
    rounded = tuple(FLOAT64.vector(side) for side in exact)
    for p, q in (exact, rounded):
        alone = np.stack([child_law(*pair, k) for pair in zip(p, q, strict=True)], axis=1)
        for leading in ((9,), (3, 3), (9, 1, 1)):
            together = child_law(p.reshape(*leading, 3), q.reshape(*leading, 3), k)
            assert (together.shape, together.dtype) == ((k + 1, *leading, 3), p.dtype)
            assert abs(together.reshape(alone.shape) - alone).max() <= (0 if p.dtype == object else ROUNDING)
    tensors = child_law(*map(torch.from_numpy, rounded), k)
    assert tensors.dtype == torch.float64
    assert abs(tensors.numpy() - child_law(*exact, k).astype(np.float64)).max() <= ROUNDING


@pytest.mark.one_in(2)
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_optimal_transport_attains_the_single_step_optimum_and_no_other_is_above(k: int) -> None:
    for size in (2, 3, 4):
        for instance in one_step(size, k, 3):
            optimum = 1 + as_python(best_acceptance(*rows(instance), k))
            law = check(
                make("optimal_transport"), instance.target, instance.draft, Delayed(k, 0, 1), engine="enumerate"
            )
            assert law.block_efficiency == optimum
            laws = [declared(make(name)).child_law(*rows(instance), k) for name in TOP_DOWN]
            assert all(1 + as_python(law[1:].sum()) <= optimum for law in laws)


@pytest.mark.one_in(32)
@pytest.mark.parametrize("name", [name for name in STANDALONE if name != "spechub"])  # it has its own pairs
def test_the_estimate_of_a_tree_is_that_of_the_coins_and_averages_to_block_efficiency(name: str) -> None:
    verifier = make(name)
    for number, case in enumerate(CASES["delayed"]):
        for instance in islice(case_instances(case, 1), number % 3, None, 3):  # every corner case, over the shapes
            mean = RATIONAL.number(0)
            for tree, weight in outcomes(partial(case[1].draw, instance.draft), RATIONAL):
                root = tree.root(instance.target, instance.draft)
                value = TreeEfficiency(verifier).of(root)
                assert value == tree_efficiency_by_coins(verifier, root)
                mean += weight * value
            law = check(verifier, instance.target, instance.draft, case[1], engine="enumerate")
            assert as_python(mean) == law.block_efficiency


@pytest.mark.parametrize("name", ["traversal", "traversal_insertion_order", "rejection_without_replacement"])
@pytest.mark.parametrize("scheme", quick([DySpec(4), Topology((2, 2, 1, 0, 0, 0))], [DySpec(4)]), ids=str)
def test_the_estimate_on_trees_of_other_kinds_is_that_of_the_coins(name: str, scheme: Any) -> None:
    for instance in case_instances((3, scheme), 1):
        every = TreeEfficiency(make(name))
        for tree, _ in outcomes(partial(scheme.draw, instance.draft), RATIONAL):
            root = tree.root(instance.target, instance.draft)
            assert every.of(root) == tree_efficiency_by_coins(make(name), root)


def test_khisti_loses_nothing_by_a_draft_after_the_winner_has_the_law_of_the_target() -> None:
    """After two drafts `r = p`, and `q` is another law: equal weights would pull the winner back towards `q`."""
    target, draft = (CallableProcess(2, lambda context, row=row: row) for row in (["3/4", "1/4"], ["1/2", "1/2"]))
    for K in (2, 3, 4):
        assert check(make("khisti"), target, draft, Delayed(K, 0, 1)).block_efficiency == 2


def tied(size: int, depth: int, seed: int) -> Instance:
    """Rows where tokens have the same `p/q`: `p` is `q` with one factor on some tokens and another on the rest."""
    generator = np.random.default_rng(seed)
    target, draft = [], []
    for length in range(depth + 1):
        units = generator.integers(1, 12, size=(size**length, size))
        q = RATIONAL.vector(units) / RATIONAL.vector(units.sum(axis=1, keepdims=True))
        first = RATIONAL.vector(generator.integers(0, 2, size=q.shape))
        mass = (q * first).sum(axis=1, keepdims=True)
        share = RATIONAL.vector(generator.integers(1, 13, size=mass.shape)) / 13
        both = (mass > 0) & (mass < 1)
        p = q * (first * share / (mass + (mass == 0)) + (1 - first) * (1 - share) / (1 - mass + (mass == 1)))
        target.append(np.where(both, p, q))
        draft.append(q)
    return Instance(TableProcess(target, "target"), TableProcess(draft, "draft"))


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    ("size", "scheme"), [(3, Delayed(2, 0, 1)), (4, Delayed(2, 0, 1)), (3, Delayed(2, 0, 2))], ids=str
)
@pytest.mark.parametrize("engine", ["auto", "enumerate"])
@pytest.mark.parametrize("name", [name for name in STANDALONE if name != "spechub"])
def test_float64_ranks_tokens_of_equal_quotients_as_rationals_do(
    name: str, engine: str, size: int, scheme: Delayed
) -> None:
    for seed in range(4 if scheme.depth == 1 else 2):
        instance = tied(size, scheme.depth, seed)
        exact, rounded = (
            block_law(make(name), instance.target, instance.draft, scheme, arithmetic, engine)
            for arithmetic in ("rational", "float64")
        )
        for ours, theirs in zip(exact.correction, rounded.correction, strict=True):
            assert abs(ours.astype(np.float64) - theirs).max() <= FLOAT64.tolerance


def test_tiny_numbers_stay_what_they_are_in_float64() -> None:
    """Inclusion and exclusion would cancel here: q = 1 - 2e-9, 1e-9, 1e-9; p and q differ by rounding alone."""
    masses = set_masses([[1 - 2e-9, 1e-9, 1e-9]] * 3)
    assert masses[0, 1, 2] == pytest.approx(6 * (1 - 2e-9) * 1e-18, rel=1e-12)  # rounding of a product
    assert sum(masses.values()) == pytest.approx(1, abs=1e-12)
    p, q = np.array([0.1 + 0.2, 0.7]), np.array([0.3, 0.7])
    assert 0 < (p - q)[0] < 1e-15
    assert 0 <= stop_probability(1, p, q) <= 1
