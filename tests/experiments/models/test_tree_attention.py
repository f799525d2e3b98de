"""What a verifier sees in the loop is what separate passes over each node's own text would give."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from transformers import LlamaConfig

from draftproof.experiments.models.loop.caches import ModelCache, prompt_pass
from draftproof.experiments.models.loop.reading import Reading
from draftproof.simulator import Delayed
from draftproof.simulator.instances.sampling import Sampling
from tests.experiments.models.drawn import Watched
from tests.quick import quick

#: Rounding of a forward pass, whose sums run in another order when other tokens share it: logits here are below 20, and
#: some hundred roundings of relative size 2^-24 or 2^-53 add up. Families cast to float32 inside (eager softmax).
TOLERANCE = {torch.float32: 5e-5, torch.float64: 1e-10}
PROMPT = [1, 2, 3, 4, 5]


def largest_difference(pair: Any, scheme: Delayed) -> float:
    """Over rows of both models at every node, against plain passes over the text of that node alone."""
    return Watched(pair, scheme, "traversal", [PROMPT], Sampling()).run(6).rows_off()


@pytest.mark.parametrize("dtype", list(TOLERANCE), ids=str)
@pytest.mark.parametrize("shape", quick([(1, 0, 3), (1, 3, 0), (3, 0, 2), (2, 2, 2), (4, 1, 3)], [(2, 2, 2)]))
def test_rows_in_the_loop_are_those_of_separate_passes(
    random_pair: Callable[..., Any], shape: tuple[int, int, int], dtype: torch.dtype
) -> None:
    assert largest_difference(random_pair(dtype=dtype), Delayed(*shape)) <= TOLERANCE[dtype]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("attention", "family"), list(product(["sdpa", "eager"], ["Llama", "Qwen2", "GPTNeoX", "GPT2"])), ids=str
)
def test_rows_agree_for_every_family_and_attention(
    random_pair: Callable[..., Any], family: str, attention: str
) -> None:
    pair = random_pair(family=family, attention=attention)
    assert largest_difference(pair, Delayed(3, 1, 2)) <= TOLERANCE[torch.float32]


@pytest.mark.parametrize("dtype", list(TOLERANCE), ids=str)
@torch.inference_mode()
def test_logits_of_a_tree_pass_are_those_of_separate_passes(
    random_pair: Callable[..., Any], dtype: torch.dtype
) -> None:
    model = random_pair(dtype=dtype).target
    trees = [
        [(), (0,), (3,), (0, 1), (3, 1), (0, 2), (0, 1, 3), (3, 1, 3)],
        [(), (2,), (2, 2), (2, 2, 2)],
        [()],
    ]
    before = ModelCache.joined([prompt_pass(model, PROMPT[:end], "cpu")[1] for end in (4, 2, 0)])
    waiting = [PROMPT[4:], PROMPT[2:4], PROMPT[:1]]  # two tokens of the second are not read yet
    reading_all = Reading(model, before, waiting)
    logits = reading_all.read(trees)
    for sequence, (start, contexts) in enumerate(zip((5, 4, 1), trees, strict=True)):
        for place, context in enumerate(contexts):
            alone = model(torch.tensor([[*PROMPT[:start], *context]])).logits[0, -1]
            assert float((logits[sequence, place] - alone).abs().max()) <= TOLERANCE[dtype]


def test_places_and_masks_by_hand() -> None:
    class Silent:
        """A model that keeps what it was asked."""

        dtype, config = torch.float32, LlamaConfig()

        def __call__(self, **asked: Any) -> Any:
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


def test_paths_through_one_token_are_one_node(random_pair: Callable[..., Any]) -> None:
    shared = 0
    for _, nodes in Watched(random_pair(vocab=2), Delayed(3, 0, 2), "traversal", [[1, 0]], Sampling()).run(6).seen:
        assert len({node.context for node in nodes}) == len(nodes)
        assert len(nodes[0].children) == 3
        shared += len(set(nodes[0].children)) < 3
    assert shared  # three drafts of two tokens: two of them are alike
