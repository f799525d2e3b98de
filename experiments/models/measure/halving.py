"""Successive halving of candidates by tokens a second, after pilot runs.

Pilot runs: passes do not depend on the verifier, so they are timed once for all verifiers of a scheme; verification is
timed for each on the same trees. In one text every verifier runs on each tree and is timed by itself, and the text goes
on with the verdict of the fastest. That one alone writes the next text, in which passes are timed: after the work of
many verifiers they take up to half as long again.

Then rounds from the same roots, every text as `writers` has it: after every round the slower half of the candidates, by
the estimate of `estimate`, is dropped, down to `KEPT`, which run in all rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from draftproof.experiments.inputs.verifiers import Combination, NamedVerifier
from draftproof.experiments.models.expect.expected import AlongText
from draftproof.experiments.models.loop.generation import Generation, autoregressive, generate
from draftproof.experiments.models.loop.setting import Setting
from draftproof.experiments.models.loop.timing import Stopwatch
from draftproof.experiments.models.loop.vectors import part_seed, text_seed
from draftproof.experiments.models.measure.estimate import Rounds
from draftproof.experiments.models.measure.rounds import Turn, timed_rounds
from draftproof.experiments.models.measure.writers import GENERATE, Way, written
from draftproof.experiments.shared.progress import Tick, named_errors
from draftproof.simulator.errors import UnsupportedTree
from draftproof.simulator.laws.enumeration import guarded
from draftproof.simulator.protocol import Card, Coin, DraftNode, DraftScheme, Verdict, Verifier

T = TypeVar("T")
Fields: TypeAlias = dict[str, Any]

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
#: `generate` alone runs before each so many candidates: all are compared with it.
PLAIN_EVERY = 12


@dataclass(frozen=True)
class Amount:
    """roots: contexts of the text. tokens: of a text. rounds: of successive halving. seconds: what all may take."""

    roots: int = 8
    tokens: int = 32
    rounds: int = 5
    seconds: float | None = None


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


def successive_halving(
    setting: Setting,
    candidates: Sequence[Combination],
    expected: Sequence[AlongText],
    plain: Sequence[str],
    amount: Amount,
    step: Callable[[Mapping[str, Any], Callable[[], Fields]], Fields] = lambda about, make: make(),
    done: Callable[[Rounds, int], bool] = lambda rounds, left: False,
    progress: Tick | None = None,
) -> Rounds:
    """All rounds, each of texts of so many tokens after every root; progress: told of every text.

    plain: ways of writing beside the candidates, `generate` first. step: makes a round, or has it from before. done:
    asked after every round, with how many candidates are left: whether it was the last one.
    """
    rounds = Rounds(expected, [scheme for _, scheme in candidates])
    left = list(range(len(candidates)))
    for number in range(amount.rounds):
        seed = part_seed(setting.seed, FIRST_ROUND + number)
        order: list[int | str] = beside_plain(left, plain)
        ways = {who: who if isinstance(who, str) else candidates[who] for who in order}
        about = {"round": number, "tokens": amount.tokens, "ways": [_about(ways[who]) for who in order]}

        def make(order: Sequence[int | str] = order, ways: Mapping[int | str, Way] = ways, seed: int = seed) -> Fields:
            writers = [partial(written, setting, ways[who], amount.tokens, seed) for who in order]
            texts = timed_rounds(writers, len(setting.roots), 0, partial(_is_odd, seed), progress)
            return {
                "texts": [[[each.tokens, each.blocks, each.seconds, each.written] for each in own] for own in texts]
            }

        made = step(about, make)["texts"]
        turns = [[Turn(tokens, blocks, seconds, {}, cut) for tokens, blocks, seconds, cut in own] for own in made]
        rounds.add(
            {
                who: [
                    Turn.joined(each)
                    for each in zip(*(own for at, own in zip(order, turns, strict=True) if at == who), strict=True)
                ]
                for who in ways
            }
        )
        left = sorted(left, key=lambda who: -rounds.ratio(who).mean)[: going_on(len(left))]
        if done(rounds, len(left)):
            break
    return rounds


def _about(way: Way) -> Any:
    return way if isinstance(way, str) else {**way[0].identity, "scheme": way[1].as_dict()}


def _is_odd(first: int, text: int) -> bool:
    return (first + text) % 2 == 1


def beside_plain(candidates: Sequence[T], plain: Sequence[str]) -> list[T | str]:
    """The candidates with the first of these ways before each `PLAIN_EVERY` of them, and the others before them all."""
    order: list[T | str] = [*plain[1:]]
    for at in range(0, max(len(candidates), 1), PLAIN_EVERY):
        order += [plain[0], *candidates[at : at + PLAIN_EVERY]]
    return order


def going_on(candidates: int) -> int:
    """How many of so many go on after a round."""
    return min(candidates, max(KEPT, -(-candidates // 2)))


def sizes_of(candidates: int, rounds: int) -> list[int]:
    """How many candidates each round has."""
    sizes = [candidates]
    while len(sizes) < rounds:
        sizes.append(going_on(sizes[-1]))
    return sizes[:rounds]


def baselines(candidates: int) -> int:
    """How often `generate` alone runs in a round of so many candidates, for each root."""
    return len(beside_plain(range(candidates), [GENERATE])) - candidates
