"""Models that cannot read a tree are told apart from those that can before anything is generated."""

import pytest
import torch
import transformers

from draftproof.experiments.models.expect.tables import pair_tables
from draftproof.experiments.models.loop import supported
from draftproof.experiments.models.loop.supported import check_supported
from draftproof.experiments.models.pair.devices import max_positions
from draftproof.simulator import InvalidInput
from draftproof.simulator.instances.sampling import Sampling

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
