"""Checks of tree attention, caches and greedy text of the loop against plain passes of the models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from draftproof.experiments.models.loop.caches import ModelCache
from draftproof.experiments.models.loop.drafting import nodes_of
from draftproof.experiments.models.loop.generation import pieces
from draftproof.experiments.models.loop.loop import Loop
from draftproof.experiments.models.loop.reading import Reading
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.pair.devices import generation_settings
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Context, DraftScheme, Verifier

#: Largest rounding difference of a logit or a cached number relative to the largest one, between passes of different
#: shapes.
ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 3e-2, torch.bfloat16: 2e-1}


def rounding(pair: Pair) -> float:
    """The entry of `ROUNDING` for a pair; eager attention takes its softmax in float32, whatever the dtype."""
    eager = any(model.config._attn_implementation == "eager" for model in (pair.target, pair.draft))
    return max(ROUNDING[pair.dtype], ROUNDING[torch.float32] * eager)


@dataclass(frozen=True)
class Difference:
    """The largest difference found and the largest number compared; passed: whether rounding explains it."""

    largest: float
    scale: float
    compared: int
    tolerance: float

    @property
    def passed(self) -> bool:
        return self.largest <= self.tolerance * max(self.scale, 1.0)  # false for NaN


def worst(differences: Sequence[Difference]) -> Difference:
    """Several comparisons as one."""
    return Difference(
        max(difference.largest for difference in differences),
        max(difference.scale for difference in differences),
        sum(difference.compared for difference in differences),
        max(difference.tolerance for difference in differences),
    )


@torch.inference_mode()
def tree_attention(
    loop: Loop, verifier: Verifier, scheme: DraftScheme, prompt: Sequence[int], blocks: int, seed: int
) -> Difference:
    """Target logits of whole trees read in one pass, against a plain pass over the text of each node alone.

    The trees are those of the blocks of a generation, so caches of earlier blocks are used; where the positions of the
    models end, another text is begun. compared: how many nodes.
    """
    coin = coin_for(loop.vectors, seed, loop.pair.device)
    state, text = loop.start(prompt, scheme.depth), list(prompt)
    largest, scale, compared = 0.0, 0.0, 0
    for block_number in range(blocks):
        if block_number and not loop.fits(len(text), scheme.depth):
            state, text = loop.start(prompt, scheme.depth), list(prompt)
        contexts = [(), *nodes_of(loop.drafted(state, scheme, coin).trees[0])]
        together = Reading(loop.pair.target, state.target, [text[-1:]]).read([contexts])[0, :, : loop.pair.vocab_size]
        for depth in range(len(contexts[-1]) + 1):  # the last one is the deepest
            places = [place for place, context in enumerate(contexts) if len(context) == depth]
            alone = loop.pair.logits("target", [[*text, *contexts[place]] for place in places]).double()
            largest = max(largest, float((together[places].double() - alone).abs().max()))
            scale = max(scale, float(alone.abs().max()))
        compared += len(contexts)
        (block,), state = loop.step(state, verifier, scheme, coin)
        text += block.tokens
    return Difference(largest, scale, compared, rounding(loop.pair))


@torch.inference_mode()
def caches(
    loop: Loop, verifier: Verifier, scheme: DraftScheme, prompt: Sequence[int], blocks: int, seed: int
) -> Difference:
    """Keys and values of all models after so many blocks, against caches of one pass over the same text.

    There are several texts where the positions of the models do not suffice for one. compared: how many numbers.
    """
    coin, differences, left = coin_for(loop.vectors, seed, loop.pair.device), list[Difference](), blocks
    while left:
        state, text = loop.start(prompt, scheme.depth), list(prompt)
        while left and (len(text) == len(prompt) or loop.fits(len(text), scheme.depth)):
            (block,), state = loop.step(state, verifier, scheme, coin)
            text += block.tokens
            left -= 1
        rebuilt, tolerance = loop.start(text), rounding(loop.pair)
        differences += [
            _cache_difference(*both, tolerance)
            for both in ((state.target, rebuilt.target), (state.draft, rebuilt.draft))
        ]
    return worst(differences)


def _cache_difference(trimmed: ModelCache, rebuilt: ModelCache, tolerance: float) -> Difference:
    """rebuilt: the cache of one pass over at least as many tokens of the same text."""
    held = trimmed.held[0]
    count = int(held.sum())
    largest, scale, numbers = 0.0, 0.0, 0
    for layer, rebuilt_layer in zip(trimmed.layers, rebuilt.layers, strict=True):
        for states, rebuilt_states in zip(layer, rebuilt_layer, strict=True):
            whole = rebuilt_states[0][:, :count]
            largest = max(largest, float((states[0][:, held] - whole).abs().max()))
            scale, numbers = max(scale, float(whole.abs().max())), numbers + whole.numel()
    return Difference(largest, scale, numbers, tolerance)


def greedy_text(pair: Pair, prompt: Sequence[int], tokens: int) -> Context:
    """The text of `generate(do_sample=False)` of the target, without the penalties in its generation settings."""
    ids = torch.tensor([list(prompt)], device=pair.device)
    with generation_settings(pair.target, pad_token_id=0, eos_token_id=list(_ends(pair.target)) or None):
        written = pair.target.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=tokens)
    return tuple(written[0, len(prompt) :].tolist())


def first_difference(pair: Pair, verifier: Verifier, scheme: DraftScheme, prompt: Sequence[int], text: Context) -> Any:
    """The first position where the loop at temperature 0 differs from this greedy text; None if there is none."""
    stop = _ends(pair.target)

    def ends(_: int, tokens: Sequence[int]) -> bool:
        return len(tokens) >= len(text) or tokens[-1] in stop

    way = Loop(pair, Sampling(0)), verifier, scheme, [prompt], coin_for("numpy", 0)
    written = [token for piece in pieces(*way, len(text), ends) for token in piece.tokens]
    pairs = enumerate(zip(written, text, strict=False))
    return next((place for place, (ours, theirs) in pairs if ours != theirs), None if len(written) == len(text) else 0)


def _ends(model: Any) -> tuple[int, ...]:
    ends = getattr(model.generation_config, "eos_token_id", None)
    if ends is None:
        return ()
    return tuple(ends) if isinstance(ends, (list, tuple)) else (int(ends),)
