"""A pair, a head, and a selector, that are trained where the disk becomes full while they are written."""

from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch

from draftproof.experiments.inputs.latency import time_model
from draftproof.experiments.models.pair.folder import make_pair
from draftproof.experiments.models.pair.head_kinds import HEADS
from draftproof.experiments.models.pair.head_training import make_head
from draftproof.experiments.models.pair.training import Plan
from draftproof.experiments.models.selector import file
from draftproof.experiments.models.selector.file import save_selector
from draftproof.experiments.models.selector.network import SelectorNetwork
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from tests.quick import quick

resource = pytest.importorskip("resource", reason="a system without limits on files")
CPU = torch.device("cpu")


@contextmanager
def full_disk(most, said):
    """No file can grow beyond so many bytes in the body, which fails with these words."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        with pytest.raises(InvalidInput, match=said):
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("most", quick([0, 100, 3_000], [100]))
def test_a_full_disk_is_one_line_and_leaves_nothing(tiny_recipe, tmp_path, most):
    plan = Plan(steps=1, batch=2, window=8)
    recipe = replace(tiny_recipe, target_plan=plan, draft_plan=plan)
    with full_disk(most, r"the pair cannot be written: .*; make room and run again"):
        make_pair(recipe, tmp_path / "pair", CPU)
    assert list(tmp_path.iterdir()) == []
    assert make_pair(recipe, tmp_path / "pair", CPU)[1] is False


@pytest.mark.parametrize(
    "kind", ["specblock", *(pytest.param(kind, marks=pytest.mark.heavy) for kind in [*HEADS][:-1])]
)
def test_a_full_disk_leaves_no_part_of_a_head(tiny_pair, tiny_recipe, tmp_path, kind):
    asked = (kind, 1, 0, tmp_path / "head", lambda _: None)
    with full_disk(3_000, r"the head cannot be written: .*; make room and run again"):
        make_head(tiny_pair, tiny_recipe.corpus, *asked)
    assert list(tmp_path.iterdir()) == []
    assert [make_head(tiny_pair, tiny_recipe.corpus, *asked)[1] for _ in range(2)] == [False, True]


@pytest.mark.parametrize("most", [0, 1_000, 500_000])
def test_a_full_disk_leaves_the_older_selector(tmp_path, most):
    fields = {"verifier": "naive", "pair": "one", "vocab_size": 8}
    fields |= {"actions": [[1, 0, 1], [2, 0, 1]], "times": file.times_fields(time_model("draft=1,target=4"))}
    fields |= {"settings": [Sampling().as_dict()], "base": [[2, 0, 1]]}
    path = save_selector(tmp_path, SelectorNetwork((32, 16), 2), {**fields, "seed": 1})
    older = sorted(tmp_path.iterdir())
    with full_disk(most, r"cannot write .*: File too large; choose a folder"):
        save_selector(tmp_path, SelectorNetwork((32, 16), 2), {**fields, "seed": 2})
    assert sorted(tmp_path.iterdir()) == older
    assert file.selector_fields(path.read_bytes())[0]["seed"] == 1
    assert file.load_selector(path, file.Use("naive", "one", 8, (32, 16), Sampling())).base == 1
