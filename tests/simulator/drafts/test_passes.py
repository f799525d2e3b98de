"""Schemes that go layer by layer name the rows of a layer before they draw there."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from draftproof.simulator import SamplingCoin
from draftproof.simulator.drafts import (
    DynamicDepth,
    DySpecThreshold,
    Eagle2,
    Greedy,
    OptTree,
    Sequoia,
    SpecBlock,
    SpecHub,
    SpecInferConfig,
    TopK,
    Topology,
    WithoutReplacement,
)
from draftproof.simulator.protocol import Context, DraftScheme

LAYERED: list[DraftScheme] = [
    WithoutReplacement(2, 1, 2),
    TopK(2, 0, 3),
    Greedy(3, 0, 2),
    SpecInferConfig((2, 1, 2)),
    SpecHub(3),
    Topology((2, 2, 1, 0, 1, 0, 0)),
    Sequoia(5, 3, (3, 1, 0, 0, 1, 0)),
    DySpecThreshold(Fraction(1, 16), 3, 5),
    Eagle2(2, 3, 4),
    SpecBlock(2, 2, 4),
    OptTree(5),
    DynamicDepth(2, 4, Fraction(1, 10)),
]


class Rows:
    """Random rows, the same for the same context."""

    vocab_size = 4

    def row(self, context: Context) -> Any:
        return np.random.default_rng([7, *context]).dirichlet(np.ones(4))


class InPasses(Rows):
    """Knows only what was named; counts the portions in which new rows were named."""

    def __init__(self) -> None:
        self.known: set[Context] = set()
        self.passes = 0

    def prefetch(self, contexts: Sequence[Context]) -> None:
        self.passes += not self.known.issuperset(contexts)
        self.known.update(contexts)

    def row(self, context: Context) -> Any:
        assert context in self.known
        return super().row(context)


@pytest.mark.parametrize("scheme", LAYERED, ids=str)
def test_a_layer_is_named_before_its_rows_are_asked_for(scheme: DraftScheme) -> None:
    for seed in range(20):
        told = InPasses()
        drawn: Any = scheme.draw(told, SamplingCoin(np.random.default_rng(seed)))
        assert told.passes <= scheme.depth
        assert told.passes >= max(len(context) for context in drawn.children) + 1
        plain: Any = scheme.draw(Rows(), SamplingCoin(np.random.default_rng(seed)))
        assert plain.children == drawn.children
