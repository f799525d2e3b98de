"""Block laws: tiny examples by hand, and a brute-force count of the output tokens."""

from fractions import Fraction
from itertools import product
from typing import Any

from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from draftproof.simulator import BlockLaw, TableProcess
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.laws.metrics import moments
from draftproof.simulator.tables import context_index

F = Fraction
TARGET = TableProcess([RATIONAL.vector([["1/2", "1/2"]]), RATIONAL.vector([["2/3", "1/3"], ["1/3", "2/3"]])])
#: Nothing is accepted with probability 1/4, one token otherwise; lossless for TARGET.
GOOD = BlockLaw([RATIONAL.vector([["1/8", "1/8"]]), RATIONAL.vector([["1/4", "1/8"], ["1/8", "1/4"]])], RATIONAL)
#: The same, but for 1/8 that moved from a correction 1 at the root to an accepted 0 with correction 0.
BAD = BlockLaw([RATIONAL.vector([["1/8", 0]]), RATIONAL.vector([["3/8", "1/8"], ["1/8", "1/4"]])], RATIONAL)


def exact(tables: list[Any]) -> list[list[Any]]:
    return [[as_python(value) for value in table.ravel()] for table in tables]


def test_accepted_reach_and_depths_are_those_computed_by_hand() -> None:
    assert exact(GOOD.accepted) == [[F(1, 4)], [F(3, 8), F(3, 8)]]
    assert exact(GOOD.reach) == [[1], [F(3, 8), F(3, 8)]]
    assert exact(BAD.reach) == [[1], [F(1, 2), F(3, 8)]]
    assert GOOD.depth_distribution == [F(1, 4), F(3, 4)]
    assert (GOOD.depth, GOOD.vocab_size, GOOD.total) == (1, 2, 1)


def test_block_efficiency_and_variance_are_those_computed_by_hand() -> None:
    assert GOOD.block_efficiency == F(7, 4)
    assert moments(GOOD.depth_distribution)[1] == F(3, 16)
    assert BAD.block_efficiency == F(15, 8)
    assert moments(BAD.depth_distribution)[1] == F(7, 64)


def test_balance_and_distances_are_those_computed_by_hand() -> None:
    assert exact(GOOD.balance(TARGET)) == [[0, 0], [0, 0, 0, 0]]
    assert (GOOD.max_deviation(TARGET), GOOD.total_variation(TARGET)) == (0, 0)
    # At the root 1/2 - (1/2 + 1/8) and 1/2 - 3/8; after 0: 1/2 2/3 - 3/8 and 1/2 1/3 - 1/8.
    assert exact(BAD.balance(TARGET)) == [[F(-1, 8), F(1, 8)], [F(-1, 24), F(1, 24), 0, 0]]
    assert BAD.max_deviation(TARGET) == F(1, 8)
    # Two tokens: 1/8 2/3 + 3/8 for 00, 1/8 1/3 + 1/8 for 01, 1/8 for 10, 1/4 for 11, against 1/3, 1/6, 1/6, 1/3.
    assert BAD.total_variation(TARGET) == (F(1, 8) + 0 + F(1, 24) + F(1, 12)) / 2


@st.composite
def problems(draw: Any) -> tuple[BlockLaw, TableProcess]:
    """Any law whatever and any target of the same shape; half of the laws are lossless by construction."""
    size, depth = draw(st.sampled_from([(2, 0), (2, 1), (2, 2), (3, 1)]))

    def rows(count: int, width: int) -> list[Any]:
        units = st.lists(st.integers(0, 4), min_size=width, max_size=width).filter(any)
        return [RATIONAL.vector(row) / fmpq(sum(row)) for row in (draw(units) for _ in range(count))]

    target = TableProcess([RATIONAL.vector(rows(size**d, size)) for d in range(depth + 1)])
    if draw(st.booleans()):
        return lossless_law(target, draw), target
    masses = rows(1, sum(size ** (d + 1) for d in range(depth + 1)))[0]
    correction, start = [], 0
    for d in range(depth + 1):
        correction.append(masses[start : start + size ** (d + 1)].reshape(size**d, size))
        start += size ** (d + 1)
    return BlockLaw(correction, RATIONAL), target


def lossless_law(target: TableProcess, draw: Any) -> BlockLaw:
    """A lossless law: at each context and token a share of the target's mass goes on, the rest is the correction."""
    reach, correction = RATIONAL.vector([1]), []
    for depth, rows in enumerate(target.tables):
        mass = reach.reshape(-1, 1) * rows
        ends = depth == target.depth
        going = [0 if ends else draw(st.integers(0, 2)) for _ in mass.ravel()]
        share = RATIONAL.vector(going).reshape(mass.shape) / fmpq(2)
        correction.append(mass * (1 - share))
        reach = (mass * share).ravel()
    return BlockLaw(correction, RATIONAL)


def output_distance(law: BlockLaw, target: TableProcess) -> Fraction:
    """Total variation of the first L + 1 output tokens, sequence by sequence."""
    size, length = law.vocab_size, law.depth + 1
    distance = Fraction(0)
    for sequence in product(range(size), repeat=length):
        wanted = Fraction(1)
        for end in range(length):
            wanted *= as_python(target.row(sequence[:end])[sequence[end]])
        found = Fraction(0)
        for depth in range(length):  # the block was sequence[: depth + 1], its last token the correction
            mass = as_python(law.correction[depth][context_index(sequence[:depth], size), sequence[depth]])
            for end in range(depth + 1, length):
                mass *= as_python(target.row(sequence[:end])[sequence[end]])
            found += mass
        distance += abs(wanted - found)
    return distance / 2


@given(problems())
def test_total_variation_agrees_with_counting_output_sequences(problem: tuple[BlockLaw, TableProcess]) -> None:
    law, target = problem
    assert law.total == 1
    assert law.total_variation(target) == output_distance(law, target)


@given(problems())
def test_max_deviation_is_at_most_total_variation_and_both_vanish_together(
    problem: tuple[BlockLaw, TableProcess],
) -> None:
    law, target = problem
    deviation, distance = law.max_deviation(target), law.total_variation(target)
    assert 0 <= deviation <= distance <= 1
    assert (deviation == 0) == (distance == 0)
    assert deviation == max(abs(value) for table in exact(law.balance(target)) for value in table)
    assert law.violation(target).deviation == deviation


@given(problems())
def test_efficiency_and_variance_agree_with_the_depth_distribution(problem: tuple[BlockLaw, TableProcess]) -> None:
    law, _ = problem
    mean = sum(depth * mass for depth, mass in enumerate(law.depth_distribution))
    assert law.block_efficiency == mean + 1
    # Counted another way: every reached context below the root is one accepted token.
    assert mean == sum((value for table in exact(law.reach)[1:] for value in table), Fraction(0))
    assert moments(law.depth_distribution)[1] == sum(
        (depth - mean) ** 2 * mass for depth, mass in enumerate(law.depth_distribution)
    )
