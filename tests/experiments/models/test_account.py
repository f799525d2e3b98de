"""`BiasAccount`: what blocks spend on real models, and budgets for all that is written."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from draftproof import BiasAccount, Delayed, InvalidInput, generate_with
from draftproof.experiments.models.loop.loop import Loop, many_blocks
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.simulator import check
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.laws import ROOT, SIZE, tables

PATH = Delayed(1, 0, 2)


@pytest.fixture(scope="module")
def pair(random_pair: Callable[..., Any]) -> Any:
    return random_pair(vocab=SIZE, noise=0.3)


@pytest.mark.parametrize("vectors", ["numpy", "torch"])
def test_blocks_spend_their_bias_on_average(pair: Any, vectors: str) -> None:
    runs, account = 1500, BiasAccount("1/5")
    blocks = many_blocks(Loop(pair, account, PATH, Sampling(), vectors), ROOT, runs, coin_for(vectors, 0))
    target, draft = (tables(pair, which, PATH.depth, Sampling()) for which in ("target", "draft"))
    exact = check(make("budgeted", eps="1/5"), target, draft, PATH, "float64")
    assert account.blocks == runs
    allowed = 5 * 0.2 / runs**0.5  # five standard errors of numbers in 0..1/5, and of accepted depths in 0..2
    assert abs(float(account.spent) / runs - exact.total_variation) < allowed
    assert abs(np.mean([block.depth + 1 for block in blocks]) - exact.block_efficiency) < 10 * allowed


def test_a_budget_for_all_texts_is_never_exceeded(pair: Any) -> None:
    torch.manual_seed(0)
    account = BiasAccount("1/5", total="3/2")
    ours = generate_with(account, PATH, seed=1, lossy=True)
    prompt = torch.tensor([list(ROOT)] * 3)
    for _ in range(3):
        pair.target.generate(
            prompt,
            assistant_model=pair.draft,
            custom_generate=ours,
            do_sample=True,
            max_new_tokens=20,
            attention_mask=torch.ones_like(prompt),
        )
        assert account.spent <= Fraction(3, 2)
    assert account.spent > Fraction(7, 5), "a good part of it is spent"
    assert str(account).startswith("bias spent of 1.5: at most 1.")
    with pytest.raises(InvalidInput, match="lossy=True"):
        generate_with(BiasAccount(), PATH)
    with pytest.raises(InvalidInput, match="total = -1 must be at least 0"):
        BiasAccount(total=-1)
