"""Plans of `draftproof.lp_analysis.optimum` as they run: sampled blocks follow the exact law and its block efficiency.

Every run drafts its own tree in float64. Seeds are fixed, so that nothing here fails by chance; a sound verifier would
fail for one new set of seeds in `1 / LEVEL`.
"""

from collections import Counter
from itertools import product
from math import sqrt

import numpy as np
import pytest
from scipy.stats import chi2, norm

from draftproof.lp_analysis import optimum
from draftproof.simulator import FAMILIES, Delayed, SamplingCoin, block_law
from draftproof.simulator.arithmetic import FLOAT64, as_python
from draftproof.simulator.instances.plan import PathPlan
from draftproof.simulator.instances.processes import context_index
from draftproof.verifiers import make

#: Runs by default, and in the heavy tests.
RUNS, MANY = 6_000, 20_000
LEVEL = 0.001
#: Blocks expected less often are counted together, as the chi-square approximation asks.
FEWEST = 10
#: V, K, L1, L2.
SHAPES = [(3, 2, 0, 2), (2, 3, 1, 2), (3, 3, 0, 1), (2, 2, 0, 3)]


def sampled(verifier, instance, scheme, seed, runs):
    floats = instance.converted(FLOAT64, scheme.depth)
    coin = SamplingCoin(np.random.default_rng(seed))
    blocks, roots = Counter(), {}  # equal trees share their nodes
    for _ in range(runs):
        tree = scheme.draw(floats.draft, coin)
        if tree not in roots:
            roots[tree] = tree.root(floats.target, floats.draft)
        verdict = verifier.verify(roots[tree], coin)
        blocks[verdict.accepted, verdict.correction] += 1
    return blocks


def blocks_of(law, size):
    return {
        (context, token): float(as_python(masses[context_index(context, size), token]))
        for depth, masses in enumerate(law.correction)
        for context in product(range(size), repeat=depth)
        for token in range(size)
    }


def agrees(blocks, law):
    """Pearson's chi-square statistic of the blocks against the law; a block that cannot happen settles it."""
    if any(not law[block] for block in blocks):
        return False
    runs = blocks.total()
    cells = [(blocks[block], mass * runs) for block, mass in law.items() if mass * runs >= FEWEST]
    rare = [(blocks[block], mass * runs) for block, mass in law.items() if 0 < mass * runs < FEWEST]
    cells += [tuple(map(sum, zip(*rare, strict=True)))] if rare else []
    return sum((seen - mean) ** 2 / mean for seen, mean in cells) < chi2.ppf(1 - LEVEL / len(SHAPES), len(cells) - 1)


def efficiency_agrees(blocks, law):
    """The mean of `tau + 1` within as many standard errors as `LEVEL` allows."""
    mean = sum(mass * (len(context) + 1) for (context, _), mass in law.items())
    spread = sqrt(sum(mass * (len(context) + 1 - mean) ** 2 for (context, _), mass in law.items()))
    found = sum(seen * (len(context) + 1) for (context, _), seen in blocks.items()) / blocks.total()
    return abs(found - mean) <= norm.ppf(1 - LEVEL / len(SHAPES) / 2) * spread / sqrt(blocks.total())


def planned(shape, seed=0):
    V, K, L1, L2 = shape
    instance = FAMILIES["perturbed"].instance(V, L1 + L2, np.random.default_rng(seed), denominator=20)
    found = optimum(instance.target, instance.draft, Delayed(K, L1, L2))
    return instance, found, make("optimum", plan=found.plan, draft_tables=instance.draft.tables)


@pytest.mark.parametrize(
    ("shape", "runs"),
    [
        *((shape, RUNS) for shape in SHAPES[::2]),
        *(pytest.param(each, MANY, marks=pytest.mark.heavy) for each in SHAPES),
    ],
    ids=str,
)
def test_the_optimum_runs_with_its_exact_law_and_block_efficiency(shape, runs):
    instance, found, verifier = planned(shape)
    scheme = Delayed(*shape[1:])
    law = block_law(verifier, instance.target, instance.draft, scheme, "rational", engine="enumerate")
    assert law.block_efficiency == found.lower
    assert law.max_deviation(instance.target) == 0
    blocks, expected = sampled(verifier, instance, scheme, SHAPES.index(shape), runs), blocks_of(law, shape[0])
    assert agrees(blocks, expected)
    assert efficiency_agrees(blocks, expected)


def test_another_mixture_of_the_same_orders_is_noticed():
    instance, found, verifier = planned(SHAPES[0])
    plan, scheme = found.plan, Delayed(*SHAPES[0][1:])
    assert len(plan.weights) > 1
    reordered = PathPlan(*SHAPES[0], plan.weights, plan.orders[1:] + plan.orders[:1])
    other = make("optimum", plan=reordered, draft_tables=instance.draft.tables)
    law = block_law(verifier, instance.target, instance.draft, scheme, "rational")
    blocks = sampled(other, instance, scheme, 0, RUNS)
    assert not agrees(blocks, blocks_of(law, SHAPES[0][0]))
    assert not efficiency_agrees(blocks, blocks_of(law, SHAPES[0][0]))
