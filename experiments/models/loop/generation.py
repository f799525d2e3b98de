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
from draftproof.experiments.models.loop.timing import Stopwatch
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
    state = _start_state(loop, begun, max_new_tokens)
    tokens: list[list[int]] = [[] for _ in prompts]
    unfinished = list(range(len(prompts)))
    while unfinished:
        blocks, state = loop.step(state, [coins[text] for text in unfinished])
        added = [_next_piece(text, tokens[text], block, ends) for text, block in zip(unfinished, blocks, strict=True)]
        yield from added
        left = [place for place, piece in enumerate(added) if not piece.last]
        if left and len(left) < len(unfinished):
            state = state.only(left)
        unfinished = [unfinished[place] for place in left]


def _start_state(loop: Loop, begun: Sequence[tuple[Context, Context]], max_new_tokens: int) -> State:
    """The state before the first block; a prompt that several texts share, with its padding, is read once."""
    places = {prompt: place for place, prompt in enumerate(dict.fromkeys(begun))}
    more = max_new_tokens - 1 + loop.scheme.depth
    state = State.joined([loop.start(prompt, more, padding) for prompt, padding in places])
    return state if len(places) == len(begun) else state.only([places[prompt] for prompt in begun])


def _next_piece(text: int, tokens: list[int], block: Block, ends: Ends) -> Piece:
    before = len(tokens)
    for token in block.tokens:
        tokens.append(token)
        if ends(text, tokens):
            return Piece(text, tuple(tokens[before:]), block, True)
    return Piece(text, block.tokens, block, False)


@dataclass(frozen=True)
class Generation:
    """tokens: the text after the prompt. blocks: its blocks, the last one whole even if the text ends inside it.

    seconds: by part (`timing.PARTS`); elapsed: the whole time, also for the prompt and between the timed parts.
    """

    tokens: Context
    blocks: tuple[Block, ...]
    seconds: dict[str, float]
    elapsed: float


def generate(
    pair: Pair,
    verifier: Verifier,
    scheme: DraftScheme,
    prompt: Sequence[int],
    sampling: Sampling,
    coin: Coin,
    max_new_tokens: int | None = None,
    blocks: int | None = None,
    stop: Collection[int] = (),
    vectors: str = "numpy",
) -> Generation:
    """Generate after a prompt until there are `max_new_tokens` tokens or `blocks` blocks, or a token of `stop`.

    The other arguments are those of `Loop`. The text is cut at `max_new_tokens` and after the first token of `stop`.
    With temperature 0 it is the greedy text of the target, except where rounding decides between two tokens.
    Raises `InvalidInput` where both limits are missing or one is below 1, and as `Loop` does.
    """
    if min((most for most in (max_new_tokens, blocks) if most is not None), default=0) < 1:
        raise InvalidInput("say when to end: max_new_tokens or blocks, at least 1")
    loop = Loop(pair, verifier, scheme, sampling, vectors)
    watch = loop.watch
    started = watch.now()
    most = max_new_tokens if max_new_tokens is not None else (blocks or 0) * (scheme.depth + 1)
    generated: list[Block] = []
    tokens: list[int] = []
    for piece in pieces(loop, [prompt], coin, most, ending(most, stop)):
        generated.append(piece.block)
        tokens += piece.tokens
        if len(generated) == blocks:
            break
    return Generation(tuple(tokens), tuple(generated), watch.seconds, watch.now() - started)


def cut(tokens: Sequence[int], most: int, stop: Collection[int] = ()) -> Context:
    """At most `most` tokens, and none after the first of `stop`."""
    ends = [place + 1 for place, token in enumerate(tokens) if token in stop]
    return tuple(tokens[: min([most, *ends])])


@torch.inference_mode()
def autoregressive(
    pair: Pair,
    prompt: Sequence[int],
    sampling: Sampling,
    coin: Coin,
    max_new_tokens: int,
    stop: Collection[int] = (),
    vectors: str = "numpy",
    draft: bool = False,
) -> Generation:
    """`max_new_tokens` tokens after a prompt from the target, or from the draft model; arguments as for `generate`.

    Each block is one token at depth 0; the seconds that draw it count as verification.
    """
    check_prompt(pair, prompt, max_new_tokens - 1)
    model = pair.draft if draft else pair.target
    role, watch = "draft" if draft else "target", Stopwatch(pair.device)
    rows_of, text = RowsOf(sampling.of(role), pair.vocab_size, vectors, role), text_so_far(pair, sampling, prompt)
    started = watch.now()
    tokens: list[int] = []
    with within_memory("generating token by token", pair.device):
        cache, unread = None, torch.tensor([list(prompt)], device=pair.device)
        if len(prompt) > 1:
            with watch.part("prompt"):
                cache = model(input_ids=unread[:, :-1], use_cache=True).past_key_values
        unread = unread[:, -1:]
        while len(tokens) < max_new_tokens and not (tokens and tokens[-1] in stop):
            with watch.part(role):
                output = model(input_ids=unread, past_key_values=cache, use_cache=True)
                cache, rows = output.past_key_values, rows_of.rows(output.logits[:, -1:], [[()]], [text])
            with watch.part("verify"):
                tokens.append(coin.choose(rows_of.vectors(rows)[0, 0]))
                unread, text = torch.tensor([tokens[-1:]], device=pair.device), text.after((tokens[-1],))
    blocks = tuple(Block((), token) for token in tokens)
    return Generation(cut(tokens, max_new_tokens, stop), blocks, watch.seconds, watch.now() - started)
