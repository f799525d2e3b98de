"""Successive halving of candidates by tokens a second, after pilot runs.

Pilot runs measure the seconds of a block. Passes of the models do not depend on the verifier, so they are timed once
for all verifiers of a scheme; verification is timed for each verifier on the same trees. Two kinds of pilot texts take
turns. In the first every verifier runs on each tree and is timed, and the text continues with the verdict of the
fastest. In the second only the fastest verifier runs, and the passes are timed: right after many verifiers have run, a
pass takes up to half as long again.

Then the candidates write texts (`writers`) after the same roots, in rounds. After every round the slower half of them,
by the estimate of `estimate`, is dropped, until `KEPT` candidates are left, which run in all rounds. At last the chosen
one alone takes turns with `generate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.models.expect.expected import AlongText
from draftproof.experiments.models.loop.generation import Generation, autoregressive, generate
from draftproof.experiments.models.loop.setting import Setting
from draftproof.experiments.models.loop.timing import Stopwatch
from draftproof.experiments.models.loop.vectors import part_seed, text_seed
from draftproof.experiments.models.measure.estimate import Rounds
from draftproof.experiments.models.measure.rounds import Turn, timed_rounds
from draftproof.experiments.models.measure.writers import GENERATE, Writer, timed_text
from draftproof.experiments.shared.progress import Tick, named_errors
from draftproof.simulator.errors import UnsupportedTree
from draftproof.simulator.laws.enumeration import guarded
from draftproof.simulator.protocol import Card, Coin, DraftNode, DraftScheme, Verdict, Verifier

T = TypeVar("T")
Fields: TypeAlias = dict[str, Any]
#: Runs a round, described by its first argument, or loads it from a store.
Step: TypeAlias = Callable[[Mapping[str, Any], Callable[[], Fields]], Fields]

#: Blocks of a pilot text with all verifiers, and of one with only the fastest.
BLOCKS, ALONE = 4, 8
#: Pilot texts of a scheme, half of each kind; two more come first to warm up.
TEXTS = 16
#: Tokens of a pilot text of plain generation.
TOKENS = 32
#: After so many calls a verifier that takes longer than the rest of a block is not timed any more.
CALLS_TIMED = 8
#: How many candidates run in every round.
KEPT = 6
#: The number of the first round for `part_seed`; smaller ones belong to contexts and pilot runs.
FIRST_ROUND = 2
#: `generate`, the baseline, runs once before every so many candidates of a round.
BASELINE_EVERY = 12


@dataclass(frozen=True)
class Amount:
    """How much is run: number of root contexts, tokens of a text, rounds of successive halving, limit of seconds."""

    roots: int = 8
    tokens: int = 32
    rounds: int = 5
    seconds: float | None = None


class VerifierBatch:
    """Runs several verifiers on each tree, the fastest first, and returns the verdict of the first one.

    The order does not depend on the tree, so the batch is lossless if all verifiers are. A verifier that refuses a tree
    is removed. stopped: labels of slow verifiers that run no more. seconds: of each call, by label.
    """

    def __init__(self, verifiers: Sequence[NamedVerifier], watch: Stopwatch) -> None:
        self.verifiers, self.stopped = list(verifiers), set[str]()
        self.seconds: dict[str, list[float]] = {each.label: [] for each in verifiers}
        self._watch = watch

    @property
    def card(self) -> Card:
        return self.verifiers[0].verifier.card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """See `Verifier`; raises `UnsupportedTree` where every verifier refuses the tree."""
        verdict = None
        for each in [each for each in self.verifiers if each.label not in self.stopped]:
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
        """Put the fastest first; others with `CALLS_TIMED` calls of more than `most` seconds on average run no more."""
        self.verifiers.sort(key=lambda each: self.mean(each.label))
        known = [each.label for each in self.verifiers[1:] if len(self.seconds[each.label]) >= CALLS_TIMED]
        self.stopped |= {label for label in known if self.mean(label) > most}

    def mean(self, label: str) -> float:
        """Mean seconds of a call, without the first call if there are others."""
        times = self.seconds[label]
        return float(np.mean(times[1:] or times or [0.0]))

    def quick(self, label: str) -> float:
        """The lower quartile of the seconds of a call."""
        times = self.seconds[label]
        return float(np.quantile(times[1:] or times, 0.25))


class PilotRun:
    """Measures the seconds of blocks on one scheme, text after text."""

    def __init__(self, setting: Setting, scheme: DraftScheme, verifiers: Sequence[NamedVerifier]) -> None:
        self.setting, self.scheme = setting, scheme
        self._batch = VerifierBatch(verifiers, Stopwatch(setting.pair.device))
        self._named, self._alone = tuple(verifiers), False
        self._blocks: list[float] = []  # seconds of a block without verification, text by text
        self._passes: list[tuple[int, int]] = []  # draft passes and blocks

    @property
    def verifiers(self) -> list[NamedVerifier]:
        """The verifiers that accept the trees, in the order given."""
        return [each for each in self._named if each in self._batch.verifiers]

    def write(self) -> None:
        """Write one more text, the two kinds in turn (at first one of each); raises what verifiers raise."""
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
        number, setting = len(self._blocks), self.setting
        root = setting.roots[number % len(setting.roots)]
        coin = setting.coin(text_seed(part_seed(setting.seed, 1), number))
        given = setting.pair, verifier, self.scheme, root, setting.warp, coin
        return generate(*given, blocks=blocks, vectors=setting.vectors)

    @property
    def shared(self) -> float:
        """Seconds of a block without verification, in the median text, which ignores single interruptions."""
        return float(np.median(self._blocks[1:] or self._blocks))

    @property
    def draft_passes(self) -> float:
        passes, blocks = zip(*(self._passes[1:] or self._passes), strict=True)
        return float(sum(passes) / sum(blocks))

    def block(self, named: NamedVerifier) -> float:
        return self.shared + self._batch.mean(named.label)

    def quick(self, named: NamedVerifier) -> float:
        """Seconds of a block from the lower quartiles of the texts and of the verifier's calls."""
        return float(np.quantile(self._blocks[1:] or self._blocks, 0.25)) + self._batch.quick(named.label)


class PlainPilotRun:
    """The same as `PilotRun` for plain generation, where a block is one token."""

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
    """Write `texts` more texts of each pilot run, in turn; progress: called with numbers of finished texts."""
    turns = [partial(_pilot_text, pilot) for pilot in pilots]
    timed_rounds(turns, texts, backwards=lambda text: text // 2 % 2 == 1, progress=progress)


def _pilot_text(pilot: PilotRun | PlainPilotRun, _: int) -> None:
    pilot.write()


def successive_halving(
    writers: Mapping[int | str, Writer],
    expected: Sequence[AlongText],
    amount: Amount,
    step: Step = lambda about, make: make(),
    done: Callable[[Rounds, int], bool] = lambda rounds, left: False,
    progress: Tick | None = None,
) -> Rounds:
    """Run all rounds; in each every candidate writes a text after every root. progress: called with 1 for every text.

    writers: the candidates by number, from 0 on, and by name the ways of writing that are no candidates, `generate`
    first. done: called after every round with the number of candidates left; whether to stop.
    """
    plain, left = [who for who in writers if isinstance(who, str)], list(range(len(expected)))
    rounds = Rounds(expected, [writers[who][1][1] for who in left])
    for number in range(amount.rounds):
        rounds.add(_round(writers, number, round_order(left, plain), amount.tokens, step, progress))
        left = sorted(left, key=lambda who: -rounds.ratio(who).mean)[: kept_after_round(len(left))]
        if done(rounds, len(left)):
            break
    return rounds


def confirmation(
    writers: Mapping[int | str, Writer],
    before: Rounds,
    who: int | str,
    amount: Amount,
    step: Step,
    done: Callable[[int], bool],
    progress: Tick | None = None,
) -> Rounds:
    """Further rounds of the chosen candidate and `generate` alone, at most as many as of the candidates.

    before: the rounds in which it was chosen. done: called after every round with its number; whether to stop.
    """
    rounds = Rounds(before.expected, before.schemes, before=before)
    for number in range(amount.rounds):
        rounds.add(_round(writers, amount.rounds + number, [GENERATE, who], amount.tokens, step, progress))
        if done(number + 1):
            break
    return rounds


def _round(
    writers: Mapping[int | str, Writer],
    number: int,
    order: Sequence[int | str],
    tokens: int,
    step: Step,
    progress: Tick | None,
) -> dict[int | str, list[Turn]]:
    """The texts of one round after every root, of each writer by its name; of one named several times joined."""
    shared = writers[GENERATE][0]
    seed = part_seed(shared.seed, FIRST_ROUND + number)
    about = {"round": number, "tokens": tokens, "ways": [_about(writers[who]) for who in order]}

    def make() -> Fields:
        calls = [partial(timed_text, *writers[who], tokens, seed) for who in order]
        texts = timed_rounds(calls, len(shared.roots), 0, partial(_is_odd, seed), progress)
        return {"texts": [[[each.tokens, each.blocks, each.seconds, each.written] for each in own] for own in texts]}

    made = step(about, make)["texts"]
    turns = [[Turn(tokens, blocks, seconds, {}, cut) for tokens, blocks, seconds, cut in own] for own in made]
    return {
        who: [
            Turn.joined(each)
            for each in zip(*(own for at, own in zip(order, turns, strict=True) if at == who), strict=True)
        ]
        for who in order
    }


def _about(writer: Writer) -> dict[str, Any]:
    setting, way = writer
    named = {"way": way} if isinstance(way, str) else {**way[0].identity, "scheme": way[1].as_dict()}
    return {"pair": setting.digest, **named}


def _is_odd(first: int, text: int) -> bool:
    return (first + text) % 2 == 1


def round_order(candidates: Sequence[T], plain: Sequence[str]) -> list[T | str]:
    """The order of a round: `plain[0]` before every `BASELINE_EVERY` candidates, the other plain ways at the start."""
    order: list[T | str] = [*plain[1:]]
    for at in range(0, max(len(candidates), 1), BASELINE_EVERY):
        order += [plain[0], *candidates[at : at + BASELINE_EVERY]]
    return order


def kept_after_round(candidates: int) -> int:
    """How many candidates are kept after a round."""
    return min(candidates, max(KEPT, -(-candidates // 2)))


def sizes_of(candidates: int, rounds: int) -> list[int]:
    """How many candidates each round has."""
    sizes = [candidates]
    while len(sizes) < rounds:
        sizes.append(kept_after_round(sizes[-1]))
    return sizes[:rounds]


def baselines(candidates: int) -> int:
    """How often the baseline `generate` runs in a round of so many candidates, for each root."""
    return len(round_order(range(candidates), [GENERATE])) - candidates
