"""A pair, a head, and a selector, that are trained where the disk becomes full while they are written."""

from dataclasses import replace

import pytest
import torch

from draftproof.experiments.inputs.latency import time_model
from draftproof.experiments.models.pair.folder import make_pair
from draftproof.experiments.models.pair.head_kinds import HEADS
from draftproof.experiments.models.pair.head_training import make_head
from draftproof.experiments.models.pair.training import Plan
from draftproof.experiments.models.selector.file import Use, load_selector, save_selector, selector_fields, times_fields
from draftproof.experiments.models.selector.network import SelectorNetwork
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from tests.quick import quick

resource = pytest.importorskip("resource", reason="a system without limits on files")
CPU = torch.device("cpu")


@pytest.mark.parametrize("most", quick([0, 100, 3_000], [100]))
def test_a_full_disk_is_one_line_and_leaves_nothing(tiny_recipe, tmp_path, most):
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


@pytest.mark.parametrize(
    "kind", ["specblock", *(pytest.param(kind, marks=pytest.mark.heavy) for kind in [*HEADS][:-1])]
)
def test_a_full_disk_leaves_no_part_of_a_head(tiny_pair, tiny_recipe, tmp_path, kind):
    before, asked = resource.getrlimit(resource.RLIMIT_FSIZE), (kind, 1, 0, tmp_path / "head", lambda _: None)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, before[1]))
    try:
        with pytest.raises(InvalidInput, match=r"the head cannot be written: .*; make room and run again"):
            make_head(tiny_pair, tiny_recipe.corpus, *asked)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
    assert make_head(tiny_pair, tiny_recipe.corpus, *asked)[1] is False
    assert make_head(tiny_pair, tiny_recipe.corpus, *asked)[1] is True


@pytest.mark.parametrize("most", [0, 1_000, 500_000])
def test_a_full_disk_leaves_the_older_selector(tmp_path, most):
    fields = {"verifier": "naive", "pair": "one", "vocab_size": 8}
    fields |= {"actions": [[1, 0, 1], [2, 0, 1]], "times": times_fields(time_model("draft=1,target=4"))}
    fields |= {"settings": [Sampling().as_dict()], "base": [[2, 0, 1]]}
    path = save_selector(tmp_path, SelectorNetwork((32, 16), 2), {**fields, "seed": 1})
    older, before = sorted(tmp_path.iterdir()), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        with pytest.raises(InvalidInput, match=r"cannot write .*: File too large; choose a folder"):
            save_selector(tmp_path, SelectorNetwork((32, 16), 2), {**fields, "seed": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert sorted(tmp_path.iterdir()) == older
    assert selector_fields(path.read_bytes())[0]["seed"] == 1
    assert load_selector(path, Use("naive", "one", 8, (32, 16), Sampling())).base == 1
