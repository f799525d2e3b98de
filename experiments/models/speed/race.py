"""The best against each other and against plain generation: rounds in turn, from the same roots.

After every round the slower half is out, down to `FINALISTS`, which run in all rounds. Who is slower is told by the
expected tokens of a block over the seconds that a block took: times settle within a round, accepted tokens do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import hypot
from typing import TypeAlias, TypeVar

import numpy as np

from draftproof.experiments.models.loop.autoregressive import autoregressive
from draftproof.experiments.models.loop.coins import part_seed, text_seed
from draftproof.experiments.models.loop.generation import Generation, generate
from draftproof.experiments.models.speed.expected import Expected
from draftproof.experiments.models.speed.paired import geometric_mean, ratio
from draftproof.experiments.models.validation.contest import Setting
from draftproof.experiments.shared.names import Player
from draftproof.experiments.shared.progress import Tick, named_errors
from draftproof.simulator.protocol import Coin, Context

#: None: plain generation.
Runner: TypeAlias = Player | None

T = TypeVar("T")

#: How many run in every round.
FINALISTS = 6
#: The part of the seed that the first round has: after those of contexts and rehearsal.
FIRST_ROUND = 2
#: Plain generation runs before each so many others: all are compared with it.
TOGETHER = 12


@dataclass(frozen=True)
class Turn:
    """One verifier on one scheme, in a text or in several: tokens of whole blocks, blocks, and seconds without prompts.

    Of a text that ends inside a block the whole block counts: a long text would have used it.
    """

    tokens: int
    blocks: int
    seconds: float
    passing: float
    verifying: float

    @property
    def rate(self) -> float:
        """Tokens a second."""
        return self.tokens / self.seconds

    @classmethod
    def joined(cls, parts: Sequence[Turn]) -> Turn:
        """Several turns as one."""
        tokens, blocks = sum(each.tokens for each in parts), sum(each.blocks for each in parts)
        seconds, passing = sum(each.seconds for each in parts), sum(each.passing for each in parts)
        return cls(tokens, blocks, seconds, passing, sum(each.verifying for each in parts))


def turns(
    setting: Setting, runners: Sequence[Runner], tokens: int, seed: int, progress: Tick | None = None
) -> list[list[Turn]]:
    """The texts of every runner, one after each root: in turn, so that what else the machine does slows all alike.

    tokens: at least so many after each root. progress: told of every text.
    """
    texts: list[list[Turn]] = [[] for _ in runners]
    order = list(range(len(runners)))
    for number, root in enumerate(setting.roots):
        for place in order if (number + seed) % 2 == 0 else reversed(order):
            coin = setting.coin(text_seed(seed, number))
            texts[place].append(_turn(_text(setting, runners[place], root, coin, tokens)))
            if progress:
                progress(1)
    return texts


def _text(setting: Setting, runner: Runner, root: Context, coin: Coin, tokens: int) -> Generation:
    if runner is None:
        plain: Generation = autoregressive(setting.pair, root, setting.warp, coin, tokens, vectors=setting.vectors)
        return plain
    named, scheme = runner
    with named_errors(named.label):
        given = setting.pair, named.verifier, scheme, root, setting.warp, coin, tokens
        return generate(*given, vectors=setting.vectors)


def _turn(text: Generation) -> Turn:
    return Turn(
        tokens=sum(block.depth + 1 for block in text.blocks),
        blocks=len(text.blocks),
        seconds=text.elapsed - text.seconds["prompt"],
        passing=text.seconds["draft"] + text.seconds["target"],
        verifying=text.seconds["verify"],
    )


@dataclass
class Race:
    """turns: of each runner, one a round from the first; None stands for plain generation. expected: tokens a block.

    blocks: seconds of a block of each runner, round by round: of the median text, which no moment of something else
    moves.
    """

    expected: Sequence[Expected]
    turns: dict[int | None, list[Turn]] = field(default_factory=dict)
    blocks: dict[int | None, list[float]] = field(default_factory=dict)

    def add(self, number: int | None, texts: Sequence[Turn]) -> None:
        """One more turn."""
        self.turns.setdefault(number, []).append(Turn.joined(texts))
        self.blocks.setdefault(number, []).append(float(np.median([each.seconds / each.blocks for each in texts])))

    def measured(self, number: int) -> float:
        """Tokens a second of the very texts that were written: the geometric mean over rounds."""
        return geometric_mean([each.rate for each in self.turns[number]])

    def block(self, number: int | None, rounds: int | None = None) -> float:
        """Seconds of a block: likewise; rounds: over so many from the first."""
        return geometric_mean(self.blocks[number][:rounds])

    def rate(self, number: int | None, rounds: int | None = None) -> float:
        """Tokens a second: those that are expected of a block over its seconds."""
        return self._tokens(number)[0] / self.block(number, rounds)

    def ratio(self, number: int, to: int | None = None) -> tuple[float, float, float]:
        """How many times the tokens a second of another, with the 95 % interval.

        It is that of the rounds of both, widened by what is not known of the tokens that are expected of a block.
        """
        (mean, error), (other, other_error) = self._tokens(number), self._tokens(to)
        rounds = min(len(self.blocks[number]), len(self.blocks[to]))
        rates = [mean / seconds for seconds in self.blocks[number][:rounds]]
        other_rates = [other / seconds for seconds in self.blocks[to][:rounds]]
        return ratio(rates, other_rates, hypot(error / mean, other_error / other))

    def _tokens(self, number: int | None) -> tuple[float, float]:
        """Of a block, and the standard error."""
        return (1.0, 0.0) if number is None else (self.expected[number].mean, self.expected[number].spread)

    @property
    def rounds(self) -> int:
        """That there were."""
        return len(self.turns.get(None, ()))

    @property
    def order(self) -> list[int]:
        """Those that ran in all rounds, the fastest first."""
        last = [number for number, each in self.turns.items() if number is not None and len(each) == self.rounds]
        return sorted(last, key=lambda number: -self.rate(number))


def raced(
    setting: Setting,
    runners: Sequence[Player],
    expected: Sequence[Expected],
    tokens: int,
    rounds: int,
    progress: Tick | None = None,
) -> Race:
    """All rounds; progress: told of every text."""
    race = Race(expected)
    left = list(range(len(runners)))
    for round_ in range(rounds):
        order = beside_plain(left)
        here: list[Runner] = [None if number is None else runners[number] for number in order]
        made = turns(setting, here, tokens, part_seed(setting.seed, FIRST_ROUND + round_), progress)
        for number in (None, *left):
            race.add(
                number, [text for each, texts in zip(order, made, strict=True) if each == number for text in texts]
            )
        left = sorted(left, key=lambda number: -race.rate(number))[: kept(len(left))]
    return race


def beside_plain(runners: Sequence[T]) -> list[T | None]:
    """The runners with plain generation, None, before each `TOGETHER` of them."""
    return [each for place in range(0, len(runners), TOGETHER) for each in (None, *runners[place : place + TOGETHER])]


def kept(runners: int) -> int:
    """How many of so many go on after a round."""
    return min(runners, max(FINALISTS, -(-runners // 2)))


def turns_of(runners: int, rounds: int) -> int:
    """How many turns a race has, plain generation included."""
    count = 0
    for _ in range(rounds):
        count, runners = count + len(beside_plain(range(runners))), kept(runners)
    return count
