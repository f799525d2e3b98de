"""What is no scheme, and what a scheme cannot draw or count, is refused with its culprit."""

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from draftproof.simulator import MarkovProcess, SamplingCoin
from draftproof.simulator.drafts import (
    Delayed,
    DynamicDepth,
    DySpecThreshold,
    Eagle2,
    OptTree,
    SpecInferConfig,
    StochasticBeam,
    Stratified,
    Systematic,
    Topology,
    scheme_from_dict,
)
from draftproof.simulator.errors import InvalidInput, TooLarge

WIDE = MarkovProcess([np.full(8, 1 / 8)])
DELAYED = {"name": "delayed", "K": 2, "L1": 0, "L2": 1}
WIDTHS = "give for each level a whole number of 1 to 1000"

#: What is called with what, and what it says.
REFUSED: list[tuple[Callable[..., Any], Any, str]] = [
    (Delayed, (0, 0, 2), "K = 0: a draft tree needs at least one branch; use K >= 1"),
    (Delayed, (2, -1, 2), "L1 = -1, L2 = 2: lengths cannot be negative; use 0 or more"),
    (Delayed, (2, 1, 0), "L2 = 0 leaves no room for K = 2 branches; use K = 1 or L2 >= 1"),
    (Systematic, (2, 0, 2, "up"), "systematic: order = 'up'; choose descending or number"),
    *((SpecInferConfig, (widths,), WIDTHS) for widths in ((0,), (2, -1), (1.0,), (2000,))),
    *((Topology, (tree,), "tree ") for tree in ((1,), (2, 0), (0, 0), (2, 1, 0), (-1, 0), (0, 1))),
    (StochasticBeam, (0, 2), "rsd_s: K = 0 must be"),
    (Eagle2, (0,), "eagle2: beam = 0 must be a whole number of 1 to 1000"),
    (OptTree, (4, Fraction(2)), "opt_tree: gain = 2 must lie in [0, 1]"),
    (DynamicDepth, (2, 2, 0.5), "ddd: threshold = 0.5 is not exact"),
    (DySpecThreshold, (Fraction(0),), "dyspec_threshold: value = 0 must lie in (0, 1]"),
    (scheme_from_dict, ({"name": "bushy"},), "unknown scheme {'name': 'bushy'}; known: delayed, "),
    (scheme_from_dict, (DELAYED | {"L3": 0},), "must have K, L1, L2 and nothing else"),
    (scheme_from_dict, (DELAYED | {"L2": 1.0},), "L2 = 1.0 must be a whole number"),
    (scheme_from_dict, ({"name": "topology", "tree": 3},), "tree = 3 must be a list of whole numbers"),
    (scheme_from_dict, (DELAYED | {"name": "adaptive", "confidence": "a"},), "'a' is not a number"),
    (scheme_from_dict, (Stratified().as_dict() | {"order": 5},), "order = 5 must be a word"),
    (
        Stratified().draw,
        (SimpleNamespace(vocab_size=3, row=lambda context: np.zeros(3)), SamplingCoin(np.random.default_rng(0))),
        "a row of the draft sums to 0.0; to draw from a part of it, it must have mass",
    ),
    (SpecInferConfig((30, 1)).count, (WIDE,), "more than 1,000,000 drafts at one node"),
    (Stratified(2, 0, 10).count, (WIDE,), "V^L = 8^10 paths are too many to list"),
]


@pytest.mark.parametrize(("call", "arguments", "message"), REFUSED)
def test_what_is_no_scheme_or_too_large_is_refused(call: Callable[..., Any], arguments: Any, message: str) -> None:
    with pytest.raises((InvalidInput, TooLarge)) as caught:
        call(*arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
