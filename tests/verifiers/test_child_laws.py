"""Child laws equal the enumeration of all drafts and coins at one node, exactly; arrays of any kind and shape agree."""

from functools import partial

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator import Delayed
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.coins import outcomes
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.laws.enumeration import verdicts
from draftproof.simulator.vectors import counted, layers, minimum, positive_part, power, residuals, sums, times
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


@pytest.mark.parametrize("name", SINGLE_PATH)
def test_single_path_verifiers_look_at_one_draft_only(name):
    p, q = many(2, 1)
    with pytest.raises(InvalidInput, match="needs k = 1, not 2"):
        make(name).structure.child_law(p, q, 2)


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


@pytest.mark.parametrize("name", TOP_DOWN + SINGLE_PATH)
def test_rows_that_come_in_are_left_alone(name):
    p, q = many(2, 1)
    for side in (p, q):
        side.setflags(write=False)
    before = p.tolist(), q.tolist()
    law = make(name).structure.child_law(p, q, 1)
    law += law
    assert (p.tolist(), q.tolist()) == before


def with_any_token_rejected(p, q, k):
    """The child law of `specinfer`, but a rejected draft has the factor `1 - q + q z`, as if no token were spared."""
    missed, parts = 1, [p * 0] * (k + 1)
    for _ in range(k):
        added = times(counted(q, k - 1), p * 0, missed * minimum(p, q))
        parts = [a + b for a, b in zip(parts, added, strict=True)]
        missed = missed * sums(positive_part(q - p))
        p = residuals(p, q)
    return layers([a + missed * p * b for a, b in zip(parts, counted(q, k), strict=True)])


def with_mass_of_a_lossless_rejection(p, q, k):
    """The child law of `naive_from_target`, but what replaces a rejected token makes up for what `p` lacks."""
    accepted = minimum(p, q)
    return layers([p - accepted, accepted])


@pytest.mark.parametrize(
    ("name", "wrong", "k"),
    [
        ("specinfer", with_any_token_rejected, 2),
        ("naive_from_target", with_mass_of_a_lossless_rejection, 1),
        ("spectr", make("specinfer").structure.child_law, 2),
        ("nss", lambda p, q, k: make("nss").structure.child_law(q, q, k), 2),
    ],
)
def test_a_wrong_child_law_is_noticed(name, wrong, k):
    instance = next(conformance_instances((2, k, 0, 1), 1))
    assert wrong(*rows(instance), k).sum() == 1, "its mass must not give it away"
    with pytest.raises(AssertionError):
        assert_equals_enumeration(wrong, make(name), instance, k)


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


@pytest.mark.parametrize("root", [1, 2, 4])
def test_a_wrong_root_in_floats_costs_time_only(monkeypatch, root):
    p, q = many(3, 4)
    wanted, begun, bisect = bisected(p, q, 4), [], _rho._bisected
    monkeypatch.setattr(_rho, "_root", lambda p, q, k: sums(p * 0) + root)
    monkeypatch.setattr(_rho, "_bisected", lambda *rows: begun.append(len(rows[0])) or bisect(*rows))
    assert _rho.smallest_rho(p, q, 4).tolist() == wanted.tolist()
    assert begun == [(wanted > 1).sum()]
    assert [_rho.smallest_rho(*pair, 4).tolist() for pair in zip(p, q, strict=True)] == wanted.tolist()


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


def test_positive_part_and_minimum_keep_the_kind_of_number():
    torch = pytest.importorskip("torch", reason="the extra `models` is not installed")
    a, b = [-0.5, 0.0, 0.25], [0.5, -1.0, 0.25]
    for dtype in (np.float16, np.float32, np.float64):
        found = positive_part(np.array(a, dtype)), minimum(np.array(a, dtype), np.array(b, dtype))
        assert [x.dtype for x in found] == [dtype, dtype]
        assert [x.tolist() for x in found] == [[0, 0, 0.25], [-0.5, -1, 0.25]]
    for dtype in (torch.float32, torch.float64):
        found = positive_part(torch.tensor(a, dtype=dtype)), minimum(torch.tensor(a, dtype=dtype), torch.tensor(b))
        assert [x.dtype for x in found] == [dtype, dtype]
        assert [x.tolist() for x in found] == [[0, 0, 0.25], [-0.5, -1, 0.25]]
    exact = (
        positive_part(RATIONAL.vector(["-1/2", 0, "1/4"])),
        minimum(RATIONAL.vector([0, 1]), RATIONAL.vector([1, 0])),
    )
    assert [x.tolist() for x in exact] == [[0, 0, fmpq(1, 4)], [0, 0]]
    assert all(type(value) is fmpq for x in exact for value in x)
