"""Grids are complete, and shrinking gives the same minimal witness from wherever it starts."""

from dataclasses import replace
from fractions import Fraction
from math import comb
from random import Random
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from draftproof import verifiers
from draftproof.simulator import (
    FAMILIES,
    Card,
    Coin,
    Delayed,
    DraftNode,
    Instance,
    TooLarge,
    Verdict,
    check,
)
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.sampling import Sampling, Samplings
from draftproof.simulator.residual import residual
from draftproof.simulator.tables import TableProcess
from draftproof.simulator.verdicts.grids import grid, grid_sample, grid_size
from draftproof.simulator.verdicts.search import shrink


@pytest.mark.heavy
def test_witnesses_of_verifiers_that_are_told_another_q_keep_the_sampling() -> None:
    told = Samplings.of_options("", "top_k=2", "draft")
    scheme = Delayed(2, 0, 2)
    raw = FAMILIES["dirichlet"].instance(4, scheme.depth, np.random.default_rng(0), 20)
    known = told.cases([Case("known", raw.target, raw.draft)], scheme.depth, None)[0].rows(scheme.depth)
    witness = shrink(verifiers.make("naive"), known, scheme, drawn=told)
    found = witness.instance
    assert (witness.shrunk, found.vocab_size, found.scheme) == (True, 3, Delayed(1, 0, 1))  # with V = 2 top-k 2 is q
    assert found.draft.told is not None
    kept = Sampling(top_k=2).rows(found.draft.told.row(())[None])[0]
    assert found.draft.row(()).tolist() == kept.tolist() != found.draft.told.row(()).tolist()
    assert check(verifiers.make("naive"), found.target, found.draft, found.scheme).violation == witness.violation
    honest = replace(found, draft=TableProcess(found.draft.tables))
    assert check(verifiers.make("naive"), honest.target, honest.draft, found.scheme).lossless


@pytest.mark.parametrize(
    ("size", "depth", "denominator"), [(2, 0, 3), (2, 1, 1), (2, 1, 4), (3, 1, 2), (2, 2, 2), (4, 1, 1)]
)
def test_grid_is_as_large_as_announced_and_has_no_instance_twice(size: int, depth: int, denominator: int) -> None:
    digests = [instance.digest() for instance in grid(size, depth, denominator)]
    rows = comb(denominator + size - 1, size - 1)
    contexts = sum(size**length for length in range(depth))
    assert len(digests) == len(set(digests)) == grid_size(size, depth, denominator) == rows ** (2 * contexts)


@pytest.mark.parametrize(("size", "depth", "denominator"), [(2, 1, 4), (3, 1, 1), (2, 2, 1)])
def test_sampled_grid_instances_are_those_of_the_grid(size: int, depth: int, denominator: int) -> None:
    everything = {instance.digest() for instance in grid(size, depth, denominator)}
    random = Random(0)  # with twelve draws for each instance none is left out
    assert {grid_sample(size, depth, denominator, random).digest() for _ in range(12 * len(everything))} == everything


def test_grids_beyond_all_bounds_are_refused_before_they_are_counted() -> None:
    with pytest.raises(TooLarge, match="V = 2 at depth 60 has too many contexts for a grid"):
        grid_size(2, 60, 3)
    with pytest.raises(TooLarge, match="V = 50 with multiples of 1/100 has"):
        grid_size(50, 1, 100)
    with pytest.raises(TooLarge, match=r"the grid of multiples of 1/50 has .* instances; make V, L or D smaller"):
        grid_size(4, 6, 50)


TREE = Delayed(2, 0, 2)


def failing(name: str, seed: int) -> Instance:
    instance = FAMILIES["dirichlet"].instance(3, TREE.depth, np.random.default_rng(seed), 20)
    assert not check(verifiers.make(name), instance.target, instance.draft, TREE).lossless
    return instance


@pytest.mark.parametrize("name", ["naive_from_target", pytest.param("block_by_weights", marks=pytest.mark.heavy)])
def test_the_witness_refutes_and_says_where(name: str) -> None:
    witness = shrink(verifiers.make(name), failing(name, 2), TREE)
    again = Instance.loads(witness.instance.dumps())
    assert again.scheme is not None
    found = check(verifiers.make(name), again.target, again.draft, again.scheme)
    assert found.violation == witness.violation
    assert again.about == {
        "refutes": name,
        "context": list(witness.violation.context),
        "token": witness.violation.token,
        "target asks for": str(witness.violation.expected),
        "block has": str(witness.violation.found),
    }


class WrongOnOneRow:
    """Speculative sampling that corrects from `p` where the target is one particular row."""

    card = Card("wrong_on_one_row", "Wrong on one row", None)
    row = (fmpq(1, 97), fmpq(96, 97))

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        token = root.children[0] if root.children else None
        if token is None:
            return Verdict((), coin.choose(root.target))
        p, q = root.target, root.draft
        if coin.flip(p[token] / q[token] if p[token] < q[token] else 1):
            leaf = root.child(token)
            return Verdict(leaf.context, coin.choose(leaf.target))
        return Verdict((), coin.choose(p if tuple(p) == self.row else residual(p, q)))


def test_a_violation_out_of_reach_of_the_search_is_simplified_row_by_row() -> None:
    fields: dict[str, Any] = {
        "vocab_size": 2,
        "depth": 1,
        "target": {"": ["1/97", "96/97"], "0": ["1/11", "10/11"], "1": [0, 1]},
        "draft": {"": ["1/2", "1/2"]},
    }
    instance = Instance.from_dict(fields)
    assert not check(WrongOnOneRow(), instance.target, instance.draft, Delayed(1, 0, 1)).lossless
    witness = shrink(WrongOnOneRow(), instance, Delayed(1, 0, 1), examples=30)
    assert witness.instance.as_dict()["target"] == {"": ["1/97", "96/97"], "0": ["0", "1"], "1": ["0", "1"]}
    assert witness.instance.as_dict()["draft"] == {"": ["1", "0"]}
    assert witness.instance.scheme == Delayed(1, 0, 1)
    # Draft 0 is rejected with probability 96/97; the redraw gives it back 1/97 of that.
    assert witness.violation.found == Fraction(1, 97) + Fraction(96, 97) / 97
