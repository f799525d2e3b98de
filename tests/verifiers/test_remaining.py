"""What is left of a target as drafts are rejected: the same where laws tell their few tokens as where they do not."""

from fractions import Fraction

import numpy as np
import pytest

from draftproof.simulator import check, few
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import Stratified, _parts
from draftproof.simulator.verdicts.cases import case_instances
from draftproof.verifiers import _branch_groups, _remaining, make
from draftproof.verifiers._remaining import Remaining
from draftproof.verifiers.layer_transport import LayerTransport


@pytest.fixture
def told(monkeypatch):
    """Short rows tell their tokens, too; every law that reads them is counted."""
    asked = []

    def counted(row):
        found = few.few_tokens(row)
        asked.append(found is not None)
        return found

    monkeypatch.setattr(few, "LONG", 0)
    monkeypatch.setattr(_parts, "MANY", 1)
    for module in _remaining, _branch_groups:
        monkeypatch.setattr(module, "few_tokens", counted)
    return asked


def some_law(generator, size):
    masses = generator.integers(1, 9, size) * (generator.random(size) < 0.6)
    masses[generator.integers(size)] += 1
    return RATIONAL.vector([Fraction(int(mass), int(masses.sum())) for mass in masses])


def left_of(p, weight, laws):
    """Acceptances of all tokens, the weight and the law of a token that is drawn, after each rejection."""
    left, seen = Remaining(p, weight), []
    for law in laws:
        drawn = {token: as_python(mass) for token, mass in outcomes(Remaining(p, weight).draw, RATIONAL)}
        accepted = [as_python(left.acceptance(other, token)) for other in laws for token in range(len(p))]
        seen.append((accepted, as_python(left.weight), drawn, left.reject(law)))
    return [*seen, {token: as_python(mass) for token, mass in outcomes(left.draw, RATIONAL)}]


@pytest.mark.parametrize("cancels", [0, 2, 64])
def test_laws_that_tell_their_tokens_leave_the_same(told, monkeypatch, cancels):
    monkeypatch.setattr(_remaining, "CANCELS", cancels)
    for seed in range(20):
        generator = np.random.default_rng(seed)
        p, laws = some_law(generator, 5), [some_law(generator, 5) for _ in range(3)]
        weight = RATIONAL.number(Fraction(int(generator.integers(1, 7)), 6))
        dense = left_of(p, weight, laws)
        for law in laws[:: 1 + seed % 2]:
            few.tell_tokens(law, np.flatnonzero(law > 0))
        assert left_of(p, weight, laws) == dense
    assert any(told)


@pytest.mark.parametrize("name", ["specinfer", "traversal", pytest.param("layer_transport", marks=pytest.mark.heavy)])
def test_verifiers_are_lossless_on_branches_that_tell_their_tokens(told, monkeypatch, name):
    monkeypatch.setattr(LayerTransport, "most_tokens", 0)  # a real vocabulary goes by classes
    for shape in ((3, 0, 1), (2, 0, 2)):
        for instance in case_instances((3, Stratified(*shape)), 3):
            result = check(make(name), instance.target, instance.draft, Stratified(*shape), engine="enumerate")
            assert result.max_deviation == 0
    assert any(told)


def test_parts_of_long_rows_tell_where_they_are_positive():
    row = np.random.default_rng(0).dirichlet(np.full(5_000, 0.05))
    row.setflags(write=False)
    laws = [part.law(row) for part in Stratified(4, 0, 1).pieces(4)]
    for law in laws[:3]:
        tokens, masses = few.few_tokens(law)
        assert sorted(tokens) == np.flatnonzero(law).tolist()
        assert (masses == law[tokens]).all()
    assert few.few_tokens(laws[3]) is None
    assert few.few_tokens(laws[0].copy()) is None


def test_what_was_told_of_a_tensor_does_not_hold_once_it_is_changed():
    torch = pytest.importorskip("torch")
    row = torch.zeros(few.LONG, dtype=torch.float64)
    row[0] = 1
    few.tell_tokens(row, torch.tensor([0]))
    assert few.few_tokens(row) is not None
    row[1] = 1
    assert few.few_tokens(row) is None
