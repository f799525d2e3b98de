"""Families of models in the loop, with their attention, windows and shared heads: rows and caches of plain passes."""

from itertools import product

import pytest
import torch
from transformers import LlamaConfig

from draftproof.experiments.models.loop.caches import ModelCache, windows_of, within
from draftproof.experiments.models.loop.reading import Reading
from draftproof.simulator import Delayed
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
    after, unread = made.kept([(1, 8), (3,)])
    assert after.held.tolist() == [[True, True, True], [True, True, False]]
    assert after.lengths.tolist() == [3, 2]
    assert unread == [(8,), ()]
