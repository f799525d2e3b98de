"""Texts after prompts, block by block, in a batch.

With a coin of its own a text does not depend on its neighbours: the same prompt with the same coin gives the same text
alone and in a batch (up to rounding of the models' passes, which may sum in another order where more is read at once).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from draftproof.experiments.models.loop.loop import Block, Loop, State
from draftproof.experiments.models.loop.vectors import coin_of_each
from draftproof.simulator.errors import InvalidInput
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
