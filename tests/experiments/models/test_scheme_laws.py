"""Blocks and texts of the loop have the laws that the simulator computes, whatever draws the trees."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from draftproof.experiments.models.loop.loop import Loop, many_blocks
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.simulator.drafts import DySpec
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import DraftScheme
from draftproof.verifiers import make
from tests.experiments.models.drawn import CASES
from tests.experiments.models.laws import ROOT, agrees, law_of_blocks

#: Of both models, so that every outcome is likely enough to be counted.
WARM = Sampling(temperature=1.3)
#: Runs of each scheme; the heavy tests have three times as many, by turns in batches of one and of eight.
RUNS = 500


def counted(pair: Any, scheme: DraftScheme, verifier: str, runs: int, together: int) -> Counter[Any]:
    loop, way = Loop(pair, WARM), (make(verifier), scheme)
    blocks = many_blocks(loop, *way, ROOT, runs, coin_for("numpy", 0), together)
    return Counter((block.accepted, block.correction) for block in blocks)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", [name for name in CASES if name != "delayed"])
def test_blocks_of_every_scheme_have_the_exact_law(random_pair: Callable[..., Any], name: str) -> None:
    scheme, verifier = CASES[name]
    pair = random_pair(vocab=3)
    law = law_of_blocks(make(verifier), pair, scheme, WARM)
    assert agrees(counted(pair, scheme, verifier, RUNS, 256), law)


def test_a_tree_of_another_scheme_is_noticed(random_pair: Callable[..., Any]) -> None:
    pair = random_pair(vocab=3)
    law = law_of_blocks(make("traversal"), pair, DySpec(4), WARM)
    assert not agrees(counted(pair, DySpec(3), "traversal", RUNS, 256), law)
