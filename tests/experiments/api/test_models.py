"""Rows of a language model as a process: a small transformer with random weights, made here."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import draftproof

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

SIZE, PROMPT = 5, (1, 4)


def model(seed: int, size: int = SIZE) -> Any:
    torch.manual_seed(seed)
    shape = {"n_positions": 8, "n_embd": 8, "n_layer": 1, "n_head": 2}
    config = transformers.GPT2Config(vocab_size=size, bos_token_id=0, eos_token_id=0, **shape)
    return transformers.GPT2LMHeadModel(config).eval()


def test_rows_are_the_softmax_after_prompt_and_context() -> None:
    made = model(1)
    process = draftproof.from_model(made, PROMPT)
    for context in ((), (2,), (0, 3)):
        with torch.no_grad():
            logits = made(torch.tensor([[*PROMPT, *context]])).logits[0, -1].double()
        row = process.row(context)
        assert sum(row) == 1
        assert all(isinstance(mass, Fraction) or mass.denominator for mass in row)
        # Masses are rounded to multiples of 2**-16, what is left over goes to the largest of the five.
        assert np.abs(row.astype(float) - logits.softmax(-1).numpy()).max() < SIZE * 2**-16


@pytest.mark.heavy
def test_block_verification_of_two_models_is_proved_lossless_and_a_wrong_verifier_refuted() -> None:
    target, draft = (draftproof.from_model(model(seed), PROMPT) for seed in (1, 2))
    shape = draftproof.Delayed(1, 0, 2)
    proved = draftproof.check("block", (target, draft), shape)
    assert proved.row["lossless"]
    assert proved.row["max_deviation"] == 0
    assert proved.row["block_efficiency"] > 1
    assert not draftproof.check("naive_from_target", (target, draft), shape).row["lossless"]


def test_other_things_are_refused() -> None:
    with pytest.raises(draftproof.InvalidInput, match="is no causal model"):
        draftproof.from_model(lambda tokens: tokens, PROMPT)
    with pytest.raises(draftproof.InvalidInput, match=r"prompt \[\] must hold tokens of 0..4"):
        draftproof.from_model(model(1), ())
    with pytest.raises(draftproof.InvalidInput, match=r"prompt \[5\] must hold"):
        draftproof.from_model(model(1), (5,))


@pytest.mark.heavy
def test_trees_of_models_with_many_tokens_are_as_deep_as_their_rows_are_few() -> None:
    target, draft = (draftproof.from_model(model(seed, 300), PROMPT) for seed in (1, 2))
    assert draftproof.check("naive", (target, draft), draftproof.Delayed(1, 0, 1), arithmetic="float64").row["lossless"]
    with pytest.raises(draftproof.TooLarge, match="300 tokens and 90,000 contexts of length 2, more than 65,536"):
        target.row((1, 2))
