"""Numbers that papers print, as exact fractions."""

from fractions import Fraction

import pytest

from draftproof import verifiers
from draftproof.simulator import Delayed, MarkovProcess, check
from draftproof.simulator.arithmetic import RATIONAL

P = MarkovProcess(RATIONAL.vector([["1/3", "2/3"]]))
Q = MarkovProcess(RATIONAL.vector([["2/3", "1/3"]]))


@pytest.mark.parametrize(
    ("name", "accepted"),
    [
        ("naive", Fraction(10, 9)),  # [sun2024block], motivating example: token verification
        ("block", Fraction(11, 9)),  # [sun2024block], motivating example: block verification
    ],
)
def test_motivating_example_of_block_verification(name: str, accepted: Fraction) -> None:
    found = check(verifiers.make(name), P, Q, Delayed(K=1, L1=0, L2=2), engine="enumerate")
    assert found.lossless
    assert found.block_efficiency == accepted + 1


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_expected_tokens_of_speculative_sampling_follow_the_geometric_formula(length: int) -> None:
    """[leviathan2023fast], equation 1: (1 - alpha^(L+1)) / (1 - alpha), here with alpha = sum min(p, q) = 2/3."""
    alpha = Fraction(2, 3)
    found = check(verifiers.make("naive"), P, Q, Delayed(K=1, L1=0, L2=length), engine="enumerate")
    assert found.block_efficiency == (1 - alpha ** (length + 1)) / (1 - alpha)
