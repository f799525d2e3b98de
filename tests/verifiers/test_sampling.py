"""The verifiers that were proved are the ones that sample: the same object with a sampling coin follows its exact law.

The only statistics of the suite. Every verifier is run many times, drafting included, with fixed seeds; Pearson's
chi-square statistic of its blocks against the exact law must stay below the quantile of level `LEVEL` divided by the
number of verifiers (Bonferroni), so a new set of seeds would fail by chance once in `1 / LEVEL` times.
"""

from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from draftproof.simulator import (
    Coin,
    Delayed,
    DraftNode,
    SamplingCoin,
    Verdict,
    Verifier,
    block_law,
)
from draftproof.simulator.arithmetic import FLOAT64, as_python
from draftproof.simulator.tables import context_index
from draftproof.simulator.verdicts.cases import conformance_instances
from draftproof.verifiers import STANDALONE, make

#: Runs of a verifier; `MANY` in the heavy tests.
RUNS, MANY = 4_000, 100_000
LEVEL = 0.001
#: One verifier of every way of working; all are in the heavy tests.
WAYS = ("naive", "khisti", "block", "traversal", "gbv", "path_transport", "layer_transport", "sequoia", "typical")
#: Outcomes expected less often than this are counted together, as the chi-square approximation asks.
FEWEST = 10
SHAPE = (3, 2, 0, 2)
SCHEME = Delayed(*SHAPE[1:])
INSTANCE = next(conformance_instances(SHAPE, 1))

Block = tuple[tuple[int, ...], int]


def exact_law(verifier: Verifier) -> dict[Block, Fraction]:
    law = block_law(verifier, INSTANCE.target, INSTANCE.draft, SCHEME, "rational", engine="enumerate")
    return {
        (context, token): as_python(law.correction[depth][context_index(context, SHAPE[0]), token])
        for depth in range(SCHEME.depth + 1)
        for context in product(range(SHAPE[0]), repeat=depth)
        for token in range(SHAPE[0])
    }


def sampled(verifier: Verifier, seed: int, runs: int, coin_kind: Any = SamplingCoin) -> Counter[Block]:
    """Blocks of so many runs in float64, each with its own draft tree; equal trees share their nodes."""
    instance = INSTANCE.converted(FLOAT64, SCHEME.depth)
    coin = coin_kind(np.random.default_rng(seed))
    blocks = Counter[Block]()
    roots: dict[Any, DraftNode] = {}
    for _ in range(runs):
        tree = SCHEME.draw(instance.draft, coin)
        if tree not in roots:
            roots[tree] = tree.root(instance.target, instance.draft)
        verdict = verifier.verify(roots[tree], coin)
        blocks[verdict.accepted, verdict.correction] += 1
    return blocks


def agrees(blocks: Counter[Block], law: dict[Block, Fraction], level: float) -> bool:
    """Whether nothing impossible was seen and the chi-square statistic is below its quantile at this level."""
    if any(not law[block] for block in blocks):
        return False
    expected = {block: float(mass) * blocks.total() for block, mass in law.items() if mass}
    cells = [(blocks[block], mean) for block, mean in expected.items() if mean >= FEWEST]
    rare = [(blocks[block], mean) for block, mean in expected.items() if mean < FEWEST]
    if rare:
        cells.append((sum(seen for seen, _ in rare), sum(mean for _, mean in rare)))
    statistic = sum((seen - mean) ** 2 / mean for seen, mean in cells)
    return bool(statistic < chi2.ppf(1 - level, len(cells) - 1))


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    ("name", "runs"),
    [
        *((name, RUNS) for name in WAYS),
        *(pytest.param(name, MANY, marks=pytest.mark.heavy) for name in STANDALONE if name != "spechub"),
    ],  # spechub takes its own pairs only
)
def test_sampled_blocks_agree_with_the_exact_law(name: str, runs: int) -> None:
    verifier = make(name)
    blocks = sampled(verifier, list(STANDALONE).index(name), runs)
    assert agrees(blocks, exact_law(verifier), LEVEL / len(STANDALONE))


class Lenient:
    """`naive` that forgives one in so many rejections."""

    naive = make("naive")
    card = naive.card

    def __init__(self, often: int) -> None:
        self.often = often

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        return self.naive.verify(root, _Lenient(coin, self.often))


class _Lenient:
    def __init__(self, coin: Coin, often: int) -> None:
        self._coin = coin
        self._often = often
        self.choose = coin.choose

    def flip(self, probability: Any) -> bool:
        return self._coin.flip(probability) or self._coin.choose([1, self._often - 1]) == 0


class CrookedCoin(SamplingCoin):
    """Chooses with so many times the weight on the first index."""

    def __init__(self, generator: np.random.Generator, times: float) -> None:
        super().__init__(generator)
        self._times = times

    def choose(self, weights: Any) -> int:
        skewed = np.array(weights, dtype=np.float64)
        skewed[0] *= self._times
        return super().choose(skewed)


def test_a_small_bias_of_the_verifier_or_the_coin_is_noticed() -> None:
    blocks = sampled(Lenient(10), 0, RUNS)
    assert not agrees(blocks, exact_law(make("naive")), LEVEL / len(STANDALONE))
    assert agrees(blocks, exact_law(Lenient(10)), LEVEL / len(STANDALONE))
    crooked = sampled(make("naive"), 0, RUNS, coin_kind=partial(CrookedCoin, times=1.4))
    assert not agrees(crooked, exact_law(make("naive")), LEVEL / len(STANDALONE))
