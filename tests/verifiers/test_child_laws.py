"""Child laws equal the enumeration of all drafts and coins at one node, exactly; arrays of any kind and shape agree."""

from functools import partial

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator import Delayed
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.coins import outcomes
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.laws.enumeration import verdicts
from draftproof.simulator.vectors import minimum, power, sums
from draftproof.simulator.verdicts.cases import conformance_instances, corner_instances
from draftproof.verifiers import _rho, make

TOP_DOWN = ["nss", "naive_tree", "specinfer", "spectr", "khisti", "optimal_transport", "gls"]
SINGLE_PATH = ["naive", "ensemble", "naive_from_target"]
#: (verifier, V, k)
CASES = [(name, size, k) for name in TOP_DOWN for size in (2, 3) for k in (1, 2, 3, 4)] + [
    (name, size, 1) for name in SINGLE_PATH for size in (2, 3)
]
#: Rounding of sums of fewer than a thousand terms of size at most 1.
ROUNDING = 1e-12


def one_step(size: int, k: int, count: int = 4):
    yield from conformance_instances((size, k, 0, 1), count)
    yield from corner_instances((size, k, 0, 1))


def rows(instance):
    return instance.target.row(()), instance.draft.row(())


def many(size: int, k: int):
    """The rows of all instances as two arrays of shape `(n, V)`."""
    pairs = [rows(instance) for instance in one_step(size, k)]
    return np.stack([p for p, _ in pairs]), np.stack([q for _, q in pairs])


def enumerated(verifier, instance, k: int):
    """The child law from every draft tree and every coin of one step."""
    law = RATIONAL.zeros(k + 1, instance.vocab_size)
    for tree, weight in outcomes(partial(Delayed(k, 0, 1).draw, instance.draft), RATIONAL):
        masses = verdicts(verifier, tree, instance.target, instance.draft, RATIONAL)
        for (accepted, correction), mass in masses.items():
            place = (tree.children[()].count(accepted[0]), accepted[0]) if accepted else (0, correction)
            law[place] += weight * mass
    return law


def assert_equals_enumeration(child_law, verifier, instance, k: int) -> None:
    law = child_law(*rows(instance), k)
    assert law.shape == (k + 1, instance.vocab_size)
    assert all(type(value) is fmpq for value in law.ravel())
    assert law.tolist() == enumerated(verifier, instance, k).tolist()
    assert law.sum() == 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "size", "k"), CASES)
def test_child_law_equals_enumeration(name, size, k):
    verifier = make(name)
    for instance in one_step(size, k):
        assert_equals_enumeration(verifier.structure.child_law, verifier, instance, k)


@pytest.mark.parametrize("name", TOP_DOWN)
@pytest.mark.parametrize("k", [1, 2, 3, 4, 6])
def test_going_on_has_the_acceptance_rate(name, k):
    verifier = make(name)
    p, q = many(3, k)
    law = verifier.structure.child_law(p, q, k)
    assert law[1:].sum((0, -1)).tolist() == verifier.acceptance_rate(p, q, k).tolist()
    assert law.sum((0, -1)).tolist() == [1] * len(p)
    assert law.sum(0).tolist() == p.tolist(), "a lossless step has the law p"


@pytest.mark.parametrize("name", TOP_DOWN + SINGLE_PATH)
def test_many_instances_at_once_equal_row_by_row(name):
    verifier = make(name)
    k = 1 if name in SINGLE_PATH else 3
    exact = many(3, k)
    rounded = tuple(FLOAT64.vector(side) for side in exact)
    for p, q in (exact, rounded):
        alone = np.stack([verifier.structure.child_law(*pair, k) for pair in zip(p, q, strict=True)], axis=1)
        for leading in ((9,), (3, 3), (1, 9), (9, 1, 1)):
            together = verifier.structure.child_law(p.reshape(*leading, 3), q.reshape(*leading, 3), k)
            assert together.shape == (k + 1, *leading, 3)
            assert together.dtype == p.dtype
            gap = abs(together.reshape(alone.shape) - alone).max()
            assert gap <= (0 if p.dtype == object else ROUNDING)


@pytest.mark.parametrize("name", TOP_DOWN + SINGLE_PATH)
def test_float64_and_torch_agree_with_rational(name):
    torch = pytest.importorskip("torch", reason="the extra `models` is not installed")
    verifier = make(name)
    for k in (1,) if name in SINGLE_PATH else (1, 2, 3, 4):
        exact = many(3, k)
        p, q = (FLOAT64.vector(side) for side in exact)
        wanted = verifier.structure.child_law(*exact, k).astype(np.float64)
        assert abs(verifier.structure.child_law(p, q, k) - wanted).max() <= ROUNDING
        tensors = verifier.structure.child_law(torch.from_numpy(p), torch.from_numpy(q), k)
        assert tensors.dtype == torch.float64
        assert abs(tensors.numpy() - wanted).max() <= ROUNDING


def bisected(p, q, k):
    """`rho` by bisection alone, 1 where that is allowed."""
    one = sums(p * 0) + 1
    plain = _rho._allowed(p, q, k, one)
    return plain + _rho._bisected(p, q, k) * (1 - plain)


def test_the_division_of_spectr_equals_bisection_exactly():
    for k in (2, 3, 4, 7):
        p, q = many(3, k)
        assert _rho.smallest_rho(p, q, k).tolist() == bisected(p, q, k).tolist()
        for row, instance in enumerate(one_step(3, k)):
            assert _rho.smallest_rho(*rows(instance), k).tolist() == bisected(p, q, k)[row].tolist()


@pytest.mark.parametrize("family", ["dirichlet", "perturbed", "zeros", "equal", "disjoint"])
@pytest.mark.parametrize("k", [2, 4, 8])
def test_the_division_of_spectr_equals_bisection_in_float64(family, k):
    """Equal wherever the condition does not hold with equality up to rounding, and always allowed or `k`."""
    p, q = FAMILIES[family].draw(np.random.default_rng(k), 2000, 4, **FAMILIES[family].parameters)
    ours, theirs = _rho.smallest_rho(p, q, k), bisected(p, q, k)
    assert ((_rho._allowed(p, q, k, ours) == 1) | (ours == k)).all()
    assert ((ours >= 1) & (ours <= k)).all()
    beta = sums(minimum(p / theirs, q))
    gap = abs(1 - power(1 - beta, k) - theirs * beta)
    clear = gap > ROUNDING
    assert (ours == theirs)[clear].all()
    least = {"dirichlet": 0.95, "perturbed": 0.95, "zeros": 0.7}.get(family, 0)
    assert clear.mean() >= least, "too few rows were compared"
