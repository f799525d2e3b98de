"""A loop that tries several verifiers and schemes for its first blocks and goes on with the fastest.

Who makes a block is decided by what came before, the tokens and seconds of earlier blocks, never by what the block will
draw. Whatever came before, a block of a lossless verifier and what the target writes after it have the target's law.
So has the text: put the target's law after the last block, then after the one before, and so on to the first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from draftproof.experiments.models.loop.loop import Block, Loop, State
from draftproof.experiments.models.loop.timing import Stopwatch
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Coin, DraftScheme, Verifier

#: Blocks of each candidate that count before the fastest goes on; one more comes first, for what is prepared once.
TRIED = 6


@dataclass
class Trials:
    """What each candidate wrote, in how many seconds; kept from call to call for the same models and number of texts.

    blocks: how many each made. choice: who makes the next one, in turn until all are tried, then by tokens a second: if
    that of the fastest falls below that of another, which was tried less, the other goes on.
    """

    candidates: Sequence[tuple[Verifier, DraftScheme]]
    tried: int = TRIED
    key: Any = None
    blocks: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def begun(self, key: Any) -> None:
        """Start anew where these are other models, or another number of texts."""
        if key != self.key:
            self.key, count = key, len(self.candidates)
            self.blocks, self.tokens, self.seconds = [0] * count, [0] * count, [0.0] * count

    @property
    def choice(self) -> int:
        least = min(self.blocks)
        if least <= self.tried:
            return self.blocks.index(least)
        return max(range(len(self.candidates)), key=lambda each: self.tokens[each] / self.seconds[each])

    def tell(self, candidate: int, tokens: int, seconds: float) -> None:
        if self.blocks[candidate]:  # the first one prepares what is kept
            self.tokens[candidate] += tokens
            self.seconds[candidate] += seconds
        self.blocks[candidate] += 1


class SwitchingLoop:
    """What `pieces` asks of a loop, by the candidates of `trials`; raises as `Loop` does."""

    def __init__(self, pair: Pair, trials: Trials, warp: Sampling, vectors: str = "numpy") -> None:
        self.trials = trials
        self._loops = [Loop(pair, verifier, scheme, warp, vectors) for verifier, scheme in trials.candidates]
        self._watch = Stopwatch(pair.device)

    def start(self, prompt: Sequence[int], more: int = 0) -> State:
        return max(self._loops, key=lambda loop: loop.scheme.depth).start(prompt, more)

    def step(self, state: State, coin: Coin | Sequence[Coin]) -> tuple[list[Block], State]:
        """As `Loop.step`, by the candidate whose turn it is."""
        chosen, began = self.trials.choice, self._watch.now()
        blocks, after = self._loops[chosen].step(state, coin)
        self.trials.tell(chosen, sum(len(block.tokens) for block in blocks), self._watch.now() - began)
        return blocks, after
