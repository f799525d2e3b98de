"""A loop that tries several verifiers and schemes for its first blocks and continues with the fastest.

Which candidate makes a block depends only on the tokens and seconds of earlier blocks, never on what the block draws.
Given any earlier blocks, a block of a lossless verifier followed by text of the target has the target's law. By
induction from the last block to the first, so has the whole text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from draftproof.experiments.models.loop.loop import Block, Loop, State
from draftproof.experiments.models.loop.timing import Stopwatch
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Coin, DraftScheme, Verifier

#: Timed blocks of each candidate before the fastest continues; one untimed block comes first to warm up.
TRIAL_BLOCKS = 6


@dataclass
class Trials:
    """Tokens and seconds of each candidate, kept between calls with the same models and number of texts.

    trial_blocks: timed blocks of each before the choice. blocks: how many each made. choice: the candidate of the next
    block: in turn until all have made their trial blocks, then the one with the most tokens a second so far.
    """

    candidates: Sequence[tuple[Verifier, DraftScheme]]
    trial_blocks: int = TRIAL_BLOCKS
    key: Any = None
    blocks: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def reset_for(self, key: Any) -> None:
        """Forget all measurements if the key (models, number of texts) has changed."""
        if key != self.key:
            self.key, count = key, len(self.candidates)
            self.blocks, self.tokens, self.seconds = [0] * count, [0] * count, [0.0] * count

    @property
    def choice(self) -> int:
        least = min(self.blocks)
        if least <= self.trial_blocks:
            return self.blocks.index(least)
        return max(range(len(self.candidates)), key=lambda each: self.tokens[each] / self.seconds[each])

    def record(self, candidate: int, tokens: int, seconds: float) -> None:
        if self.blocks[candidate]:  # the first block warms up and is not timed
            self.tokens[candidate] += tokens
            self.seconds[candidate] += seconds
        self.blocks[candidate] += 1


class SwitchingLoop:
    """A loop that runs the candidates of `trials`, for `generation.pieces`; arguments and errors as for `Loop`."""

    def __init__(self, pair: Pair, trials: Trials, warp: Sampling, vectors: str = "numpy") -> None:
        self.trials = trials
        self._loops = [Loop(pair, verifier, scheme, warp, vectors) for verifier, scheme in trials.candidates]
        self._watch = Stopwatch(pair.device)

    def start(self, prompt: Sequence[int], more: int = 0) -> State:
        """As `Loop.start`, for the deepest scheme."""
        state: State = max(self._loops, key=lambda loop: loop.scheme.depth).start(prompt, more)
        return state

    def step(self, state: State, coin: Coin | Sequence[Coin]) -> tuple[list[Block], State]:
        """As `Loop.step`, with the candidate that `Trials.choice` names."""
        chosen, began = self.trials.choice, self._watch.now()
        blocks, after = self._loops[chosen].step(state, coin)
        self.trials.record(chosen, sum(len(block.tokens) for block in blocks), self._watch.now() - began)
        return blocks, after
