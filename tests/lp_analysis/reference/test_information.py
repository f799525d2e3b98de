"""What information is worth: programs that see the tree only against programs that see everything."""

from __future__ import annotations

import numpy as np
import pytest
from flint import fmpq

from lp_analysis.reference.information import information_bound
from simulator import Delayed, InvalidInput, TableProcess, check
from simulator.instances.families import FAMILIES
from verifiers import make

#: The tolerance of the solver, over a few hundred variables.
SOLVED = 1e-7


def pairs(seed: int, size: int, depth: int, count: int) -> list:
    """Instances that differ below the root: each row there is one of two options, chosen anew for every context."""
    generator = np.random.default_rng(seed)
    options = [FAMILIES["dirichlet"].instance(size, depth, generator, 20) for _ in range(2)]
    made = []
    for _ in range(count):
        sides = []
        for side in ("target", "draft"):
            tables = [getattr(option, side).tables for option in options]
            chosen = [tables[0][0]]
            for d in range(1, len(tables[0])):
                pick = generator.integers(0, 2, len(tables[0][d]))
                chosen.append(np.array([tables[o][d][c] for c, o in enumerate(pick)], dtype=object))
            sides.append(TableProcess(chosen))
        made.append(tuple(sides))
    return made


def test_one_path_gains_nothing_from_rows_that_it_does_not_see():
    instances = pairs(0, 2, 2, 4)
    scheme = Delayed(1, 0, 2)
    everything, tree, path = (information_bound(instances, scheme, seen) for seen in ("everything", "tree", "path"))
    block = np.mean([float(check(make("block"), p, q, scheme).block_efficiency) for p, q in instances])
    assert abs(everything - tree) <= SOLVED
    assert abs(everything - path) <= SOLVED
    assert abs(everything - block) <= SOLVED


@pytest.mark.parametrize("seed", range(3))
def test_the_tree_is_between_layer_transport_and_everything(seed):
    instances = pairs(seed, 2, 2, 4)
    scheme = Delayed(2, 0, 2)
    everything, tree, path = (information_bound(instances, scheme, seen) for seen in ("everything", "tree", "path"))
    assert path <= tree + SOLVED
    for name in ("path_transport", "gbv", "block"):
        efficiencies = [check(make(name), p, q, scheme).block_efficiency for p, q in instances]
        assert np.mean([float(value) for value in efficiencies]) <= path + SOLVED
    ours = np.mean([float(check(make("layer_transport"), p, q, scheme).block_efficiency) for p, q in instances])
    assert ours <= tree + SOLVED <= everything + 2 * SOLVED


def test_an_unknown_word_is_refused():
    with pytest.raises(InvalidInput, match="seen = 'nothing' is unknown; choose from everything, tree, path"):
        information_bound(pairs(0, 2, 1, 1), Delayed(1, 0, 1), "nothing")


def test_where_the_tree_is_not_enough():
    def process(*tables):
        return TableProcess(
            [np.array([[fmpq(*map(int, entry.split("/"))) for entry in row] for row in rows]) for rows in tables]
        )

    certain, other, even = ("1/1", "0/1"), ("0/1", "1/1"), ("1/2", "1/2")
    target = process([("3/4", "1/4")], [other, other], [certain] * 4, [certain] * 8)
    instances = [(target, process([even], [after, even], [certain] * 4)) for after in (other, certain)]
    values = {seen: information_bound(instances, Delayed(2, 0, 3), seen) for seen in ("everything", "tree", "path")}
    assert values == pytest.approx({"everything": 101 / 32, "tree": 25 / 8, "path": 25 / 8}, abs=SOLVED)
    shorter = [information_bound(instances, Delayed(2, 0, 2), seen) for seen in ("everything", "tree")]
    assert shorter == pytest.approx([shorter[0]] * 2, abs=SOLVED)
