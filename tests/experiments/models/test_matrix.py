"""Predicted against measured: blocks of every draft, on every scheme, with every verifier whose card claims it."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import Budget, expected
from draftproof.experiments.models.loop.drafting import Drafting
from draftproof.experiments.models.loop.loop import Loop, many_blocks
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.pair.drafts import KINDS, make_draft
from draftproof.experiments.models.pair.head import new_head
from draftproof.experiments.models.pair.head_kinds import HEADS
from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.models.validate.agreement import Agreement, compare
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.drawn import CASES, claims
from tests.experiments.models.laws import ROOT

DRAFTS = ("network", *KINDS, *HEADS)
PAIRS = [(scheme, verifier) for scheme in CASES for verifier in claims(CASES[scheme][0])]
MATRIX = [(draft, *pair) for draft in DRAFTS for pair in PAIRS]
WARM = Sampling(temperature=1.3)
#: Exact laws by tables, or means of so many sampled trees where enumeration is too large; blocks of each cell.
BUDGET, BLOCKS = Budget(1_000_000, 300), 300
#: Mostly every token is the next one after the token before.
TEXT = [int(token) for token in (np.random.default_rng(0).random(600) < 0.8).cumsum() % 3]


def drafted_by(pair: Pair, kind: str) -> Pair:
    """The pair with a draft of this kind; heads are not trained, their rows are far from the target's."""
    if kind == "network":
        return pair
    if kind in HEADS:
        sizes = {"places": 2} if kind == "specblock" else {}
        return dataclasses.replace(pair, draft=new_head(pair.target, 0, kind, **sizes).eval().requires_grad_(False))
    spec = "early:layers=1" if kind == "early" else kind
    return dataclasses.replace(pair, draft=make_draft(spec, pair.target, TEXT))


def cell(pair: Pair, scheme: str, verifier: str, runs: int = BLOCKS) -> Agreement:
    tree = CASES[scheme][0]
    contexts = Contexts(pair, WARM, [tuple(ROOT)])
    prediction = expected(make(verifier), tree, contexts, BUDGET, np.random.default_rng(0))
    blocks = many_blocks(Loop(pair, WARM), make(verifier), tree, ROOT, runs, coin_for("numpy", 0))
    return compare(prediction, [blocks])


@pytest.fixture(scope="module")
def pair(random_pair: Callable[..., Pair]) -> Pair:
    return random_pair(vocab=3, dtype=torch.float64)


@pytest.mark.one_in(200, first=2)
@pytest.mark.parametrize(("draft", "scheme", "verifier"), MATRIX, ids=map(", ".join, MATRIX))
def test_blocks_are_as_predicted(pair: Pair, draft: str, scheme: str, verifier: str) -> None:
    assert cell(drafted_by(pair, draft), scheme, verifier).agrees(len(MATRIX))


def test_rows_that_are_not_those_drafted_from_are_noticed(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the verifier is told that drafts came from another row."""
    honest = Loop.drafted

    def told(loop: Loop, *given: Any) -> Drafting:
        drafted = honest(loop, *given)
        for rows in drafted.rows:
            rows.known.update({context: row[::-1] for context, row in rows.known.items()})
        return drafted

    monkeypatch.setattr(Loop, "drafted", told)
    assert not cell(drafted_by(pair, "early"), "delayed", "traversal", 1500).agrees(len(MATRIX))
