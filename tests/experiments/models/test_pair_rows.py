"""Rows of a pair: those of the models that were saved, exactly, whatever the batches."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from draftproof.experiments.models.pair.pair import Pair, load_folder
from draftproof.experiments.models.pair.training import Recipe
from draftproof.simulator.errors import InvalidInput

ROOT = [0, 3, 1, 2, 5]


def test_what_was_saved_is_what_is_loaded(tiny_folder: Path, tiny_pair: Pair, tiny_recipe: Recipe) -> None:
    plain = transformers.AutoModelForCausalLM.from_pretrained(tiny_folder / "target")
    assert all(torch.equal(plain.state_dict()[key], value) for key, value in tiny_pair.target.state_dict().items())
    record = json.loads((tiny_folder / "pair.json").read_text(encoding="utf-8"))
    assert tiny_pair.text_digest == record["text_hash"] == tiny_recipe.corpus.digest
    assert (tiny_pair.vocab_size, tiny_pair.device.type, tiny_pair.dtype) == (8, "cpu", torch.float32)
    assert not tiny_pair.target.training
    assert not tiny_pair.draft.training
    assert tiny_pair.notes == ()
    text = tiny_pair.decode(tiny_pair.encode(tiny_recipe.corpus.text[:200]))
    assert tiny_pair.encode(text) == tiny_pair.encode(tiny_recipe.corpus.text[:200])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
def test_weights_have_the_precision_asked_for(tiny_folder: Path, dtype: str) -> None:
    pair = load_folder(tiny_folder, "cpu", dtype)
    assert {each.dtype for each in pair.target.parameters()} == {getattr(torch, dtype)}
    rows = pair.rows("draft", [ROOT])
    assert rows.dtype == torch.float64
    assert abs(float(rows.sum()) - 1) < 1e-15 * 8  # a sum of eight rounded terms


def test_rows_are_the_softmax_of_the_last_logits(exact_pair: Pair) -> None:
    contexts = [[*ROOT, token] for token in range(8)]
    for which in ("target", "draft"):
        alone = [exact_pair.model(which)(torch.tensor([each])).logits[0, -1].softmax(0) for each in contexts]
        # Batched and single products differ in the order of their sums.
        assert (exact_pair.rows(which, contexts) - torch.stack(alone)).abs().max() < 1e-13
    assert not torch.equal(exact_pair.rows("target", contexts), exact_pair.rows("draft", contexts))
    assert exact_pair.rows("target", np.zeros((0, 3), dtype=int)).shape == (0, 8)


def test_rows_do_not_depend_on_the_batches(exact_pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    contexts = np.random.default_rng(0).integers(0, 8, (20, 6))
    whole = exact_pair.rows("target", contexts)
    monkeypatch.setattr("draftproof.experiments.models.pair.pair.BATCH_ENTRIES", 6 * 8 * 3)
    assert (exact_pair.rows("target", contexts) - whole).abs().max() < 1e-13  # sums in another order


@pytest.mark.parametrize(("contexts", "words"), [([[]], "at least one token"), ([[0, 8]], "outside 0..7")])
def test_contexts_that_no_model_can_take_are_refused(tiny_pair: Pair, contexts: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        tiny_pair.rows("target", contexts)


def test_other_errors_of_a_model_are_not_taken_for_memory(tiny_pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object, **__: object) -> None:
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(tiny_pair.target, "forward", wrong)
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        tiny_pair.rows("target", [ROOT])
