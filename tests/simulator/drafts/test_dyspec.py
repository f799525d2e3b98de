"""DySpec: the law of its trees by hand, values that never rise, and what its controls do wrong."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from draftproof import verifiers
from draftproof.simulator import TableProcess, check
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import DySpec, DySpecPruned, OptTree
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.vectors import without
from draftproof.simulator.verdicts.cases import case_instances
from tests.simulator.drafts.drawn import law_of_trees


def test_a_tie_goes_to_the_earlier_slot_in_fractions_and_in_floats() -> None:
    even = TableProcess([[["1/2", "1/2"]], [["1/3", "2/3"]] * 2, [["1/2", "1/2"]] * 4])
    exact = law_of_trees(DySpec(2), even)  # the child's slot stands before that of the sibling
    assert all(len(dict(key)[()]) == 1 for key in exact)
    rounded = Instance(even, even).converted(FLOAT64, 2).draft
    assert set(law_of_trees(DySpec(2), rounded, FLOAT64)) == set(exact)


def slots(draft: TableProcess, children: dict[tuple[int, ...], tuple[int, ...]]) -> tuple[list[fmpq], list[fmpq]]:
    """The values of the filled slots of a tree and of those left open, from its drafted tokens."""
    filled, open_ = [], []
    waiting: list[tuple[tuple[int, ...], fmpq]] = [((), fmpq(1))]
    for context, entered in waiting:
        value, row = entered, draft.row(context) if context in children else draft.row(())
        for token in children.get(context, ()):
            filled.append(value)
            waiting.append(((*context, token), value * row[token]))
            value, row = value * (1 - row[token]), without(row, token)
        open_.append(value)
    return filled, open_


@pytest.mark.parametrize("case", [(2, DySpec(5)), (3, DySpec(4)), (3, DySpec(5))], ids=str)
def test_no_slot_left_open_is_larger_than_one_that_was_filled(case: tuple[int, DySpec]) -> None:
    """A slot opens with at most the value of the one it comes from, so this is: filled values never rise."""
    for instance in case_instances(case, 4):
        for tree, _ in outcomes(lambda coin, draft=instance.draft: case[1].draw(draft, coin), RATIONAL):
            filled, open_ = slots(instance.draft, dict(tree.children))
            assert min(filled) >= max(open_)
            assert len(filled) == case[1].nodes or max(open_) == 0


@pytest.mark.parametrize("name", ["traversal", "rejection_without_replacement", "block_tree"])
def test_a_tree_that_was_pruned_by_what_was_drawn_is_refuted(name: str) -> None:
    made = FAMILIES["dirichlet"].instance(3, 4, np.random.default_rng(1), 20)
    assert check(verifiers.make(name), made.target, made.draft, DySpec(2)).lossless
    assert not check(verifiers.make(name), made.target, made.draft, DySpecPruned(2)).lossless
    assert check(verifiers.make("nss"), made.target, made.draft, DySpecPruned(2)).lossless


@pytest.mark.parametrize("kind", [DySpec, DySpecPruned, OptTree])
def test_a_best_first_scheme_never_drafts_below_the_depth_that_it_says(kind: Any) -> None:
    """On every instance, and the depth is less than the number of nodes on some."""
    shallower = 0
    for nodes in (3, 4, 5):
        scheme = kind(nodes)
        for instance in case_instances((2, scheme), 12):
            depth = scheme.longest(instance.draft, scheme.drawn)
            trees, capped = (
                [dict(tree.children) for tree, _ in outcomes(partial(made.draw, instance.draft), RATIONAL)]
                for made in (scheme, replace(scheme, depth=depth))
            )
            assert max((len(context) + 1 for tree in trees for context in tree), default=0) <= depth
            assert trees == capped
            shallower += depth < scheme.drawn
    assert shallower
