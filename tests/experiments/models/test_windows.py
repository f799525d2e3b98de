"""Models that look back a few tokens only, in all layers or in some: rows, caches and texts beyond the window."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from draftproof.experiments.models.loop import caches
from draftproof.experiments.models.loop.caches import windows_of, within
from draftproof.experiments.models.loop.generation import ending, pieces
from draftproof.experiments.models.loop.loop import Loop
from draftproof.experiments.models.loop.vectors import coins_for
from draftproof.simulator import Delayed
from draftproof.simulator.drafts import Eagle2
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.drawn import PROMPTS, Watched

#: float64 passes of other shapes sum in another order; Gemma's rotary angles and norms are float32 inside, and gpt-oss
#: and others cast their softmax: some hundred roundings of 2^-24 of numbers up to 20.
TOLERANCE = 1e-4
WINDOW = 4
MIXED = ("sliding_attention", "full_attention")
#: By family how it is made to look back `WINDOW` tokens, in every layer or in every other.
WINDOWED: dict[str, tuple[str, dict[str, Any], set[int | None]]] = {
    "Mistral": ("Mistral", {}, {WINDOW}),
    "Qwen2, all": ("Qwen2", {"use_sliding_window": True, "max_window_layers": 0}, {WINDOW}),
    "Qwen2, second": ("Qwen2", {"use_sliding_window": True, "max_window_layers": 1}, {None, WINDOW}),
    "Gemma2": ("Gemma2", {"head_dim": 8}, {None, WINDOW}),
    "Gemma3": ("Gemma3", {"head_dim": 8, "layer_types": list(MIXED)}, {None, WINDOW}),
    "Olmo3": ("Olmo3", {"layer_types": list(MIXED)}, {None, WINDOW}),
}


#: The others are much like one of these.
LEAN = ("Mistral", "Gemma3")
NAMES = [name if name in LEAN else pytest.param(name, marks=pytest.mark.heavy) for name in WINDOWED]


@pytest.fixture(scope="module")
def windowed(random_pair: Callable[..., Any]) -> Callable[[str], Any]:
    def build(name: str) -> Any:
        family, fields, kinds = WINDOWED[name]
        attention = "eager" if family == "Gemma2" else "sdpa"
        fields = {**fields, "sliding_window": WINDOW, "num_key_value_heads": 2}
        pair = random_pair(3, torch.float64, family, attention, 0.05, fields=fields)
        assert set(windows_of(pair.target).values()) == kinds
        return pair

    return build


def watched(pair: Any, batch: int = 8, sampling: Sampling | None = None) -> Watched:
    return Watched(pair, Delayed(3, 1, 2), "traversal", PROMPTS[-batch:], sampling or Sampling())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NAMES)
def test_rows_and_caches_beyond_the_window_are_those_of_plain_passes(windowed: Any, name: str) -> None:
    seen = watched(windowed(name)).run(6)
    assert min(map(len, seen.texts)) > WINDOW + 3
    assert seen.rows_off() <= TOLERANCE
    assert seen.caches_off() <= TOLERANCE


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NAMES)
def test_greedy_texts_are_those_of_generate_and_do_not_hang_on_neighbours(windowed: Any, name: str) -> None:
    pair = windowed(name)
    loop, way = Loop(pair, Sampling(0)), (make("traversal"), Eagle2(2, 3, 4))
    texts: list[list[int]] = [[] for _ in PROMPTS]
    for piece in pieces(loop, *way, PROMPTS, coins_for("numpy", range(8)), 16, ending(16)):
        texts[piece.text] += piece.tokens
    for prompt, text in zip(PROMPTS, texts, strict=True):
        expected = pair.target.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=16)
        assert text == expected[0, len(prompt) :].tolist()


def one_token_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "within", lambda sees, window: within(sees, None if window is None else window + 1))


def no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "within", lambda sees, window: sees)


def a_window_of_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last slots of the cache, whoever's they are, where the last of the own text are meant."""

    def cut(sees: torch.Tensor, window: int | None) -> torch.Tensor:
        if window is None:
            return sees
        width, slots = sees.shape[-2:]
        own = torch.arange(slots - width, slots)[:, None]
        return sees & (torch.arange(slots) > own - window)

    monkeypatch.setattr(caches, "within", cut)


def a_window_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "within", lambda sees, window: within(sees, WINDOW))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("bug", [one_token_more, no_window, a_window_of_slots, a_window_everywhere])
def test_a_wrong_window_is_noticed(windowed: Any, bug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watched(windowed("Qwen2, second"))
    bug(monkeypatch)
    assert seen.run(6).rows_off() > 10 * TOLERANCE


def test_a_window_is_the_last_slots_that_are_seen() -> None:
    sees = torch.tensor([[[1, 0, 1, 1, 0, 1], [0, 0, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1]]], dtype=torch.bool)
    assert within(sees, 2).int().tolist() == [[[0, 0, 0, 1, 0, 1], [0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1]]]
    assert within(sees, 6) is within(sees, None) is sees


@pytest.mark.parametrize("groups", [1, 2])
def test_keys_that_several_heads_share_are_kept_once(random_pair: Callable[..., Any], groups: int) -> None:
    pair = random_pair(3, torch.float64, "Llama", noise=0.05, fields={"num_key_value_heads": groups})
    assert pair.target.config.num_attention_heads == 4
    seen = watched(pair).run(8)
    assert {keys.shape[1] for keys, _ in seen.state.target.layers} == {groups}
    assert seen.rows_off() <= 1e-10
    assert seen.caches_off() <= 1e-10
