"""A pair that is trained where the disk becomes full while it is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from experiments.models.pair.folder import make_pair
from experiments.models.pair.recipe import Recipe
from experiments.models.pair.training import Plan
from simulator.errors import InvalidInput

resource = pytest.importorskip("resource", reason="a system without limits on files")
CPU = torch.device("cpu")


@pytest.mark.parametrize("most", [0, 100, 3_000])
def test_a_full_disk_is_one_line_and_leaves_nothing(tiny_recipe: Recipe, tmp_path: Path, most: int) -> None:
    plan, before = Plan(steps=1, batch=2, window=8), resource.getrlimit(resource.RLIMIT_FSIZE)
    recipe = replace(tiny_recipe, target_plan=plan, draft_plan=plan)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))  # no file can grow beyond that
    try:
        with pytest.raises(InvalidInput, match=r"the pair cannot be written: .*; make room and run again"):
            make_pair(recipe, tmp_path / "pair", CPU)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
    assert make_pair(recipe, tmp_path / "pair", CPU)[1] is False
