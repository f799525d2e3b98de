"""Blocks of lanes give what dense arrays of random numbers give, and make only what is asked for."""

import random

import numpy as np
import pytest

from draftproof.simulator.symbolic.triton.lanes import Lanes, chosen, densified, elementwise

WIDTH = 5


def noise(made):
    """A block that is random everywhere; made: gets the lanes whose numbers are made."""
    numbers = [random.random() for _ in range(WIDTH)]

    def make(at):
        made.extend(at.tolist())
        result = np.empty(len(at), dtype=object)
        for place, i in enumerate(at):
            result[place] = numbers[i]
        return result

    return Lanes(np.zeros(WIDTH), None, make)


def programs(block, inside, row):
    """What kernels compute of a block and of numbers."""
    shifted = elementwise(np.subtract, 1.0 + row, block)
    noisy = elementwise(np.add, np.log(row), elementwise(np.negative, elementwise(np.log, block)))
    masked = chosen(inside, noisy, np.full(WIDTH, -np.inf))
    below = elementwise(np.less, block, row)
    return (
        lambda: np.nanargmax(masked),
        lambda: np.nanargmin(chosen(inside, shifted, np.full(WIDTH, np.inf))),
        lambda: bool(np.nanmax(chosen(inside, block, np.zeros(WIDTH))) < 0.5),
        lambda: bool(np.sum(chosen(inside, block, np.full(WIDTH, 0.25))) < 1.0),
        lambda: densified(elementwise(np.bitwise_and, below, inside)).astype(bool).tolist(),
        lambda: bool(elementwise(np.maximum, masked, np.full(WIDTH, 0.5))[0] < 0.75),
    )


@pytest.mark.parametrize("which", range(6))
def test_blocks_have_the_law_of_dense_arrays(law, which):
    row = np.array([0.1, 0.4, 0.2, 0.3, 0.6])
    inside = np.arange(WIDTH) < 2

    def in_blocks():
        return programs(noise([]), inside, row)[which]()

    def densely():
        u = np.array([random.random() for _ in range(WIDTH)])
        noisy = np.log(row) - np.log(u)
        masked = np.where(inside, noisy, -np.inf)
        results = (
            lambda: np.argmax(masked),
            lambda: np.argmin(np.where(inside, 1.0 + row - u, np.inf)),
            lambda: bool(np.max(np.where(inside, u, 0.0)) < 0.5),
            lambda: bool(np.sum(np.where(inside, u, 0.25)) < 1.0),
            lambda: [bool(i < 2 and u[i] < row[i]) for i in range(WIDTH)],
            lambda: bool(np.maximum(masked, 0.5)[0] < 0.75),
        )
        return results[which]()

    assert law(in_blocks) == law(densely)


def test_masked_lanes_are_never_made(law):
    made = []

    def run():
        block = elementwise(np.log, noise(made))
        return int(np.nanargmax(chosen(np.arange(WIDTH) < 2, block, np.full(WIDTH, -np.inf))))

    assert set(law(run)) == {0, 1}
    assert set(made) == {0, 1}
