"""Texts after several prompts, side by side: each comes block by block, and leaves the batch where it ends.

With a coin of its own a text does not hang on its neighbours: the same prompt with the same coin gives the same text
alone and in a batch (up to rounding of the models' passes, which may sum in another order where more is read at once).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from draftproof.experiments.models.loop.coins import coin_of_each
from draftproof.experiments.models.loop.loop import Block, Loop, State
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Coin, Context

#: Whether a text ends after the last of its tokens; given its place among the prompts and its tokens, prompt left out.
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
    """A text ends with its `most`-th token, or with the first one of `stop`."""
    return lambda text, tokens: len(tokens) >= most or tokens[-1] in stop


def pieces(
    loop: Loop, prompts: Sequence[Sequence[int]], coin: Coin | Sequence[Coin], more: int, ends: Ends
) -> Iterator[Piece]:
    """The texts after these prompts in pieces, block after block and in each block text after text, until all end.

    coin: one for all texts, or one for each. more: how many tokens a text has at most. ends: asked after every token.
    Raises `InvalidInput` for no prompts, for another number of coins, and as `Loop` does.
    """
    if not prompts:
        raise InvalidInput("no prompts are given; give at least one")
    coins = coin_of_each(coin, len(prompts))
    state = _begun(loop, prompts, more)
    tokens: list[list[int]] = [[] for _ in prompts]
    going = list(range(len(prompts)))
    while going:
        blocks, state = loop.step(state, [coins[text] for text in going])
        added = [_added(text, tokens[text], block, ends) for text, block in zip(going, blocks, strict=True)]
        yield from added
        left = [place for place, piece in enumerate(added) if not piece.last]
        if left and len(left) < len(going):
            state = state.only(left)
        going = [going[place] for place in left]


def _begun(loop: Loop, prompts: Sequence[Sequence[int]], more: int) -> State:
    """Where the texts stand before their first block; a prompt that several have is read once."""
    places = {prompt: place for place, prompt in enumerate(dict.fromkeys(map(tuple, prompts)))}
    state = State.joined([loop.start(prompt, more) for prompt in places])
    return state if len(places) == len(prompts) else state.only([places[tuple(prompt)] for prompt in prompts])


def _added(text: int, tokens: list[int], block: Block, ends: Ends) -> Piece:
    """The piece of this block; its tokens are added to those of the text."""
    before = len(tokens)
    for token in block.tokens:
        tokens.append(token)
        if ends(text, tokens):
            return Piece(text, tuple(tokens[before:]), block, True)
    return Piece(text, block.tokens, block, False)
