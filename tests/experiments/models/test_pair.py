"""Pairs: two models over one vocabulary, and every way in which two models are no pair."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from draftproof.experiments.models.pair import devices
from draftproof.experiments.models.pair.opened import PairRequest, load_wanted
from draftproof.experiments.models.pair.pair import load_pair
from draftproof.experiments.models.pair.tokenizers import make_tokenizer
from draftproof.experiments.models.pair.training import Size, new_model
from draftproof.simulator.errors import InvalidInput
from tests.experiments.models.plain import load_folder

ROOT = [0, 3, 1, 2, 5]


def saved(model, folder, text="abcdefgh" * 3, size=8):
    """A model saved in a folder, with a letters tokenizer unless text is None."""
    model.save_pretrained(folder)
    if text is not None:
        make_tokenizer("letters", size, text).save(folder)
    return str(folder)


def small(vocab_size=8, seed=0):
    return new_model(Size(8, 1, 1), vocab_size, seed)


def refusal(target, draft, *arguments):
    """The one line with which the pair is refused."""
    with pytest.raises(InvalidInput) as refused:
        load_pair(str(target), str(draft), *(arguments or ("cpu",)))
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_padding_of_embeddings_is_cut_off(tmp_path):
    padded, plain = small(16), small(8, 1)
    pair = load_pair(saved(padded, tmp_path / "padded"), saved(plain, tmp_path / "plain"), "cpu")
    assert pair.vocab_size == 8
    logits = pair.logits("target", [ROOT])
    assert logits.shape == (1, 8)
    # Products of other shapes are summed in another order, in float32.
    assert (logits - padded(torch.tensor([ROOT])).logits[:, -1, :8]).abs().max() < 1e-5
    assert pair.notes == (f"target {tmp_path / 'padded'}: 8 padding tokens beyond the 8 of the tokenizer were cut off",)


def test_vocabularies_that_differ_are_named(tmp_path):
    first = saved(small(), tmp_path / "first")
    longer = saved(small(9), tmp_path / "longer", "abcdefghi" * 3, 9)
    assert "the target has 8 tokens, the draft 9" in refusal(first, longer)
    other = saved(small(), tmp_path / "other", "xbcdefgh" * 3)
    assert "token 'a' is 0 in the target and missing in the draft" in refusal(first, other)
    swapped = saved(small(), tmp_path / "swapped", "bbacdefgh" * 3)
    assert "token 'a' is 0 in the target and 1 in the draft" in refusal(first, swapped)
    few = saved(small(7), tmp_path / "few")
    assert "has logits for 7 tokens, its tokenizer has 8" in refusal(first, few)


def test_models_without_tokenizers_are_a_pair_when_their_sizes_agree(tmp_path):
    bare = [saved(small(8, seed), tmp_path / str(seed), None) for seed in (0, 1)]
    pair = load_pair(*bare, "cpu")
    assert (pair.vocab_size, pair.tokenizer) == (8, None)
    with pytest.raises(InvalidInput, match="has no tokenizer; give tokens rather than text"):
        pair.encode("text")
    assert "has 8 tokens and" in refusal(bare[0], saved(small(9), tmp_path / "nine", None))


def with_fields(folder, **fields):
    """Write these fields into its configuration."""
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def pickle_weights(folder):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def forget_the_head(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["lm_head.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / "model.safetensors").write_bytes(b"nothing"), "has no weights that can be read"),
        (pickle_weights, "there is no model.safetensors; save the whole model"),
        (lambda folder: (folder / "config.json").write_text("{}"), "has no configuration that transformers can read"),
        (lambda folder: (folder / "adapter_config.json").write_text("{}"), "holds an adapter; merge it into its model"),
        (
            lambda folder: with_fields(folder, intermediate_size=24),
            "layers.0.mlp.down_proj.weight is saved with shape (16, 48), not (16, 24)",
        ),
        (forget_the_head, "lacks weights, among them lm_head.weight"),
    ],
    ids=["weights", "pickle", "configuration", "adapter", "shape", "head"],
)
def test_what_is_no_whole_model_is_refused_and_not_made_up(tmp_path, tiny_folder, damage, said):
    folder = Path(shutil.copytree(tiny_folder / "draft", tmp_path / "odd"))
    damage(folder)
    assert said in refusal(folder, tiny_folder / "draft")


def test_paths_that_hold_no_model_are_named(tmp_path, tiny_folder):
    good = tiny_folder / "draft"
    assert f"target {tmp_path}/none does not exist" in refusal(f"{tmp_path}/none", good)
    assert f"draft {tmp_path} holds no config.json" in refusal(good, tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "is a file; give the folder" in refusal(tmp_path / "file", good)
    with pytest.raises(InvalidInput, match="no trained pair; name a folder that draftproof model train has made, or"):
        load_wanted(PairRequest(str(tmp_path)))
    with pytest.raises(InvalidInput, match="holds no trained pair; make one: draftproof model train --out"):
        load_wanted(PairRequest(f"{tmp_path}/none"))
    with pytest.raises(InvalidInput, match="holds a pair of another text than"):
        load_wanted(PairRequest(str(tiny_folder)))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("vocab_size", "8"),
        ("vocab_size", None),
        ("vocab_size", -1),
        ("hidden_size", "many"),
        ("num_attention_heads", 0),
        ("num_hidden_layers", 1.5),
        ("architectures", 5),
        ("architectures", "LlamaForCausalLM"),
        ("model_type", 7),
        ("model_type", ["llama"]),
        ("rope_parameters", "x" * 5000),
        ("hidden_act", "none"),
        ("tie_word_embeddings", "maybe" * 200),
    ],
)
def test_a_mistyped_field_of_a_configuration_is_one_short_line(tmp_path, tiny_folder, field, value):
    with_fields(Path(shutil.copytree(tiny_folder / "draft", tmp_path / "odd")), **{field: value})
    assert len(refusal(tmp_path / "odd", tiny_folder / "draft")) <= len(str(tmp_path)) + 300


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_a_number_of_a_million_digits_is_not_waited_for(tmp_path, tiny_folder, name):
    shutil.copytree(tiny_folder / "draft", tmp_path / "long")
    path = tmp_path / "long" / name
    fields = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**fields, "long": 0}).replace('"long": 0', '"long": ' + "9" * 1_000_000))
    digits = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # as the command line does
    try:
        if name == "config.json":
            assert "a whole number has too many digits" in refusal(tmp_path / "long", tiny_folder / "draft")
        else:  # one of the two tokenizers is enough
            found = load_pair(str(tmp_path / "long"), str(tiny_folder / "draft"), "cpu").tokenizer
            assert found is not None
            assert found.base.name_or_path == str(tiny_folder / "draft")
        assert sys.get_int_max_str_digits() == 0
    finally:
        sys.set_int_max_str_digits(digits)


#: What a hub, a pickle or memory would be asked for, with what is said about it.
_TOO_MUCH = [
    ({"attn_implementation": "kernels-community/flash-attn"}, "attn_implementation 'kernels-community/flash-attn' in"),
    ({"_attn_implementation": "paged|someone/kernel@main:run"}, "_attn_implementation 'paged|someone/kernel@main:run'"),
    ({"_attn_implementation_internal": "someone/kernel"}, "_attn_implementation_internal 'someone/kernel' in its"),
    ({"attn_implementation": {"": "sdpa", "text_config": "a/b"}}, "attn_implementation.text_config 'a/b' in its"),
    ({"attn_implementation": "flash_attention_2"}, "attn_implementation 'flash_attention_2' in its config.json"),
    ({"experts_implementation": "deepgemm"}, "experts_implementation 'deepgemm' in its config.json"),
    ({"text_config": {"attn_implementation": "a/b"}}, "text_config.attn_implementation 'a/b' in its config.json"),
    ({"configuration_files": ["config.4.0.0.json"]}, "has configuration_files in its config.json; save the plain"),
    ({"quantization_config": {"quant_method": "mxfp4"}}, "has quantization_config in its config.json; save the plain"),
    ({"transformers_weights": "../other.safetensors"}, "has transformers_weights in its config.json"),
    ({"num_hidden_layers": 10**6}, "num_hidden_layers is 1000000, and its weights are 12 tensors whose largest side"),
    ({"num_hidden_layers": 13}, "num_hidden_layers is 13, and its weights are 12 tensors whose largest side is 48"),
    ({"vocab_size": 10**12}, "vocab_size is 1000000000000, and its weights are"),
    ({"hidden_size": 10**9}, "hidden_size is 1000000000, and its weights are"),
    ({"num_labels": 10**10}, "num_labels is 10000000000, and its weights are"),
    ({"num_attention_heads": 10**9}, "num_attention_heads is 1000000000, and"),
    ({"intermediate_size": [16, 10**9]}, "intermediate_size.1 is 1000000000, and"),
    ({"head_dim": 1e300}, "head_dim is 1e+300, and"),
    ({"hidden_size": float("nan")}, "hidden_size is nan, and"),
]


@pytest.mark.parametrize(("fields", "words"), _TOO_MUCH, ids=[str(fields)[:60] for fields, _ in _TOO_MUCH])
def test_a_configuration_that_fetches_code_or_fills_memory_is_refused(
    tmp_path, tiny_folder, monkeypatch, fields, words
):
    folder = Path(shutil.copytree(tiny_folder / "draft", tmp_path / "odd"))
    with_fields(folder, **fields)
    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", lambda *_, **__: pytest.fail("it was made"))
    said = refusal(folder, tiny_folder / "target")
    assert said.startswith(f"target {folder} ")
    assert words in said


def test_a_model_far_larger_than_its_weights_is_not_made(tmp_path):
    config = transformers.GPT2Config(vocab_size=8, n_embd=8, n_layer=1, n_head=1, n_positions=16)
    folder = saved(transformers.GPT2LMHeadModel(config), tmp_path / "gpt")
    with_fields(Path(folder), n_positions=10**8)
    assert "which asks for 3,200,00" in refusal(folder, folder)


def test_weights_in_several_files_are_read(tmp_path, tiny_pair):
    folder = tmp_path / "parts"
    tiny_pair.target.save_pretrained(folder, max_shard_size="10KB")
    assert len(list(folder.glob("*.safetensors"))) > 2
    assert load_pair(str(folder), str(folder), "cpu").vocab_size == 8


@pytest.mark.parametrize(
    "make",
    [
        lambda: transformers.T5ForConditionalGeneration(
            transformers.T5Config(vocab_size=8, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=1)
        ),
        lambda: transformers.LlamaModel(small().config),
        lambda: transformers.BertForMaskedLM(
            transformers.BertConfig(vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=1)
        ),
    ],
    ids=["encoder-decoder", "no head", "masked"],
)
def test_what_is_no_causal_model_is_named(make, tmp_path, tiny_folder):
    folder = saved(make(), tmp_path / "other")
    assert "is no causal language model but" in refusal(folder, tiny_folder / "draft")


def test_names_that_are_not_on_disk_fail_at_once(tiny_folder, monkeypatch):
    from huggingface_hub import constants
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    good = tiny_folder / "draft"
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE forbids to look elsewhere" in refusal("nobody/no-such-model", good)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    answers = {
        OSError("no route"): "the model hub cannot be reached",
        RepositoryNotFoundError("none", response=_response(404)): "the model hub has no such model",
        GatedRepoError("closed", response=_response(403)): "needs permission on the model hub",
    }
    for answer, words in answers.items():

        def ask(*_, answer=answer, **__):
            raise answer

        monkeypatch.setattr("huggingface_hub.HfApi.model_info", ask)
        assert words in refusal("nobody/no-such-model", good)


def _response(code):
    return SimpleNamespace(status_code=code, headers={}, request=None)


def test_devices_and_precisions_that_are_not_there_are_named(tiny_folder, monkeypatch):
    both = tiny_folder / "target", tiny_folder / "draft"
    assert "unknown device 'tpu'; choose auto, cpu, cuda" in refusal(*both, "tpu")
    assert "unknown dtype 'float8'; choose float32" in refusal(*both, "cpu", "float8")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "no CUDA device is at hand" in refusal(*both, "cuda")
    assert load_pair(str(both[0]), str(both[1]), "auto").device.type == "cpu"


def test_no_space_is_one_clear_line(tiny_folder, tiny_pair, monkeypatch):
    both = tiny_folder / "target", tiny_folder / "draft"
    monkeypatch.setattr(devices, "free_bytes", lambda _: 1000)
    assert "no space on cpu: target" in refusal(*both)
    monkeypatch.undo()
    for error in (
        torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: not enough memory: you tried to allocate"),
        MemoryError(),
    ):

        def full(*_, error=error, **__):
            raise error

        monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", full)
        assert "no space on cpu while loading target" in refusal(*both)
        monkeypatch.undo()
        monkeypatch.setattr(tiny_pair.target, "forward", full)
        with pytest.raises(InvalidInput, match="no space on cpu while computing 1 rows of the target"):
            tiny_pair.rows("target", [ROOT])
        monkeypatch.undo()


@pytest.mark.parametrize("missing", ["torch", pytest.param("transformers", marks=pytest.mark.heavy)])
def test_what_is_not_installed_is_named_with_the_way_to_install_it(missing):
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from draftproof.experiments.models.pair.pair import load_pair\n"
        "from draftproof.simulator.errors import InvalidInput\n"
        "try:\n    load_pair('a', 'b')\n"
        "except InvalidInput as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"running models needs {missing}, which is not installed: pip install 'draftproof[models]'\n"


def test_what_was_saved_is_what_is_loaded(tiny_folder, tiny_pair, tiny_recipe):
    plain = transformers.AutoModelForCausalLM.from_pretrained(tiny_folder / "target")
    assert all(torch.equal(plain.state_dict()[key], value) for key, value in tiny_pair.target.state_dict().items())
    record = json.loads((tiny_folder / "pair.json").read_text(encoding="utf-8"))
    assert record["text_hash"] == tiny_recipe.corpus.digest
    assert (tiny_pair.vocab_size, tiny_pair.device.type, tiny_pair.dtype) == (8, "cpu", torch.float32)
    assert not tiny_pair.target.training
    assert not tiny_pair.draft.training
    assert tiny_pair.notes == ()
    text = tiny_pair.decode(tiny_pair.encode(tiny_recipe.corpus.text[:200]))
    assert tiny_pair.encode(text) == tiny_pair.encode(tiny_recipe.corpus.text[:200])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
def test_weights_have_the_precision_asked_for(tiny_folder, dtype):
    pair = load_folder(tiny_folder, "cpu", dtype)
    assert {each.dtype for each in pair.target.parameters()} == {getattr(torch, dtype)}
    rows = pair.rows("draft", [ROOT])
    assert rows.dtype == torch.float64
    assert abs(float(rows.sum()) - 1) < 1e-15 * 8  # a sum of eight rounded terms


def test_rows_are_the_softmax_of_the_last_logits(exact_pair):
    contexts = [[*ROOT, token] for token in range(8)]
    for which in ("target", "draft"):
        alone = [exact_pair.model(which)(torch.tensor([each])).logits[0, -1].softmax(0) for each in contexts]
        # Batched and single products differ in the order of their sums.
        assert (exact_pair.rows(which, contexts) - torch.stack(alone)).abs().max() < 1e-13
    assert not torch.equal(exact_pair.rows("target", contexts), exact_pair.rows("draft", contexts))
    assert exact_pair.rows("target", np.zeros((0, 3), dtype=int)).shape == (0, 8)


@pytest.mark.parametrize(("contexts", "words"), [([[]], "at least one token"), ([[0, 8]], "outside 0..7")])
def test_contexts_that_no_model_can_take_are_refused(tiny_pair, contexts, words):
    with pytest.raises(InvalidInput, match=words):
        tiny_pair.rows("target", contexts)
