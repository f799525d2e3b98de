"""n-gram pairs agree with counting by hand and with the interpolation formula in exact fractions."""

from fractions import Fraction
from itertools import product

import pytest

from draftproof.simulator import InvalidInput, TextPair
from draftproof.simulator.arithmetic import as_python

TEXT = "abracadabra"


def interpolated(pair: TextPair, context: tuple[int, ...], token: int) -> Fraction:
    """The formula of [witten1991zero], method C, by its recursion on contexts."""
    tokens = list(pair.encode(pair.text))

    def seen(token: int) -> int:
        gram = [*context, token]
        return sum(tokens[start : start + len(gram)] == gram for start in range(len(tokens)))

    follow = [seen(y) for y in range(pair.vocab_size)]
    kinds = sum(count > 0 for count in follow)
    shorter = interpolated(pair, context[1:], token) if context else Fraction(1, pair.vocab_size)
    return (follow[token] + kinds * shorter) / (sum(follow) + kinds) if kinds else shorter


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_model_agrees_with_the_formula_in_fractions(size: int, order: int) -> None:
    pair = TextPair(TEXT, size, 2, 0)
    for row, context in zip(pair.model(order), product(range(size), repeat=order), strict=True):
        wanted = [interpolated(pair, context, token) for token in range(size)]
        assert sum(wanted) == 1
        assert row.sum() == 1
        largest = wanted.index(max(wanted))
        for token, value in enumerate(row):
            gap = wanted[token] - as_python(value)
            if token != largest and wanted.count(max(wanted)) == 1:
                # The table is computed in float64, so a value within 2**-50 of a multiple may round either way.
                assert -Fraction(1, 2**50) < gap < Fraction(1, 2**16) + Fraction(1, 2**50)
            else:
                assert abs(gap) < Fraction(size, 2**16)


def test_frequent_roots_are_ranked_with_their_shares() -> None:
    pair = TextPair(TEXT, 3, 1, 0)  # followed: a 4 times, b 2, rest 4; ties keep the order of contexts
    assert pair.frequent_roots() == [((0,), Fraction(2, 5)), ((2,), Fraction(2, 5)), ((1,), Fraction(1, 5))]
    assert pair.frequent_roots(2) == [((0,), Fraction(1, 2)), ((2,), Fraction(1, 2))]


def test_processes_continue_the_root_each_at_its_order() -> None:
    pair = TextPair(TEXT, 3, 2, 1)
    target, draft = pair.processes((0, 1))
    assert target.row(()).tolist() == pair.model(2)[1].tolist()  # context ab
    assert draft.row(()).tolist() == pair.model(1)[1].tolist()  # context b
    assert target.row((2, 0)).tolist() == pair.model(2)[6].tolist()  # context ·a
    assert draft.row((2, 0)).tolist() == pair.model(1)[0].tolist()  # context a
    with pytest.raises(InvalidInput, match=r"target: root context \(0,\) must hold 2 tokens, each of 0..2"):
        pair.processes((0,))
