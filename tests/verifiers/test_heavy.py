"""Long checks, run by `make check`: many random instances, and every instance of small grids."""

from __future__ import annotations

import pytest

from draftproof.simulator import Delayed, check
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.drafts.delayed import SHAPES
from draftproof.simulator.verdicts.cases import conformance_instances
from draftproof.simulator.verdicts.grids import grid, grid_size
from draftproof.verifiers import STANDALONE, make

LOSSLESS = [name for name in STANDALONE if "delayed" in lossless_for(make(name).card)]


@pytest.mark.heavy
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", LOSSLESS)
def test_lossless_on_two_hundred_random_instances(name: str, shape: tuple[int, int, int, int]) -> None:
    instances = list(conformance_instances(shape, 200))
    assert len({instance.digest() for instance in instances}) == 200
    for instance in instances:
        assert (
            check(make(name), instance.target, instance.draft, Delayed(*shape[1:]), engine="enumerate").max_deviation
            == 0
        )


@pytest.mark.heavy
@pytest.mark.parametrize("shape", [(2, 3, 1, 1), (2, 2, 0, 2)], ids=str)
@pytest.mark.parametrize("name", LOSSLESS)
def test_lossless_on_every_instance_in_thirds(name: str, shape: tuple[int, int, int, int]) -> None:
    size, _, L1, L2 = shape
    instances = 0
    for instance in grid(size, L1 + L2, 3):
        assert (
            check(make(name), instance.target, instance.draft, Delayed(*shape[1:]), engine="enumerate").max_deviation
            == 0
        )
        instances += 1
    assert instances == grid_size(size, L1 + L2, 3) == 4096


@pytest.mark.heavy
@pytest.mark.parametrize("name", [name for name in STANDALONE if name not in {*LOSSLESS, "spechub"}])  # its pairs only
def test_grids_can_refute(name: str) -> None:
    """The same grids, or three paths of two tokens in halves, refute what is not declared lossless here."""
    shapes = [((2, 3, 1, 1), 3), ((2, 2, 0, 2), 3), ((2, 3, 0, 2), 2)]
    assert any(
        not check(make(name), instance.target, instance.draft, Delayed(K, L1, L2), engine="enumerate").lossless
        for (size, K, L1, L2), denominator in shapes
        for instance in grid(size, L1 + L2, denominator)
    )
