"""Comparisons of rows: a product of a row with one is followed; whatever else they could tell is refused."""

import numpy as np
import pytest

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.protocol import Card, Verdict
from draftproof.simulator.theorems.any_vocabulary.theorem import Theorem
from draftproof.simulator.theorems.proof.judging import LOSSLESS
from draftproof.simulator.theorems.proof.watch import HasState, NotFollowed

ONE = Delayed(1, 0, 1)
KEPT = []


class Residual:
    """Token by token; after a rejection the weights are those of a function of p and q."""

    card = Card(name="residual", title="Residual", source=None, needs=None)

    def __init__(self, weights):
        self.weights = weights

    def verify(self, root, coin):
        x, p, q = root.children[0], root.target, root.draft
        if coin.flip(p[x] / q[x] if p[x] < q[x] else 1):
            return Verdict((x,), coin.choose(root.child(x).target))
        return Verdict((), coin.choose(self.weights(p, q)))


def steps(weights):
    theorem = Theorem(LOSSLESS, ONE, Residual(weights))
    return [theorem.step(depth) for depth in theorem.depths]


RIGHT = [
    lambda p, q: (p - q) * (p > q),
    lambda p, q: (p >= q) * (p - q),
    lambda p, q: (q - p) * (p > q) * -1,
    lambda p, q: (p - q) * (p - q >= 0),
    lambda p, q: p * (q <= p) - q * (q <= p),
]
WRONG = [
    lambda p, q: p * (p > q),
    lambda p, q: q * (p > q),
    lambda p, q: p * (p > q).answers[0],
    lambda p, q: (q - p) * (p < q),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("weights", RIGHT)
def test_a_row_where_another_is_smaller_is_followed(weights):
    assert all(step.proved for step in steps(weights))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("weights", WRONG)
def test_a_wrong_one_is_not_proved(weights):
    assert not all(step.proved for step in steps(weights))


def kept_between_calls(p, q):
    KEPT.append(p > q)
    return (p - q) * KEPT[0]


REFUSED = [
    lambda p, q: np.multiply(p - q, q < p),
    lambda p, q: (p - q) * ((p > q) + (q > p)),
    lambda p, q: p - q if p > q else p,
    lambda p, q: p * (p > q).sum(),
    lambda p, q: p * len(p > q),
    lambda p, q: p * sum(p > q),
    lambda p, q: p * (p > q)[0],
    lambda p, q: p * (p == q),
    lambda p, q: p * (p != q),
    lambda p, q: p * (p > 1),
    lambda p, q: p * (p > 0.0),
    lambda p, q: p * (~(p > q)),
    lambda p, q: p * ((p > q) & (q > p)),
    lambda p, q: p * ((p > q) * (q > p)),
    lambda p, q: (p > q) * 2,
    lambda p, q: p / (p > q),
    lambda p, q: np.where(p > q, p - q, 0),
    lambda p, q: p * (p > q).astype(int),
    lambda p, q: p * np.logical_not(p > q),
    lambda p, q: p if str(p > q) else q,
    lambda p, q: p if (p > q).any() else q,
    max,
    kept_between_calls,
]


@pytest.mark.one_in(12)
@pytest.mark.parametrize("weights", REFUSED)
def test_what_else_a_comparison_could_tell_is_refused(weights):
    KEPT.clear()
    with pytest.raises((NotFollowed, HasState)) as refused:
        steps(weights)
    if weights is not kept_between_calls:
        assert "test_any_vocabulary_comparisons.py line" in str(refused.value)
        assert "prove it at one V" in str(refused.value)


def test_a_comparison_is_of_one_node():
    class Below(Residual):
        def verify(self, root, coin):
            x = root.children[0]
            node = root.child(x)
            p = node.target
            return Verdict((x,), coin.choose(p * (root.target > root.draft)))

    with pytest.raises(NotFollowed, match="another node"):
        Theorem(LOSSLESS, ONE, Below(None)).step(0)
