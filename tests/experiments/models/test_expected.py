"""The rows of drawn trees come from few passes."""

import numpy as np
import pytest

from draftproof.experiments.models.expect.trees import RootTrees
from draftproof.experiments.models.loop.drafting import nodes_of
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator import Delayed
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.sampling_coin import SamplingCoin

CONTEXTS = [(0, 1, 2, 3), (3, 1, 0)]


def test_the_targets_rows_of_a_tree_come_from_one_pass_a_depth(exact_pair: Pair) -> None:
    sampling, root, read = Sampling(temperature=0.8), CONTEXTS[0], list[int]()
    trees = RootTrees(exact_pair, sampling, root)
    drawn = trees.drawn(Delayed(2, 0, 3), 1, SamplingCoin(np.random.default_rng(0)))
    hook = exact_pair.target.register_forward_hook(lambda *_: read.append(1))
    trees.roots(drawn)
    hook.remove()
    assert len(read) == 4 + 3  # and at each depth below the root one over the root
    assert len(trees.target.known) == 1 + len(nodes_of(drawn[0]))
    for context, row in trees.target.known.items():
        alone = exact_pair.rows("target", [[*root, *context]], sampling)[0].numpy()
        assert row == pytest.approx(alone, abs=1e-12)  # passes of other shapes sum in another order
