"""Branches from pieces in the loop: their joint law, the laws that nodes tell, and texts."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from draftproof.experiments.models.loop.loop import Loop
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import SCHEMES, Stratified
from draftproof.simulator.instances.sampling import Sampling
from tests.experiments.models.drawn import PROMPTS, Watched
from tests.experiments.models.laws import ROOT, agrees, tables

WARM = Sampling(temperature=1.3)


def plain(tree):
    return tuple(sorted(tree.children.items())), tuple(sorted(tree.pieces.items(), key=str))


@pytest.mark.heavy
@pytest.mark.parametrize(("depth", "runs"), [(2, 2_000), pytest.param(4, 20_000, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("name", ["stratified", "systematic"])
def test_three_branches_have_their_joint_law(random_pair, name, depth, runs):
    """With `top_k` two tokens are left after each context."""
    scheme, sampling = SCHEMES[name](3, 0, depth), Sampling(temperature=1.3, top_k=2)
    pair = random_pair(vocab=3)
    rows, law = tables(pair, "draft", depth - 1, sampling), Counter[Any]()
    for tree, mass in outcomes(lambda coin: scheme.draw(rows, coin), FLOAT64):
        law[plain(tree)] += mass
    loop, coin = Loop(pair, sampling), coin_for("numpy", 0)
    state = loop.start(ROOT).repeated(500)
    seen = Counter(plain(tree) for _ in range(runs // 500) for tree in loop.drafted(state, scheme, coin).trees)
    assert set(seen) <= set(law)
    assert agrees(seen, law)


@pytest.mark.parametrize("vectors", ["numpy", "torch"])
def test_nodes_tell_the_laws_that_their_drafts_have(random_pair, vectors):
    watched = Watched(random_pair(vocab=3), Stratified(3, 1, 2), "block", PROMPTS, WARM)
    watched.loop = Loop(watched.loop.pair, WARM, vectors)
    told = 0
    for _, nodes in watched.run(4).seen:
        for node in nodes:
            assert len(node.laws) == len(node.children)
            for token, law in zip(node.children, node.laws, strict=True):
                told += law is not node.draft
                assert float(law[token]) > 0
                assert float(law.sum()) == pytest.approx(1, abs=1e-12)
        fork = nodes[1]
        mean = sum(np.asarray(law) for law in fork.laws) / 3
        assert mean == pytest.approx(np.asarray(fork.draft), abs=1e-12)
    assert told > 3 * len(watched.seen)
