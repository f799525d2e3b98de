"""Training, bits per character, and the folder that holds a trained pair."""

import dataclasses
import gc
import json
from dataclasses import replace
from math import log2
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.pair.corpus import Corpus, model_bits, ngram_bits, sample
from draftproof.experiments.models.pair.folder import make_pair, new_folder
from draftproof.experiments.models.pair.training import (
    InitialTarget,
    Plan,
    Recipe,
    Size,
    _noisy,
    choose_recipe,
    grown,
    new_model,
    train,
)
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.ngram import TextPair
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.tables import context_index
from tests.experiments.models.plain import load_folder

CPU = torch.device("cpu")


def short(text=EMBEDDED, **changes):
    """A pair that is trained in a second, to nothing much."""
    plan = Plan(steps=3, batch=2, window=8)
    size = Size(hidden=8, layers=1, heads=1)
    return replace(Recipe(Corpus(text, read_text(text)[:3000]), "letters", 4, 0, size, size, plan, plan), **changes)


class Uniform:
    """A model without context: logits 0, log 2, log 1, log 1 for the four tokens after anything."""

    device = CPU

    def __call__(self, tokens, use_cache):
        assert int(tokens.min()) >= 0
        return SimpleNamespace(logits=torch.tensor([1.0, 2.0, 1.0, 1.0]).log().expand(*tokens.shape, 4))


class Shifted(Uniform):
    """Puts 3/4 on the token that was seen two places before, 1/12 on each other one; the rest at the beginning."""

    def __call__(self, tokens, use_cache):
        rows = torch.full((*tokens.shape, 4), 1 / 12, dtype=torch.float64)
        rows[:, 1:].scatter_(-1, tokens[:, :-1, None], 0.75)
        return SimpleNamespace(logits=rows.log())


@pytest.mark.parametrize("count", [1, 3, 4, 5, 8, 9, 700])
def test_bits_per_token_are_minus_the_mean_logarithm_of_what_came(count):
    held_out = np.arange(count) % 4
    by_hand = -np.log2(np.where(held_out == 1, 2 / 5, 1 / 5)).mean()
    found = model_bits(Uniform(), np.zeros(20, dtype=np.int64), held_out, 4, window=8)
    assert found == pytest.approx(by_hand, abs=1e-6)  # the model's logits are float32


def test_bits_use_the_training_text_as_context_and_score_every_token_once():
    # Period 2, across the border: every held-out token is the one two places before.
    tokens = np.array([0, 1] * 50)
    assert model_bits(Shifted(), tokens[:30], tokens[30:], 4, window=8) == pytest.approx(-log2(0.75), abs=1e-12)


@pytest.mark.parametrize("order", [0, 1, 3])
def test_n_gram_bits_are_those_of_the_n_gram_pair(order):
    text = read_text(EMBEDDED)[:30_000]
    pair = TextPair(text[:28_000], 4, order, 0, denominator=2**40)
    tokens = np.array(pair.encode(text))
    table = np.array(pair.model(order), dtype=float)
    rows = [table[context_index(tuple(tokens[at - order : at]), 4)][tokens[at]] for at in range(28_000, 30_000)]
    # The table is rounded to multiples of 2**-40.
    assert ngram_bits(tokens[:28_000], tokens[28_000:], 4, order) == pytest.approx(-np.log2(rows).mean(), abs=1e-8)


def test_training_learns_what_can_be_learned():
    tokens = np.array([0, 1, 2, 3] * 200)
    plan = Plan(steps=60, batch=8, window=16, rate=1e-2)
    parts = []
    model = new_model(Size(16, 1, 2), 4, 0)
    assert train(model, tokens, plan, 0, CPU, parts.append) < 0.1
    assert model_bits(model, tokens, tokens[:40], 4, 16) < 0.05
    assert parts == [1] * 60
    assert sample(model, [0, 1], 6, coin_for("numpy", 0), Sampling(0).of_logits) == (
        2,
        3,
        0,
        1,
        2,
        3,
    )


def test_noise_replaces_its_share_of_what_is_read_and_nothing_of_what_is_learned():
    tokens = torch.zeros(40, 50, dtype=torch.long)
    changed = _noisy(tokens, 0.2, 4, np.random.default_rng(0))
    # A fifth, and of those every fourth is replaced by itself: 0.15 of 2000, within five standard deviations.
    assert abs(float((changed != 0).float().mean()) - 0.15) < 5 * (0.15 * 0.85 / 2000) ** 0.5
    assert torch.equal(tokens, torch.zeros_like(tokens))
    assert set(changed.unique().tolist()) == {0, 1, 2, 3}
    assert _noisy(tokens, 0.0, 4, np.random.default_rng(0)) is tokens
    plan = Plan(steps=60, batch=8, window=16, rate=1e-2, noise=0.1)
    text = np.array([0, 1, 2, 3] * 200)
    model = new_model(Size(16, 1, 2, tied=True), 4, 0)
    train(model, text, plan, 0, CPU, lambda _: None)
    assert sample(model, [0, 1], 6, coin_for("numpy", 0), Sampling(0).of_logits) == (
        2,
        3,
        0,
        1,
        2,
        3,
    )


def test_training_keeps_no_tensor_of_the_steps_that_are_done():
    """Tensors that stay hold memory in pieces: byte pairs once grew by a gigabyte in a hundred steps."""
    alive = []

    def count(share):
        alive.append(sum(issubclass(type(each), torch.Tensor) for each in gc.get_objects()))

    model = new_model(Size(hidden=8, layers=1, heads=1), vocab_size=4, seed=0)
    train(model, np.arange(100) % 4, Plan(steps=12, batch=2, window=8), 0, CPU, count)
    assert len(alive) == 12
    assert alive[-1] == alive[2]  # the first steps make what the optimizer keeps


def test_weights_depend_on_the_seed_alone_and_leave_the_generator_as_it_was():
    torch.manual_seed(5)
    untouched = torch.rand(1)
    torch.manual_seed(5)
    first, again, other = (new_model(Size(8, 1, 1), 4, seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.rand(1), untouched)
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not torch.equal(first["lm_head.weight"], other["lm_head.weight"])


@pytest.mark.heavy
def test_the_same_recipe_gives_the_same_files(tmp_path):
    records = [make_pair(short(), tmp_path / name, CPU) for name in "ab"]
    assert records[0] == records[1]
    for role in ("target", "draft"):
        files = [(tmp_path / name / role / "model.safetensors").read_bytes() for name in "ab"]
        assert files[0] == files[1]
    other, _ = make_pair(short(seed=1), tmp_path / "c", CPU)
    assert other["bits_per_character"] != records[0][0]["bits_per_character"]


def test_a_trained_pair_is_reused_and_never_overwritten(tmp_path):
    record, there = make_pair(short(), tmp_path / "pair", CPU)
    assert not there
    weights = tmp_path / "pair" / "target" / "model.safetensors"
    before = weights.stat().st_mtime_ns
    assert make_pair(short(), tmp_path / "pair", CPU) == (record, True)
    with pytest.raises(InvalidInput, match=r"holds a pair with seed 0, not 1; choose another folder, or remove it"):
        make_pair(short(seed=1), tmp_path / "pair", CPU)
    with pytest.raises(InvalidInput, match="holds a pair with target steps 3, not 4"):
        make_pair(short(target_plan=Plan(steps=4, batch=2, window=8)), tmp_path / "pair", CPU)
    assert weights.stat().st_mtime_ns == before
    (tmp_path / "pair" / "draft" / "config.json").unlink()
    with pytest.raises(InvalidInput, match="holds only part of a trained pair"):
        make_pair(short(), tmp_path / "pair", CPU)


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidInput, match="is there and holds no trained pair"):
        make_pair(short(), tmp_path, CPU)
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]


def test_training_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("draftproof.experiments.models.pair.folder.measure", stop)
    with pytest.raises(KeyboardInterrupt):
        make_pair(short(), tmp_path / "pair", CPU)
    assert list(tmp_path.iterdir()) == []


def test_the_record_says_what_was_done(tiny_folder, tiny_recipe):
    record = json.loads((tiny_folder / "pair.json").read_text(encoding="utf-8"))
    assert record["configuration"] == tiny_recipe.configuration
    assert record["strong_id"] == tiny_recipe.strong_id
    assert record["text_hash"] == TextPair(tiny_recipe.corpus.text, 2, 0, 0).digest
    assert {"torch", "transformers", "tokenizers", "python", "numpy"} <= record["versions"].keys()
    assert record["characters"] == {"training": 57_000, "held_out": 3_000}
    bits = record["bits_per_character"]
    pair = load_folder(tiny_folder, "cpu")
    training, held_out = (
        np.array(pair.encode(part)) for part in (tiny_recipe.corpus.training, tiny_recipe.corpus.held_out)
    )
    assert bits["target"] == model_bits(pair.target, training, held_out, 8, 64)  # one text, one letter a token
    assert bits["ngram3"] == ngram_bits(training, held_out, 8, 3)
    assert bits["target"] < bits["draft"] < 3  # three bits a letter is no knowledge at V = 8


@pytest.mark.parametrize(
    "fields",
    [
        {"steps": 0},
        {"steps": 1, "batch": 0},
        {"steps": 1, "window": 1},
        {"steps": 1, "rate": 0.0},
        {"steps": 1, "noise": 1.0},
    ],
)
def test_plans_that_train_nothing_are_refused(fields):
    with pytest.raises(InvalidInput, match=r"is none|must be above 0|must be at least 0"):
        Plan(**fields)


def test_texts_that_are_too_short_are_refused():
    with pytest.raises(InvalidInput, match="text x has 3 symbols; training needs at least 2000"):
        Corpus("x", "abc")
    with pytest.raises(InvalidInput, match="9 training tokens are too few for windows of 8"):
        train(new_model(Size(8, 1, 1), 4, 0), np.zeros(9, dtype=np.int64), Plan(1, 1, 8), 0, CPU, lambda _: None)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_pair_trained_on_cuda_gives_the_same_rows_on_the_cpu(tmp_path):
    record, _ = make_pair(short(), tmp_path / "pair", torch.device("cuda"))
    assert record["device"] == "cuda"
    there, here = (load_folder(tmp_path / "pair", device, "float64") for device in ("cuda", "cpu"))
    contexts = np.random.default_rng(0).integers(0, 4, (20, 6))
    for which in ("target", "draft"):
        # Sums in another order.
        assert (there.rows(which, contexts).cpu() - here.rows(which, contexts)).abs().max() < 1e-12


def test_a_folder_that_another_run_has_made_meanwhile_stays(tmp_path):
    with new_folder(tmp_path / "new") as mine:
        (mine / "whose").write_text("mine")
        with new_folder(tmp_path / "new") as others:
            (others / "whose").write_text("others")
    assert (tmp_path / "new" / "whose").read_text() == "others"
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


IDS = torch.tensor([[1, 5, 2, 7, 7, 0]])


def test_a_grown_model_says_the_same_with_and_without_a_cache():
    young = new_model(Size(16, 2, 2), 8, 0).eval()
    old = grown(young, 6).eval()
    assert torch.equal(old(IDS).logits, young(IDS).logits)
    cache = old(IDS[:, :3]).past_key_values
    assert len(cache.layers) == 6
    rest = old(IDS[:, 3:], past_key_values=cache).logits
    assert torch.allclose(rest, young(IDS).logits[:, 3:], atol=1e-5)  # sums in another order, in float32
    assert len(young.model.layers) == 2


def test_new_layers_learn_and_the_young_model_stays():
    young = new_model(Size(16, 1, 2), 8, 0)
    before = {name: weights.clone() for name, weights in young.state_dict().items()}
    old = grown(young, 3)
    tokens = np.arange(400) % 8
    train(old, tokens, Plan(steps=3, batch=2, window=16), 0, torch.device("cpu"), lambda share: None)
    for layer in old.model.layers:
        assert float(layer.self_attn.o_proj.weight.abs().max()) > 0
        assert float(layer.mlp.down_proj.weight.abs().max()) > 0
    assert all(torch.equal(weights, before[name]) for name, weights in young.state_dict().items())


@pytest.mark.parametrize("layers", [1, 3])
def test_layers_that_do_not_divide_are_refused(layers):
    with pytest.raises(InvalidInput, match=f"2 layers do not grow to {layers}; choose a multiple of 2"):
        grown(new_model(Size(16, 2, 2), 8, 0), layers)


def test_a_folder_of_a_grown_pair_is_read_back(tiny_recipe, tmp_path):
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


def test_the_deep_recipe_and_what_options_change(tiny_recipe):
    def deep(vocab=None, steps=None):
        return choose_recipe(tiny_recipe.corpus, "letters", vocab, 0, steps, "deep")

    assert (deep().target.layers, deep().vocab_size, deep().initial) == (64, 64, InitialTarget(8, Plan(steps=1200)))
    assert deep(vocab=8).vocab_size == 8
    half = deep(steps=deep().target_plan.steps // 2)
    assert half.initial is not None
    assert (half.initial.plan.steps, half.draft_plan.steps) == (1200 // 2, deep().draft_plan.steps // 2)
    with pytest.raises(InvalidInput, match="unknown recipe 'wide'; choose small or deep"):
        choose_recipe(tiny_recipe.corpus, "letters", None, 0, None, "wide")


@pytest.mark.heavy
def test_the_command_prints_bits_and_a_sample(draftproof, tmp_path):
    (tmp_path / "text.txt").write_text(read_text(EMBEDDED)[:3000], encoding="utf-8")
    given = ("model", "train", "--out", "pair", "--text", "text.txt", "--vocab", 4, "--steps", 1, "--device", "cpu")
    first, again, refused = draftproof(*given), draftproof(*given, "--json"), draftproof(*given, "--seed", 1)
    assert (first.code, again.code, refused.code) == (0, 0, 2)
    assert "bits are those on the last 150 characters, held out, rare symbols as one token" in first.out
    for words in ("│ target", "│ draft", "│ n-grams of order 3", "│ n-grams of order 1", "the target after"):
        assert words in first.out
    assert again.json["record"][0] == json.loads((tmp_path / "pair" / "pair.json").read_text(encoding="utf-8"))
    assert "was not trained again" in again.json["notes"][2] + again.json["notes"][3]
