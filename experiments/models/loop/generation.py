"""Text from a pair of models, block by block; what it is made of and how long it took."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from draftproof.experiments.models.loop.loop import Block, Loop
from draftproof.experiments.models.loop.texts import ending, pieces
from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.models.pair.warp import Warp
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Coin, Context, DraftScheme, Verifier


@dataclass(frozen=True)
class Generation:
    """tokens: what follows the prompt. blocks: how it came, whole also where the text ends inside the last one.

    seconds: by part (`timing.PARTS`); elapsed: all of them and what lies between, the prompt included.
    """

    tokens: Context
    blocks: tuple[Block, ...]
    seconds: dict[str, float]
    elapsed: float

    @property
    def block_efficiency(self) -> float:
        """Tokens a block, mean of tau + 1."""
        return sum(block.depth + 1 for block in self.blocks) / len(self.blocks)

    @property
    def tokens_per_second(self) -> float:
        """Tokens of the text over the seconds that it took, without those of the prompt."""
        return len(self.tokens) / (self.elapsed - self.seconds["prompt"])


def generate(
    pair: Pair,
    verifier: Verifier,
    scheme: DraftScheme,
    prompt: Sequence[int],
    warp: Warp,
    coin: Coin,
    max_new_tokens: int | None = None,
    blocks: int | None = None,
    stop: Collection[int] = (),
    vectors: str = "numpy",
    observe: bool = False,
) -> Generation:
    """Generate after a prompt until there are `max_new_tokens` tokens or `blocks` blocks, or a token of `stop`.

    The other arguments are those of `Loop`. The text is cut at `max_new_tokens` and after the first token of `stop`.
    With temperature 0 it is what the target alone writes greedily, but where rounding decides between two tokens.
    Raises `InvalidInput` where neither end is given or one is below 1, and as `Loop` does.
    """
    if min((each for each in (max_new_tokens, blocks) if each is not None), default=0) < 1:
        raise InvalidInput("say when to end: max_new_tokens or blocks, at least 1")
    loop = Loop(pair, verifier, scheme, warp, vectors, observe)
    watch = loop.watch
    started = watch.now()
    most = max_new_tokens if max_new_tokens is not None else (blocks or 0) * (scheme.depth + 1)
    made: list[Block] = []
    tokens: list[int] = []
    for piece in pieces(loop, [prompt], coin, most, ending(most, stop)):
        made.append(piece.block)
        tokens += piece.tokens
        if len(made) == blocks:
            break
    return Generation(tuple(tokens), tuple(made), watch.seconds, watch.now() - started)


def cut(tokens: Sequence[int], most: int, stop: Collection[int] = ()) -> Context:
    """At most `most` tokens, and none after the first of `stop`."""
    ends = [place + 1 for place, token in enumerate(tokens) if token in stop]
    return tuple(tokens[: min([most, *ends])])
