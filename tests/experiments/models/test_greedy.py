"""At temperature 0 every lossless verifier writes what the target writes alone, token for token."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from draftproof.experiments.models.loop.generation import autoregressive, generate
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.models.pair.warp import Warp
from draftproof.simulator import Coin, Delayed, DraftNode, Verdict
from draftproof.simulator.drafts import lossless_for
from draftproof.verifiers import STANDALONE, make
from tests.quick import by_turns, quick

TOKENS = 120
PROMPT = [1, 2, 3]
#: Verifiers made for a scheme that is not the delayed tree may do as they like on one.
LOSSLESS = [name for name in STANDALONE if "delayed" in lossless_for(make(name).card)]


@pytest.fixture(scope="module")
def pair(random_pair: Callable[..., Any]) -> Any:
    return random_pair(noise=0.02)


@pytest.fixture(scope="module")
def expected(pair: Any) -> tuple[int, ...]:
    written = pair.target.generate(torch.tensor([PROMPT]), do_sample=False, max_new_tokens=TOKENS)
    return tuple(written[0, len(PROMPT) :].tolist())


def test_the_expected_text_is_no_trifle(expected: tuple[int, ...]) -> None:
    assert len(expected) == TOKENS
    assert len(set(expected)) > 3


@pytest.mark.parametrize("name", by_turns(LOSSLESS, 5))
def test_every_lossless_verifier_writes_what_generate_writes(pair: Any, expected: tuple[int, ...], name: str) -> None:
    written = generate(pair, make(name), Delayed(2, 1, 2), PROMPT, Warp(0), coin_for("numpy", 0), TOKENS)
    assert written.tokens == expected
    assert written.block_efficiency > 1.5  # drafts were accepted


@pytest.mark.parametrize(
    ("name", "shape"),
    by_turns(
        [
            ("naive", (1, 0, 0)),
            ("block", (1, 0, 4)),
            ("block", (1, 3, 0)),
            ("specinfer", (4, 0, 1)),
            ("traversal", (3, 2, 2)),
            ("traversal", (3, 0, 4)),
        ],
        3,
    ),
)
def test_every_shape_writes_what_generate_writes(
    pair: Any, expected: tuple[int, ...], name: str, shape: tuple[int, int, int]
) -> None:
    written = generate(pair, make(name), Delayed(*shape), PROMPT, Warp(0), coin_for("numpy", 0), TOKENS)
    assert written.tokens == expected


@pytest.mark.parametrize("name", quick(["block", "specinfer", "traversal"], ("specinfer",)))
def test_trained_models_write_what_generate_writes(tiny_pair: Pair, name: str) -> None:
    ids = torch.tensor([PROMPT])
    written = tiny_pair.target.generate(ids, do_sample=False, max_new_tokens=TOKENS, eos_token_id=None)
    found = generate(tiny_pair, make(name), Delayed(2, 1, 2), PROMPT, Warp(0), coin_for("numpy", 0), TOKENS)
    assert list(found.tokens) == written[0, len(PROMPT) :].tolist()


@pytest.mark.parametrize("vectors", ["numpy", "torch"])
def test_plain_generation_writes_what_generate_writes(pair: Any, expected: tuple[int, ...], vectors: str) -> None:
    written = autoregressive(pair, PROMPT, Warp(0), coin_for(vectors, 0), TOKENS, vectors=vectors)
    assert written.tokens == expected


def test_torch_vectors_write_what_generate_writes(pair: Any, expected: tuple[int, ...]) -> None:
    coin = coin_for("torch", 0)
    written = generate(pair, make("gbv"), Delayed(3, 1, 2), PROMPT, Warp(0), coin, TOKENS, vectors="torch")
    assert written.tokens == expected


class AcceptsAll:
    """Takes the first path whatever the target says."""

    card = make("naive").card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        node = root
        while node.children:
            node = node.child(node.children[0])
        return Verdict(node.context, coin.choose(node.target))


def test_a_verifier_that_accepts_too_much_writes_something_else(pair: Any, expected: tuple[int, ...]) -> None:
    written = generate(pair, AcceptsAll(), Delayed(2, 1, 2), PROMPT, Warp(0), coin_for("numpy", 0), TOKENS)
    assert written.tokens != expected
