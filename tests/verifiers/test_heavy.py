"""Long checks, run by `make check`: every scheme that a card declares, on many random instances and on whole grids."""

from fractions import Fraction

import pytest

from draftproof.simulator import check
from draftproof.simulator.drafts import (
    Delayed,
    DynamicDepth,
    DySpec,
    DySpecThreshold,
    Eagle2,
    OptTree,
    Sequoia,
    SpecHub,
    SpecInferConfig,
    lossless_for,
)
from draftproof.simulator.verdicts.cases import CASES, case_instances
from draftproof.simulator.verdicts.grids import grid, grid_size
from draftproof.verifiers import STANDALONE, make

#: Trees of depth two at most: delayed ones, and of every scheme that grows with what the draft says.
SMALL = (
    Delayed(3, 1, 1),
    Delayed(2, 0, 2),
    SpecInferConfig((2, 1)),
    DySpec(2),
    DySpecThreshold(Fraction(1, 3), 2),
    Sequoia(2, 2, (2, 0, 0)),
    OptTree(2),
    Eagle2(2, 2, 3),
    DynamicDepth(2, 2),
    SpecHub(2),
)
DECLARED = [(name, scheme) for name in STANDALONE for scheme in lossless_for(make(name).card)]


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "scheme"), DECLARED)
def test_lossless_on_every_declared_scheme(name, scheme):
    count = 200 if scheme == "delayed" else 30
    for case in CASES[scheme]:
        instances = list(case_instances(case, count))
        assert len({instance.digest() for instance in instances}) >= count
        for instance in instances:
            assert check(make(name), instance.target, instance.draft, case[1], engine="enumerate").max_deviation == 0


@pytest.mark.heavy
@pytest.mark.parametrize("scheme", SMALL, ids=str)
def test_lossless_on_every_instance_in_thirds(scheme):
    """All 4,096 pairs of rows in multiples of 1/3 at V = 2, zeros and ties among them; each verifier on a fourth."""
    named = [name for name in STANDALONE if scheme.name in lossless_for(make(name).card)]
    assert len(named) >= 1
    count = 0
    for instance in grid(2, scheme.depth, 3):
        count += 1
        for name in named[count % 4 :: 4]:
            assert check(make(name), instance.target, instance.draft, scheme, engine="enumerate").max_deviation == 0
    assert count == grid_size(2, scheme.depth, 3) == 4096


#: `spechub` takes its own pairs only; the others leave rows in thirds as they are.
NOT_BY_GRIDS = ("spechub", "truncation", "eta", "fuzzy")


@pytest.mark.heavy
@pytest.mark.parametrize(
    "name", [name for name in STANDALONE if (name, "delayed") not in DECLARED and name not in NOT_BY_GRIDS]
)
def test_grids_can_refute(name):
    """The same grids, or three paths of two tokens in halves, refute what is not declared lossless there."""
    trees = [(Delayed(3, 1, 1), 3), (Delayed(2, 0, 2), 3), (Delayed(3, 0, 2), 2)]
    assert any(
        not check(make(name), instance.target, instance.draft, scheme, engine="enumerate").lossless
        for scheme, denominator in trees
        for instance in grid(2, scheme.depth, denominator)
    )
