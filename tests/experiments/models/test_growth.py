"""A model that grows says what it said before, and learns with all of its layers; the recipe that uses it."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from draftproof.experiments.models.pair.folder import make_pair
from draftproof.experiments.models.pair.pair import load_folder
from draftproof.experiments.models.pair.training import (
    InitialTarget,
    Plan,
    Recipe,
    Size,
    choose_recipe,
    grown,
    new_model,
    train,
)
from draftproof.simulator.errors import InvalidInput

IDS = torch.tensor([[1, 5, 2, 7, 7, 0]])


def test_a_grown_model_says_the_same_with_and_without_a_cache() -> None:
    young = new_model(Size(16, 2, 2), 8, 0).eval()
    old = grown(young, 6).eval()
    assert torch.equal(old(IDS).logits, young(IDS).logits)
    cache = old(IDS[:, :3]).past_key_values
    assert len(cache.layers) == 6
    rest = old(IDS[:, 3:], past_key_values=cache).logits
    assert torch.allclose(rest, young(IDS).logits[:, 3:], atol=1e-5)  # sums in another order, in float32
    assert len(young.model.layers) == 2


def test_new_layers_learn_and_the_young_model_stays() -> None:
    young = new_model(Size(16, 1, 2), 8, 0)
    before = {name: weights.clone() for name, weights in young.state_dict().items()}
    old = grown(young, 3)
    tokens = np.arange(400) % 8
    trained = train(old, tokens, Plan(steps=3, batch=2, window=16), 0, torch.device("cpu"), lambda share: None)
    for layer in trained.model.model.layers:
        assert float(layer.self_attn.o_proj.weight.abs().max()) > 0
        assert float(layer.mlp.down_proj.weight.abs().max()) > 0
    assert all(torch.equal(weights, before[name]) for name, weights in young.state_dict().items())


@pytest.mark.parametrize("layers", [1, 3])
def test_layers_that_do_not_divide_are_refused(layers: int) -> None:
    with pytest.raises(InvalidInput, match=f"2 layers do not grow to {layers}; choose a multiple of 2"):
        grown(new_model(Size(16, 2, 2), 8, 0), layers)


def test_a_folder_of_a_grown_pair_is_read_back(tiny_recipe: Recipe, tmp_path: Path) -> None:
    few = Plan(steps=2, batch=2, window=16)
    recipe = dataclasses.replace(
        tiny_recipe, target=Size(16, 4, 2), initial=InitialTarget(2, few), target_plan=few, draft_plan=few
    )
    record, reused = make_pair(recipe, tmp_path / "pair", torch.device("cpu"))
    assert not reused
    assert record["configuration"]["young"]["layers"] == 2
    assert len(load_folder(tmp_path / "pair", "cpu").target.model.layers) == 4
    assert make_pair(recipe, tmp_path / "pair", torch.device("cpu"))[1]
    with pytest.raises(InvalidInput, match="young"):
        make_pair(dataclasses.replace(recipe, initial=InitialTarget(1, few)), tmp_path / "pair", torch.device("cpu"))


def test_the_deep_recipe_and_what_options_change(tiny_recipe: Recipe) -> None:
    def deep(vocab: int | None = None, steps: int | None = None, seconds: float | None = None) -> Recipe:
        return choose_recipe(tiny_recipe.corpus, "letters", vocab, 0, steps, seconds, "deep")

    assert (deep().target.layers, deep().vocab_size, deep().initial) == (64, 64, InitialTarget(8, Plan(steps=1200)))
    assert deep(vocab=8).vocab_size == 8
    half = deep(steps=deep().target_plan.steps // 2)
    assert half.initial is not None
    assert (half.initial.plan.steps, half.draft_plan.steps) == (
        1200 // 2,
        deep().draft_plan.steps // 2,
    )
    timed = deep(seconds=100)
    assert timed.initial is not None
    given = [timed.initial.plan.seconds, timed.target_plan.seconds, timed.draft_plan.seconds]
    assert sum(each or 0 for each in given) == pytest.approx(100)
    with pytest.raises(InvalidInput, match="unknown recipe 'wide'; choose small or deep"):
        choose_recipe(tiny_recipe.corpus, "letters", None, 0, None, None, "wide")
