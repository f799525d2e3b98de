"""`generate_with("auto")`: the exact law of texts that switch between verifiers, greedy text, and who goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from draftproof import Delayed, generate_with
from draftproof.experiments.models.expect.expected import joint
from draftproof.experiments.models.expect.tables import pair_tables
from draftproof.experiments.models.loop.generate_with import AUTO
from draftproof.experiments.models.loop.generation import ending, pieces
from draftproof.experiments.models.loop.switching import SwitchingLoop, Trials
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.coins import outcomes
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make

ROOT = (0, 1, 1)


class ByPast(Trials):
    """A block takes the longer the more of its tokens are 1, so the past decides who is next. by: who made them."""

    def __init__(self, names: list[tuple[str, Delayed]]) -> None:
        super().__init__([(make(name), scheme) for name, scheme in names], trial_blocks=0)
        self.blocks, self.tokens, self.seconds, self.by = [1] * 3, [20, 19, 18], [10.0] * 3, list[int]()

    def record(self, candidate: int, tokens: int, seconds: float) -> None:
        super().record(candidate, tokens, 0.1)
        self.by.append(candidate)


def law(pair: Pair, names: list[tuple[str, Delayed]], length: int) -> tuple[Any, set[tuple[int, ...]]]:
    """Of the first tokens, over all that coins can say, and who made the blocks."""
    loop, made = SwitchingLoop(pair, ByPast(names), Sampling()), set[tuple[int, ...]]()
    start = loop.start(ROOT, length)
    loop.start = lambda prompt, more=0: start  # type: ignore[method-assign]

    def written(coin: Any) -> tuple[int, ...]:
        loop.trials = trials = ByPast(names)
        tokens: list[int] = []
        for piece in pieces(loop, [ROOT], coin, length, ending(length)):
            tokens += piece.tokens
            trials.seconds[trials.by[-1]] += 3 * sum(piece.tokens)
        made.add(tuple(trials.by))
        return tuple(tokens)

    found = np.zeros((2,) * length)
    for text, mass in outcomes(written, FLOAT64):
        found[text] += float(mass)
    return found.reshape(-1), made


@pytest.mark.parametrize("length", [2, pytest.param(3, marks=pytest.mark.heavy)])
def test_texts_that_switch_by_their_past_have_exactly_the_law_of_the_target(
    random_pair: Callable[..., Pair], length: int
) -> None:
    pair = random_pair(vocab=2, dtype=torch.float64)
    wanted = joint(pair_tables(pair, Sampling(), ROOT, length - 1)[0].tables)
    three = [("block", Delayed(1, 0, 0)), ("naive", Delayed(1, 0, 1)), ("traversal", Delayed(2, 0, 1))]
    found, made = law(pair, three, length)
    assert found == pytest.approx(wanted, abs=1e-10)  # passes in another order differ by rounding
    assert {by[:2] for by in made if len(by) > 1} == {(0, 0), (0, 1)}  # who comes second hangs on the first token
    assert length == 2 or {by[2] for by in made if len(by) == 3} == {0, 1, 2}
    lossy, _ = law(pair, [three[0], ("naive_from_target", Delayed(1, 0, 1)), three[2]], length)
    assert abs(lossy - wanted).max() > 1e-4


def test_all_are_tried_in_turn_and_the_fastest_goes_on() -> None:
    trials = Trials([(make("naive"), Delayed(1, 0, depth)) for depth in (1, 2, 3)], trial_blocks=2)
    trials.reset_for("a pair")
    speeds, order = [(2, 1.0), (3, 1.0), (4, 2.0)], []
    for block in range(15):
        chosen = trials.choice
        order.append(chosen)
        tokens, seconds = speeds[chosen]
        trials.record(chosen, tokens, 100.0 if block < 3 else seconds)  # the first blocks do not count
    assert order == [0, 1, 2] * 3 + [1] * 6
    trials.record(1, 1, 20.0)  # it has become slow
    assert trials.choice == 0
    trials.reset_for("a pair")
    assert trials.choice == 0
    trials.reset_for("another")
    assert trials.blocks == [0, 0, 0]


def test_greedy_text_is_that_of_generate_and_what_was_tried_is_kept(tiny_pair: Pair) -> None:
    inputs = {"input_ids": torch.tensor([[1, 2, 3], [1, 4, 5]]), "attention_mask": torch.ones(2, 3, dtype=torch.long)}
    asked = {**inputs, "do_sample": False, "max_new_tokens": 80, "eos_token_id": None, "pad_token_id": 0}
    ours = generate_with("auto")
    text = tiny_pair.target.generate(**asked, assistant_model=tiny_pair.draft, custom_generate=ours)
    assert torch.equal(text, tiny_pair.target.generate(**asked))
    assert ours.trials is not None
    assert len(ours.trials.blocks) == len(AUTO)
    before = sum(ours.trials.blocks)
    tiny_pair.target.generate(**asked, assistant_model=tiny_pair.draft, custom_generate=ours)
    assert sum(ours.trials.blocks) > before


def test_schemes_can_be_given() -> None:
    ours = generate_with("auto", [Delayed(1, 0, 2), "delayed:K=2,L1=0,L2=2"])
    assert ours.trials is not None
    assert [scheme for _, scheme in ours.trials.candidates] == [Delayed(1, 0, 2), Delayed(2, 0, 2)]
