"""Successive halving of candidates by tokens a second, after pilot runs.

Pilot runs: passes do not depend on the verifier, so they are timed once for all verifiers of a scheme; verification is
timed for each on the same trees. In one text every verifier runs on each tree and is timed by itself, and the text goes
on with the verdict of the fastest. That one alone writes the next text, in which passes are timed: after the work of
many verifiers they take up to half as long again.

Then rounds from the same roots: after every round the slower half of the candidates is dropped, down to `KEPT`, which
run in all rounds. Speed is the expected tokens of a block over the seconds that a block took: one round measures times
well enough, but not accepted tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import hypot
from typing import TypeVar

import numpy as np

from draftproof.experiments.inputs.verifiers import NamedVerifier, Player
from draftproof.experiments.models.expect.expected import AlongText
from draftproof.experiments.models.loop.generation import Generation, autoregressive, generate
from draftproof.experiments.models.loop.setting import Setting
from draftproof.experiments.models.loop.timing import Stopwatch
from draftproof.experiments.models.loop.vectors import part_seed, text_seed
from draftproof.experiments.models.measure.rounds import Turn, geometric_mean, ratio, timed_rounds
from draftproof.experiments.shared.progress import Tick, named_errors
from draftproof.simulator.errors import UnsupportedTree
from draftproof.simulator.laws.enumeration import guarded
from draftproof.simulator.protocol import Card, Coin, DraftNode, DraftScheme, Verdict, Verifier

T = TypeVar("T")

#: Blocks of a pilot text with all verifiers, and of one with the quickest alone.
BLOCKS, ALONE = 4, 8
#: Pilot texts of a scheme, half of them of either kind, beside the first two, which warm up.
TEXTS = 16
#: Tokens of a text without drafts.
TOKENS = 32
#: A verifier slower than the rest of a block is no longer timed after so many calls.
ENOUGH = 8
#: How many candidates run in every round.
KEPT = 6
#: The part of the seed that the first round has: after those of contexts and pilot runs.
FIRST_ROUND = 2
#: Plain generation runs before each so many candidates: all are compared with it.
PLAIN_EVERY = 12


class VerifierBatch:
    """Verifies with several verifiers, the quickest first; the verdict is that of the first.

    Which one is first does not depend on the tree, so it is lossless if all are. A verifier that does not take the
    trees is left out for good. seconds: of each call, by label.
    """

    def __init__(self, verifiers: Sequence[NamedVerifier], watch: Stopwatch) -> None:
        self.verifiers, self.resting = list(verifiers), set[str]()
        self.seconds: dict[str, list[float]] = {each.label: [] for each in verifiers}
        self._watch = watch

    @property
    def card(self) -> Card:
        return self.verifiers[0].verifier.card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """See `Verifier`; raises `UnsupportedTree` where none takes the tree."""
        verdict = None
        for each in [each for each in self.verifiers if each.label not in self.resting]:
            run = guarded(each.verifier, root)
            began = self._watch.now()
            try:
                with named_errors(each.label):
                    answer = run(coin)
            except UnsupportedTree:
                self.verifiers.remove(each)
                continue
            self.seconds[each.label].append(self._watch.now() - began)
            verdict = verdict or answer
        if verdict is None:
            raise UnsupportedTree("none of the verifiers takes these trees")
        return verdict

    def sort(self, most: float) -> None:
        """Put the fastest first; others with `ENOUGH` calls and more than `most` seconds a call run no more."""
        self.verifiers.sort(key=lambda each: self.mean(each.label))
        known = [each.label for each in self.verifiers[1:] if len(self.seconds[each.label]) >= ENOUGH]
        self.resting |= {label for label in known if self.mean(label) > most}

    def mean(self, label: str) -> float:
        """Seconds of a call, the first one left out where there are others."""
        times = self.seconds[label]
        return float(np.mean(times[1:] or times or [0.0]))

    def quick(self, label: str) -> float:
        """Likewise of the quickest quarter."""
        times = self.seconds[label]
        return float(np.quantile(times[1:] or times, 0.25))


class PilotRun:
    """What blocks of one scheme take, text after text."""

    def __init__(self, setting: Setting, scheme: DraftScheme, verifiers: Sequence[NamedVerifier]) -> None:
        self.scheme = scheme
        self._setting, self._batch = setting, VerifierBatch(verifiers, Stopwatch(setting.pair.device))
        self._named, self._alone = tuple(verifiers), False
        self._blocks: list[float] = []  # seconds of a block but verification, text by text
        self._passes: list[tuple[int, int]] = []  # draft passes and blocks

    @property
    def verifiers(self) -> list[NamedVerifier]:
        """Those that take the trees, in the order in which they were given."""
        return [each for each in self._named if each in self._batch.verifiers]

    def write(self) -> None:
        """One more text, of either kind in turn and at first of both; raises what verifiers raise."""
        first = not self._blocks
        if first or not self._alone:
            self._written(self._batch, BLOCKS)
        if first or self._alone:
            text = self._written(self._batch.verifiers[0].verifier, ALONE)
            turn = Turn.of(text)
            self._blocks.append((turn.seconds - text.seconds["verify"]) / turn.blocks)
            self._passes.append((sum(block.passes for block in text.blocks), turn.blocks))
            self._batch.sort(self.shared)
        self._alone = first or not self._alone

    def _written(self, verifier: Verifier, blocks: int) -> Generation:
        number, setting = len(self._blocks), self._setting
        root = setting.roots[number % len(setting.roots)]
        coin = setting.coin(text_seed(part_seed(setting.seed, 1), number))
        given = setting.pair, verifier, self.scheme, root, setting.warp, coin
        return generate(*given, blocks=blocks, vectors=setting.vectors)

    @property
    def shared(self) -> float:
        """Seconds of a block but verification: of the median text, which single interruptions do not change."""
        return float(np.median(self._blocks[1:] or self._blocks))

    @property
    def draft_passes(self) -> float:
        passes, blocks = zip(*(self._passes[1:] or self._passes), strict=True)
        return float(sum(passes) / sum(blocks))

    def block(self, named: NamedVerifier) -> float:
        return self.shared + self._batch.mean(named.label)

    def quick(self, named: NamedVerifier) -> float:
        """Seconds of a block where all goes as quickly as in the quickest quarter of the texts and of the calls."""
        return float(np.quantile(self._blocks[1:] or self._blocks, 0.25)) + self._batch.quick(named.label)


class PlainPilotRun:
    """The same for plain generation, where a block is a token."""

    def __init__(self, setting: Setting) -> None:
        self._setting, self._blocks = setting, list[float]()

    def write(self) -> None:
        number, setting = len(self._blocks), self._setting
        coin = setting.coin(text_seed(part_seed(setting.seed, 1), number))
        given = setting.pair, setting.roots[number % len(setting.roots)], setting.warp, coin, TOKENS
        self._blocks.append(Turn.of(autoregressive(*given, vectors=setting.vectors)).block)

    @property
    def rate(self) -> float:
        return 1 / float(np.median(self._blocks[1:] or self._blocks))


def run_pilots(pilots: Sequence[PilotRun | PlainPilotRun], texts: int, progress: Tick | None = None) -> None:
    """So many texts of each more, in turn; progress: of texts."""
    turns = [partial(_pilot_text, pilot) for pilot in pilots]
    timed_rounds(turns, texts, backwards=lambda text: text // 2 % 2 == 1, progress=progress)


def _pilot_text(pilot: PilotRun | PlainPilotRun, _: int) -> None:
    pilot.write()


@dataclass
class Halving:
    """turns: of each candidate, one a round from the first; None stands for plain generation. expected: tokens a block.

    blocks: seconds of a block of each candidate, round by round: of the median text, which single interruptions do not
    change.
    """

    expected: Sequence[AlongText]
    turns: dict[int | None, list[Turn]] = field(default_factory=dict)
    blocks: dict[int | None, list[float]] = field(default_factory=dict)

    def add(self, number: int | None, texts: Sequence[Turn]) -> None:
        self.turns.setdefault(number, []).append(Turn.joined(texts))
        self.blocks.setdefault(number, []).append(float(np.median([each.block for each in texts])))

    def measured(self, number: int) -> float:
        """Tokens a second of the very texts that were written: the geometric mean over rounds."""
        return geometric_mean([each.rate for each in self.turns[number]])

    def block(self, number: int | None, rounds: int | None = None) -> float:
        return geometric_mean(self.blocks[number][:rounds])

    def rate(self, number: int | None, rounds: int | None = None) -> float:
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
        return (1.0, 0.0) if number is None else (self.expected[number].mean, self.expected[number].spread)

    @property
    def rounds(self) -> int:
        return len(self.turns.get(None, ()))

    @property
    def order(self) -> list[int]:
        """Those that ran in all rounds, the fastest first."""
        last = [number for number, each in self.turns.items() if number is not None and len(each) == self.rounds]
        return sorted(last, key=lambda number: -self.rate(number))


def successive_halving(
    setting: Setting,
    candidates: Sequence[Player],
    expected: Sequence[AlongText],
    tokens: int,
    rounds: int,
    progress: Tick | None = None,
) -> Halving:
    """All rounds, each of texts of at least so many tokens after every root; progress: told of every text."""
    halving = Halving(expected)
    left = list(range(len(candidates)))
    for round_ in range(rounds):
        seed, order = part_seed(setting.seed, FIRST_ROUND + round_), beside_plain(left)
        writers = [
            partial(_text, setting, None if number is None else candidates[number], tokens, seed) for number in order
        ]
        texts = timed_rounds(writers, len(setting.roots), 0, partial(_is_odd, seed), progress)
        for number in (None, *left):
            halving.add(number, [text for at, each in zip(order, texts, strict=True) if at == number for text in each])
        left = sorted(left, key=lambda number: -halving.rate(number))[: going_on(len(left))]
    return halving


def _is_odd(first: int, text: int) -> bool:
    return (first + text) % 2 == 1


def _text(setting: Setting, candidate: Player | None, tokens: int, seed: int, number: int) -> Turn:
    """A text after the root of this number, the same for all candidates; None: of plain generation."""
    coin, root = setting.coin(text_seed(seed, number)), setting.roots[number]
    if candidate is None:
        return Turn.of(autoregressive(setting.pair, root, setting.warp, coin, tokens, vectors=setting.vectors))
    named, scheme = candidate
    with named_errors(named.label):
        given = setting.pair, named.verifier, scheme, root, setting.warp, coin, tokens
        return Turn.of(generate(*given, vectors=setting.vectors))


def beside_plain(candidates: Sequence[T]) -> list[T | None]:
    """The candidates with plain generation, None, before each `PLAIN_EVERY` of them."""
    starts = range(0, len(candidates), PLAIN_EVERY)
    return [each for place in starts for each in (None, *candidates[place : place + PLAIN_EVERY])]


def going_on(candidates: int) -> int:
    """How many of so many go on after a round."""
    return min(candidates, max(KEPT, -(-candidates // 2)))


def turns_of(candidates: int, rounds: int) -> int:
    """How many turns all rounds have, plain generation included."""
    count = 0
    for _ in range(rounds):
        count, candidates = count + len(beside_plain(range(candidates))), going_on(candidates)
    return count
