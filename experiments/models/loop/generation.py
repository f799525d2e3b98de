"""Texts after prompts: speculative ones block by block, in a batch, and plain ones token by token.

With a coin of its own a text does not depend on its neighbours: the same prompt with the same coin gives the same text
alone and in a batch (up to rounding of the models' passes, which may sum in another order where more is read at once).
Plain generation keeps the model's own cache and gives no mask, so it shares nothing with the tree passes but the rows
and the coin.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch

from draftproof.experiments.models.loop.loop import Block, Loop, State, text_so_far
from draftproof.experiments.models.loop.supported import check_prompt
from draftproof.experiments.models.loop.vectors import RowsOf, coin_of_each
from draftproof.experiments.models.pair.devices import within_memory
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Coin, Context, DraftScheme, Verifier

#: `ends(place, tokens)`: whether the text of the prompt at this place ends after `tokens`, all its tokens so far.
Ends: TypeAlias = Callable[[int, Sequence[int]], bool]


@dataclass(frozen=True)
class Piece:
    """What one block adds to one text.

    text: its place among the prompts. tokens: those of the block, or its first ones where the text ends within it.
    block: the whole of it. last: whether the text has ended.
    """

    text: int
    tokens: Context
    block: Block
    last: bool


def ending(most: int, stop: Collection[int] = ()) -> Ends:
    """A text ends after `most` tokens, or after the first one of `stop`."""
    return lambda text, tokens: len(tokens) >= most or tokens[-1] in stop


def pieces(
    loop: Loop,
    verifier: Verifier,
    scheme: DraftScheme,
    prompts: Sequence[Sequence[int]],
    coin: Coin | Sequence[Coin],
    max_new_tokens: int,
    ends: Ends,
    paddings: Sequence[Sequence[int]] = (),
) -> Iterator[Piece]:
    """The texts after these prompts in pieces, block after block and in each block text after text, until all end.

    coin: one for all texts, or one for each. max_new_tokens: of a text. ends: called after every token. paddings: of
    each prompt, see `Loop.start`.
    Raises `InvalidInput` for no prompts, for another number of coins, and as `Loop` does.
    """
    if not prompts:
        raise InvalidInput("no prompts are given; give at least one")
    coins = coin_of_each(coin, len(prompts))
    begun = list(zip(map(tuple, prompts), map(tuple, paddings or [()] * len(prompts)), strict=True))
    state = _start_state(loop, begun, max_new_tokens - 1 + scheme.depth)
    tokens: list[list[int]] = [[] for _ in prompts]
    unfinished = list(range(len(prompts)))
    while unfinished:
        blocks, state = loop.step(state, verifier, scheme, [coins[text] for text in unfinished])
        added = [_next_piece(text, tokens[text], block, ends) for text, block in zip(unfinished, blocks, strict=True)]
        yield from added
        left = [place for place, piece in enumerate(added) if not piece.last]
        if left and len(left) < len(unfinished):
            state = state.only(left)
        unfinished = [unfinished[place] for place in left]


def _start_state(loop: Loop, begun: Sequence[tuple[Context, Context]], more: int) -> State:
    """The state before the first block; a prompt that several texts share, with its padding, is read once."""
    places = {prompt: place for place, prompt in enumerate(dict.fromkeys(begun))}
    state = State.joined([loop.start(prompt, more, padding) for prompt, padding in places])
    return state if len(places) == len(begun) else state.only([places[prompt] for prompt in begun])


def _next_piece(text: int, tokens: list[int], block: Block, ends: Ends) -> Piece:
    before = len(tokens)
    for token in block.tokens:
        tokens.append(token)
        if ends(text, tokens):
            return Piece(text, tuple(tokens[before:]), block, True)
    return Piece(text, block.tokens, block, False)


def text_after(
    loop: Loop,
    verifier: Verifier,
    scheme: DraftScheme,
    prompt: Sequence[int],
    coin: Coin,
    most: int,
    stop: Collection[int] = (),
) -> Context:
    """The text after one prompt: at most `most` tokens, at least 1, and none after the first of `stop`.

    With temperature 0 it is the greedy text of the target, except where rounding decides between two tokens. Raises as
    `pieces` does.
    """
    written = pieces(loop, verifier, scheme, [prompt], coin, most, ending(most, stop))
    return tuple(token for piece in written for token in piece.tokens)


@torch.inference_mode()
def plain_text(
    pair: Pair, prompt: Sequence[int], sampling: Sampling, coin: Coin, tokens: int, vectors: str = "numpy"
) -> Context:
    """So many tokens after a prompt, drawn one by one from the target; arguments as for `Loop`."""
    check_prompt(pair, prompt, tokens - 1)
    rows_of, text = RowsOf(sampling.of("target"), pair.vocab_size, vectors), text_so_far(pair, sampling, prompt)
    cache, unread = None, torch.tensor([list(prompt)], device=pair.device)
    with within_memory("generating token by token", pair.device):
        if len(prompt) > 1:
            cache = pair.target(input_ids=unread[:, :-1], use_cache=True).past_key_values
        unread = unread[:, -1:]
        for _ in range(tokens):
            output = pair.target(input_ids=unread, past_key_values=cache, use_cache=True)
            cache, rows = output.past_key_values, rows_of.rows(output.logits[:, -1:], [[()]], [text])
            token = coin.choose(rows_of.vectors(rows)[0, 0])
            unread, text = torch.tensor([[token]], device=pair.device), text.after((token,))
    return text.tokens[len(prompt) :]
