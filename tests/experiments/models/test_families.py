"""Families of models in the loop, with their attention, windows and shared heads: rows and caches of plain passes."""

from itertools import product

import pytest
import torch
import transformers
from transformers import LlamaConfig

from draftproof.experiments.models.expect.tables import pair_tables
from draftproof.experiments.models.loop import supported
from draftproof.experiments.models.loop.caches import ModelCache, windows_of, within
from draftproof.experiments.models.loop.reading import Reading
from draftproof.experiments.models.loop.supported import check_supported
from draftproof.experiments.models.pair.devices import max_positions
from draftproof.simulator import Delayed, InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from tests.experiments.models.drawn import PROMPTS, Watched

#: Passes of other shapes sum in another order. Some families turn to float32 inside (eager softmax, rotary angles,
#: norms): some hundred roundings of 2^-24 of numbers up to 20.
TOLERANCE = 1e-4
WINDOW = 4
MIXED = ("sliding_attention", "full_attention")
#: By family the fields with which it looks back `WINDOW` tokens, in every layer or in every other.
WINDOWED = {
    "Mistral": ("Mistral", {}, {WINDOW}),
    "Qwen2, all": ("Qwen2", {"use_sliding_window": True, "max_window_layers": 0}, {WINDOW}),
    "Qwen2, second": ("Qwen2", {"use_sliding_window": True, "max_window_layers": 1}, {None, WINDOW}),
    "Gemma2": ("Gemma2", {"head_dim": 8}, {None, WINDOW}),
    "Gemma3": ("Gemma3", {"head_dim": 8, "layer_types": list(MIXED)}, {None, WINDOW}),
    "Olmo3": ("Olmo3", {"layer_types": list(MIXED)}, {None, WINDOW}),
}


def windowed(random_pair, name):
    family, fields, kinds = WINDOWED[name]
    attention = "eager" if family == "Gemma2" else "sdpa"
    fields = {**fields, "sliding_window": WINDOW, "num_key_value_heads": 2}
    pair = random_pair(3, torch.float64, family, attention, 0.05, fields=fields)
    assert set(windows_of(pair.target).values()) == kinds
    return pair


def watched(pair):
    return Watched(pair, Delayed(3, 1, 2), "traversal", PROMPTS, Sampling())


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    ("attention", "family"), list(product(["sdpa", "eager"], ["Llama", "Qwen2", "GPTNeoX", "GPT2"])), ids=str
)
def test_rows_agree_for_every_family_and_attention(random_pair, family, attention):
    assert watched(random_pair(family=family, attention=attention)).run(6).rows_off() <= TOLERANCE


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", WINDOWED)
def test_rows_and_caches_beyond_the_window_are_those_of_plain_passes(random_pair, name):
    seen = watched(windowed(random_pair, name)).run(6)
    assert min(map(len, seen.texts)) > WINDOW + 3
    assert seen.rows_off() <= TOLERANCE
    assert seen.caches_off() <= TOLERANCE


def test_a_window_is_the_last_slots_that_are_seen():
    sees = torch.tensor([[[1, 0, 1, 1, 0, 1], [0, 0, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1]]], dtype=torch.bool)
    assert within(sees, 2).int().tolist() == [[[0, 0, 0, 1, 0, 1], [0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1]]]
    assert within(sees, 6) is within(sees, None) is sees


@pytest.mark.one_in(2)
@pytest.mark.parametrize("groups", [1, 2])
def test_keys_that_several_heads_share_are_kept_once(random_pair, groups):
    pair = random_pair(3, torch.float64, "Llama", noise=0.05, fields={"num_key_value_heads": groups})
    seen = watched(pair).run(8)
    assert {keys.shape[1] for keys, _ in seen.state.target.layers} == {groups}
    assert seen.rows_off() <= 1e-10
    assert seen.caches_off() <= 1e-10


def test_places_and_masks_by_hand():
    class Silent:
        """A model that keeps what it was asked."""

        dtype, config = torch.float32, LlamaConfig()

        def __call__(self, **asked):
            self.asked = asked
            shape = (*asked["input_ids"].shape, 9)
            return type("Output", (), {"logits": torch.arange(shape[1]).expand(shape[0], -1)[..., None].expand(shape)})

    model, nothing = Silent(), ModelCache.empty("cpu")
    made = Reading(model, ModelCache.joined([nothing, nothing]), [(5, 6), (7,)])
    ends = made.read([[(), (1,)], [(), (2,), (3,), (2, 4)]])
    assert model.asked["input_ids"].tolist() == [[5, 6, 1, 0], [7, 2, 3, 4]]
    assert model.asked["position_ids"].tolist() == [[0, 1, 2, 0], [0, 1, 1, 2]]
    assert (model.asked["attention_mask"][:, 0] == 0).int().tolist() == [
        [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 1]],
        [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 1]],
    ]
    assert ends[..., 0].tolist() == [[1, 2, 0, 0], [0, 1, 2, 3]]  # behind those of the first stands nothing
    made.read([[], [(3, 0)]])
    assert model.asked["position_ids"].tolist() == [[0], [2]]
    assert (model.asked["attention_mask"][:, 0] == 0).int().tolist() == [[[0, 0, 0, 0, 1]], [[1, 0, 1, 0, 1]]]
    after, unread = made.trimmed([(1, 8), (3,)])
    assert after.held.tolist() == [[True, True, True], [True, True, False]]
    assert after.lengths.tolist() == [3, 2]
    assert unread == [(8,), ()]


SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
LLAMA = {**SIZES, "intermediate_size": 64, "num_key_value_heads": 2}
ENDS = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


def model(family, attention="eager", **fields):
    config = getattr(transformers, f"{family}Config")(vocab_size=20, **fields, **ENDS)
    config._attn_implementation = attention
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return getattr(transformers, f"{family}ForCausalLM")(config).eval()


@pytest.mark.parametrize(
    ("family", "fields", "room"),
    [
        ("Llama", LLAMA, None),
        ("Qwen3", {**LLAMA, "head_dim": 8}, None),
        ("Mistral", {**LLAMA, "sliding_window": None}, None),
        ("Mistral", {**LLAMA, "sliding_window": 16}, None),
        ("Gemma", {**LLAMA, "head_dim": 8}, None),
        ("Gemma2", {**LLAMA, "head_dim": 8}, None),
        ("GPTNeoX", {**SIZES, "intermediate_size": 64}, None),
        ("Falcon", SIZES, None),
        ("OPT", {**SIZES, "ffn_dim": 64, "word_embed_proj_dim": 32, "max_position_embeddings": 128}, 128),
    ],
)
def test_decoders_with_full_attention_can_read_trees(family, fields, room):
    decoder = model(family, **fields)
    check_supported(decoder, "the target")
    assert max_positions(decoder) == room


@pytest.mark.parametrize(
    ("family", "fields", "words"),
    [
        (
            "Jamba",
            {**LLAMA, "num_experts": 2, "attn_layer_period": 2, "attn_layer_offset": 1},
            "recurrent state|Linear",
        ),
        ("Mamba", {"hidden_size": 32, "num_hidden_layers": 2}, "recurrent state"),
        ("Bloom", {"hidden_size": 32, "n_layer": 2, "n_head": 4}, "takes no 4-dimensional attention mask"),
        ("Mpt", {"d_model": 32, "n_layers": 2, "n_heads": 4}, "does not obey a tree mask"),
    ],
)
def test_others_are_refused_by_name(family, fields, words):
    with pytest.raises(InvalidInput, match=words) as caught:
        check_supported(model(family, **fields), "the draft")
    assert str(caught.value).startswith(f"the draft ({family}ForCausalLM)")
    assert "\n" not in str(caught.value)


def test_a_model_is_tried_once_in_each_place_and_precision(monkeypatch):
    tried = []
    probe = supported._probe
    monkeypatch.setattr(supported, "_probe", lambda model: tried.append(model.dtype) or probe(model))
    llama = model("Llama", **LLAMA)
    for _ in range(2):
        check_supported(llama, "the target")
    check_supported(llama.double(), "the target")
    assert tried == [torch.float32, torch.float64]
    llama.config._attn_implementation = "flash_attention_2"
    with pytest.raises(InvalidInput, match="takes no mask of ours"):
        check_supported(llama, "the target")


def test_what_has_too_few_positions_is_one_line(random_pair):
    pair = random_pair(family="GPT2", fields={"n_positions": 18})
    root = tuple(token % 8 for token in range(16))
    assert pair_tables(pair, Sampling(), root, 2)[0].row((1, 1)).sum() == pytest.approx(1)
    for ask in (lambda: pair_tables(pair, Sampling(), root, 3), lambda: pair.rows("draft", [[*root, 1, 2, 3]])):
        with pytest.raises(InvalidInput, match=r"reads 18 tokens at most, and 19 are asked for; give a shorter root"):
            ask()


def test_a_model_in_training_mode_is_told_apart(random_pair):
    trained = random_pair(family="GPT2", fields={"resid_pdrop": 0.5}).target
    check_supported(trained, "the target")
    trained.train()
    with pytest.raises(InvalidInput, match="is in training mode; call its eval"):
        check_supported(trained, "the target")
