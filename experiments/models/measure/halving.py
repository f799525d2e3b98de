"""Successive halving of candidates by tokens a second, after pilot runs.

Pilot runs: passes do not depend on who verifies, so they are timed once for all verifiers of a scheme, and verification
of each on the same trees. In one text every verifier runs on each tree and is timed by itself, and the text goes on
with the verdict of the quickest. That one alone writes the next text, in which passes are timed: after the work of many
verifiers they take up to half as long again.

Then rounds in turn, from the same roots: after every round the slower half is out, down to `KEPT`, which run in all
rounds. Who is slower is told by the expected tokens of a block over the seconds that a block took: times settle within
a round, accepted tokens do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import hypot
from typing import TypeAlias, TypeVar

import numpy as np

from draftproof.experiments.models.expect.expected import AlongText
from draftproof.experiments.models.loop.generation import Generation, autoregressive, generate
from draftproof.experiments.models.loop.setting import Setting
from draftproof.experiments.models.loop.timing import Stopwatch
from draftproof.experiments.models.loop.vectors import part_seed, text_seed
from draftproof.experiments.models.measure.rounds import geometric_mean, ratio
from draftproof.experiments.shared.names import NamedVerifier, Player
from draftproof.experiments.shared.progress import Tick, named_errors
from draftproof.simulator.errors import UnsupportedTree
from draftproof.simulator.laws.enumeration import guarded
from draftproof.simulator.protocol import Card, Coin, Context, DraftNode, DraftScheme, Verdict, Verifier

#: Blocks of a text with all verifiers, and of one with the quickest alone.
BLOCKS, ALONE = 4, 8
#: Texts of a scheme, half of them of either kind, beside the first two, which warm up.
TEXTS = 16
#: Tokens of a text without drafts.
TOKENS = 32
#: Calls after which a verifier that takes longer than the rest of a block is timed no more.
ENOUGH = 8


class VerifierBatch:
    """Verifies with several verifiers, the quickest first; the verdict is that of the first.

    Which one is first does not depend on the tree, so it is lossless if all are. A verifier that does not take the
    trees is left out for good. seconds: of each call, by label.
    """

    def __init__(self, players: Sequence[NamedVerifier], watch: Stopwatch) -> None:
        self.players, self.resting = list(players), set[str]()
        self.seconds: dict[str, list[float]] = {each.label: [] for each in players}
        self._watch = watch

    @property
    def card(self) -> Card:
        """That of the first."""
        return self.players[0].verifier.card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """See `Verifier`; raises `UnsupportedTree` where none takes the tree."""
        verdict = None
        for each in [each for each in self.players if each.label not in self.resting]:
            run = guarded(each.verifier, root)
            began = self._watch.now()
            try:
                with named_errors(each.label):
                    found = run(coin)
            except UnsupportedTree:
                self.players.remove(each)
                continue
            self.seconds[each.label].append(self._watch.now() - began)
            verdict = verdict or found
        if verdict is None:
            raise UnsupportedTree("none of the verifiers takes these trees")
        return verdict

    def sort(self, most: float) -> None:
        """Put the quickest first; who takes longer than `most` seconds and is known well rests, but for the first."""
        self.players.sort(key=lambda each: self.mean(each.label))
        known = [each.label for each in self.players[1:] if len(self.seconds[each.label]) >= ENOUGH]
        self.resting |= {label for label in known if self.mean(label) > most}

    def mean(self, label: str) -> float:
        """Seconds of a call, the first one left out where there are others."""
        times = self.seconds[label]
        return float(np.mean(times[1:] or times or [0.0]))

    def quick(self, label: str) -> float:
        """Likewise of the quickest quarter."""
        times = self.seconds[label]
        return float(np.quantile(times[1:] or times, 0.25))


@dataclass(frozen=True)
class Text:
    """A text of one verifier: its blocks, draft passes, and the seconds of all but prompt and verification."""

    blocks: int
    draft_passes: int
    seconds: float

    @property
    def block(self) -> float:
        """The seconds of a block."""
        return self.seconds / self.blocks


class PilotRun:
    """What blocks of one scheme take, text after text."""

    def __init__(self, setting: Setting, scheme: DraftScheme, players: Sequence[NamedVerifier]) -> None:
        self.scheme = scheme
        self.texts: list[Text] = []
        self._setting, self._together = setting, VerifierBatch(players, Stopwatch(setting.pair.device))
        self._named, self._alone = tuple(players), False

    @property
    def players(self) -> list[NamedVerifier]:
        """The verifiers that take the trees, in the order in which they were given, whatever they take."""
        return [each for each in self._named if each in self._together.players]

    def write(self) -> None:
        """One more text, of either kind in turn and at first of both; raises what verifiers raise."""
        first = not self.texts
        if first or not self._alone:
            self._written(self._together, BLOCKS)
        if first or self._alone:
            self._write_alone()
        self._alone = first or not self._alone

    def _write_alone(self) -> None:
        made = self._written(self._together.players[0].verifier, ALONE)
        seconds = made.elapsed - made.seconds["prompt"] - made.seconds["verify"]
        self.texts.append(Text(len(made.blocks), sum(block.passes for block in made.blocks), seconds))
        self._together.sort(self.shared)

    def _written(self, verifier: Verifier, blocks: int) -> Generation:
        number, setting = len(self.texts), self._setting
        root = setting.roots[number % len(setting.roots)]
        coin = setting.coin(text_seed(part_seed(setting.seed, 1), number))
        given = setting.pair, verifier, self.scheme, root, setting.warp, coin
        return generate(*given, blocks=blocks, vectors=setting.vectors)

    @property
    def timed(self) -> list[Text]:
        """The texts but the first, where there are others."""
        return self.texts[1:] or self.texts

    @property
    def shared(self) -> float:
        """Seconds of a block but verification: the median text, which a moment of something else does not move."""
        return float(np.median([text.block for text in self.timed]))

    @property
    def draft_passes(self) -> float:
        """Of a block."""
        return sum(text.draft_passes for text in self.timed) / sum(text.blocks for text in self.timed)

    def verifying(self, named: NamedVerifier) -> float:
        """Seconds of a verification."""
        return self._together.mean(named.label)

    def block(self, named: NamedVerifier) -> float:
        """Seconds of a block."""
        return self.shared + self.verifying(named)

    def quick(self, named: NamedVerifier) -> float:
        """Seconds of a block where all goes as quickly as in the quickest quarter of the texts and of the calls."""
        shared = np.quantile([text.block for text in self.timed], 0.25)
        return float(shared) + self._together.quick(named.label)


class PlainPilotRun:
    """The same for plain generation, where a block is a token."""

    def __init__(self, setting: Setting) -> None:
        self._setting, self._seconds = setting, list[float]()

    def write(self) -> None:
        """One more text, from the next root."""
        number, setting = len(self._seconds), self._setting
        coin = setting.coin(text_seed(part_seed(setting.seed, 1), number))
        given = setting.pair, setting.roots[number % len(setting.roots)], setting.warp, coin, TOKENS
        made = autoregressive(*given, vectors=setting.vectors)
        self._seconds.append((made.elapsed - made.seconds["prompt"]) / TOKENS)

    @property
    def rate(self) -> float:
        """Tokens a second of the median text."""
        return 1 / float(np.median(self._seconds[1:] or self._seconds))


def run_pilots(rehearsals: Sequence[PilotRun | PlainPilotRun], texts: int, progress: Tick | None = None) -> None:
    """So many texts of each more, in turn, that what else the machine does slows all; progress: of texts."""
    for turn in range(texts):
        for each in rehearsals if turn // 2 % 2 == 0 else reversed(rehearsals):
            each.write()
            if progress:
                progress(1)


#: None: plain generation.
Measured: TypeAlias = Player | None

T = TypeVar("T")

#: How many run in every round.
KEPT = 6
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
    setting: Setting, runners: Sequence[Measured], tokens: int, seed: int, progress: Tick | None = None
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


def _text(setting: Setting, runner: Measured, root: Context, coin: Coin, tokens: int) -> Generation:
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
class Halving:
    """turns: of each runner, one a round from the first; None stands for plain generation. expected: tokens a block.

    blocks: seconds of a block of each runner, round by round: of the median text, which no moment of something else
    moves.
    """

    expected: Sequence[AlongText]
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


def successive_halving(
    setting: Setting,
    runners: Sequence[Player],
    expected: Sequence[AlongText],
    tokens: int,
    rounds: int,
    progress: Tick | None = None,
) -> Halving:
    """All rounds; progress: told of every text."""
    race = Halving(expected)
    left = list(range(len(runners)))
    for round_ in range(rounds):
        order = beside_plain(left)
        here: list[Measured] = [None if number is None else runners[number] for number in order]
        made = turns(setting, here, tokens, part_seed(setting.seed, FIRST_ROUND + round_), progress)
        for number in (None, *left):
            race.add(
                number, [text for each, texts in zip(order, made, strict=True) if each == number for text in texts]
            )
        left = sorted(left, key=lambda number: -race.rate(number))[: going_on(len(left))]
    return race


def beside_plain(runners: Sequence[T]) -> list[T | None]:
    """The runners with plain generation, None, before each `TOGETHER` of them."""
    return [each for place in range(0, len(runners), TOGETHER) for each in (None, *runners[place : place + TOGETHER])]


def going_on(runners: int) -> int:
    """How many of so many go on after a round."""
    return min(runners, max(KEPT, -(-runners // 2)))


def turns_of(runners: int, rounds: int) -> int:
    """How many turns a race has, plain generation included."""
    count = 0
    for _ in range(rounds):
        count, runners = count + len(beside_plain(range(runners))), going_on(runners)
    return count
