"""Which tree and verifier for a pair: ranked by what they could bring at best, measured in turn, the rest left out.

A candidate brings at most `E / T` tokens a second: `E` is its exact block efficiency, the mean over the roots, and `T`
the time of its passes as they were fitted, with verification that takes no time. In the loop passes take longer than
alone, by a factor that is seen as candidates are tried, from the largest bound down; with the smallest factor seen, the
search ends where the next bound is below what was measured already. The best then run against each other and against
plain generation, in turn and from the same roots, for several rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from experiments.models.loop.autoregressive import autoregressive
from experiments.models.loop.coins import coin_for
from experiments.models.loop.generation import Generation, generate
from experiments.models.predicted.prediction import Prediction, predict
from experiments.models.predicted.sampled import predict_sampled
from experiments.models.predicted.tables import pair_tables
from experiments.models.speed.latency_fit import Latency
from experiments.models.speed.paired import geometric_mean, ratio
from experiments.models.validation.contest import Setting
from experiments.shared.cost import Settings, expected_cost
from experiments.shared.names import NamedVerifier
from experiments.shared.progress import Tick, named_errors, remark
from simulator.arithmetic import FLOAT64
from simulator.drafts import Delayed
from simulator.errors import InvalidInput, TooLarge, UnsupportedTree
from simulator.instances.case import Case
from simulator.instances.instance import Instance
from simulator.instances.processes import table_entries

#: Tables of more numbers are not made for one root; block efficiency is then a mean over sampled trees.
MOST_ENTRIES = 10_000
TREES = 8
#: Seconds, as announced, up to which block efficiency is computed exactly.
LONG = 3.0
#: A bound is of fitted times, and a first measurement is short: only what is this far below is left out.
ROOM = 0.9
#: Candidates that are tried whatever their bound: they show how much slower passes are in the loop.
SEEN = 5
#: Of those that were tried, how many run against each other, and how near the best they must have come.
FINALISTS, NEAR = 5, 0.8


@dataclass(frozen=True)
class Candidate:
    """A verifier on a tree. expected: block efficiency, with its error (0 where it is exact); passes: seconds."""

    named: NamedVerifier
    scheme: Delayed
    expected: float
    error: float
    passes: float

    @property
    def most(self) -> float:
        """Tokens a second if verification took no time; of an estimate its upper end."""
        return (self.expected + 2 * self.error) / self.passes

    def __str__(self) -> str:
        return f"{self.named.label} on {self.scheme}"


@dataclass(frozen=True)
class Tried:
    """One candidate, measured alone: tokens a second, tokens a block, and the seconds of a block, by part."""

    candidate: Candidate
    rate: float
    block_efficiency: float
    passing: float
    verifying: float
    other: float

    @property
    def block(self) -> float:
        """Seconds of a block."""
        return self.passing + self.verifying + self.other

    @property
    def predicted(self) -> float:
        """Tokens a second from the exact block efficiency and the seconds of a block."""
        return self.candidate.expected / self.block

    @property
    def slower(self) -> float:
        """How many times the fitted time its passes take in the loop."""
        return self.passing / self.candidate.passes


@dataclass
class Race:
    """Rounds of the finalists, None standing for plain generation: tokens a second of each round."""

    finalists: list[Tried]
    rates: dict[int | None, list[float]] = field(default_factory=dict)

    def rate(self, number: int | None) -> float:
        """The geometric mean over rounds."""
        return geometric_mean(self.rates[number])

    def ratio(self, number: int, to: int | None = None) -> tuple[float, float, float]:
        """How many times the tokens a second of another, with its 95 % interval: rounds are pairs."""
        return ratio(self.rates[number], self.rates[to])

    @property
    def order(self) -> list[int]:
        """The finalists, fastest first."""
        return sorted(range(len(self.finalists)), key=lambda number: -self.rate(number))


def candidates(
    setting: Setting,
    verifiers: Sequence[NamedVerifier],
    schemes: Sequence[Delayed],
    latency: Latency,
    progress: Tick | None = None,
) -> list[Candidate]:
    """All that can run, the largest bound first. progress: told of every scheme.

    Raises `InvalidInput` for a verifier that is not lossless on the tables, and where nothing can run; and what
    verifiers raise.
    """
    context = len(setting.roots[0])
    found = []
    for scheme in schemes:
        cases = _cases(setting, scheme)
        for named in verifiers:
            try:
                with named_errors(named.label):
                    expected, error = _expected(setting, named, scheme, cases)
            except UnsupportedTree:
                continue
            found.append(Candidate(named, scheme, expected, error, latency.block(scheme, context)))
        if progress:
            progress(1)
    if not found:
        raise InvalidInput("none of the verifiers takes any of the trees; name others")
    return sorted(found, key=lambda each: -each.most)


def _cases(setting: Setting, scheme: Delayed) -> list[Case] | None:
    if table_entries(setting.pair.vocab_size, scheme.depth) > MOST_ENTRIES:
        return None
    roots = setting.roots
    return [Case(str(root), *pair_tables(setting.pair, setting.warp, root, max(scheme.depth, 1))) for root in roots]


def _expected(
    setting: Setting, named: NamedVerifier, scheme: Delayed, cases: Sequence[Case] | None
) -> tuple[float, float]:
    """Block efficiency and its standard error; exact where tables and enumeration are small."""
    if cases is not None:
        with suppress(TooLarge):
            cost = expected_cost(named, scheme, Settings("float64", "auto"), [(cases[0].target, cases[0].draft)])
            if cost.seconds * len(cases) > LONG:
                raise TooLarge
            prediction = predict(named.verifier, cases, scheme)
            _assert_lossless(named, scheme, cases, prediction)
            return prediction.mean, 0.0
    if scheme.name not in named.verifier.card.lossless_for:
        raise InvalidInput(f"its card does not say that it is lossless on {scheme}, and this is too large to show it")
    given = setting.pair, named.verifier, scheme, setting.warp, setting.roots
    found = predict_sampled(*given, TREES, np.random.default_rng([setting.seed, 2]))
    return found.mean, found.error


def _assert_lossless(named: NamedVerifier, scheme: Delayed, cases: Sequence[Case], prediction: Prediction) -> None:
    for case, law in zip(cases, prediction.laws, strict=True):
        target = Instance.of(case.target, case.draft, scheme.depth, FLOAT64).target
        deviation = float(law.metrics(target).max_deviation)
        if not deviation <= FLOAT64.tolerance:
            raise InvalidInput(
                f"not lossless on {scheme}: it deviates by {deviation:.3g} after a root of the text; "
                "choose among verifiers that keep the target's distribution"
            )


def tried(setting: Setting, ranked: Sequence[Candidate], tokens: int) -> Iterator[Tried]:
    """The candidates in order, each measured alone, until none that is left could be the fastest."""
    best, factors = 0.0, list[float]()
    for candidate in ranked:
        if len(factors) >= SEEN and candidate.most / min(factors) < ROOM * best:
            return
        _texts(setting, candidate, candidate.scheme.depth + 1, setting.seed)  # warm
        measured = _tried(candidate, _texts(setting, candidate, tokens, setting.seed + 1))
        best = max(best, measured.rate)
        factors.append(measured.slower)
        yield measured


def raced(setting: Setting, all_tried: Sequence[Tried], tokens: int, rounds: int) -> Race:
    """The best of those that were tried, and plain generation, in turn; every round has seeds of its own."""
    ranked = sorted(all_tried, key=lambda each: -each.rate)
    race = Race([each for each in ranked[:FINALISTS] if each.rate >= NEAR * ranked[0].rate])
    order: list[int | None] = [None, *range(len(race.finalists))]
    for round_ in range(rounds):
        for number in order if round_ % 2 == 0 else reversed(order):
            chosen = None if number is None else race.finalists[number].candidate
            rate = _rate(_texts(setting, chosen, tokens, setting.seed + 2 + round_))
            race.rates.setdefault(number, []).append(rate)
        remark(f"round {round_ + 1} of {rounds}")
    return race


def _texts(setting: Setting, candidate: Candidate | None, tokens: int, seed: int) -> list[Generation]:
    """So many tokens after each root."""
    made = []
    for number, root in enumerate(setting.roots):
        coin = coin_for(setting.vectors, seed * 1_000_003 + number, setting.pair.device)
        if candidate is None:
            made.append(autoregressive(setting.pair, root, setting.warp, coin, tokens, vectors=setting.vectors))
            continue
        with named_errors(candidate.named.label):
            given = setting.pair, candidate.named.verifier, candidate.scheme, root, setting.warp, coin, tokens
            made.append(generate(*given, vectors=setting.vectors))
    return made


def _tried(candidate: Candidate, texts: Sequence[Generation]) -> Tried:
    blocks = sum(len(each.blocks) for each in texts)
    lengths = sum(block.depth + 1 for each in texts for block in each.blocks)
    seconds = sum(each.elapsed - each.seconds["prompt"] for each in texts)
    passes = sum(each.seconds["draft"] + each.seconds["target"] for each in texts)
    verifying = sum(each.seconds["verify"] for each in texts)
    rest = seconds - passes - verifying
    return Tried(candidate, _rate(texts), lengths / blocks, passes / blocks, verifying / blocks, rest / blocks)


def _rate(texts: Sequence[Generation]) -> float:
    """Tokens a second, prompts left out."""
    return sum(len(each.tokens) for each in texts) / sum(each.elapsed - each.seconds["prompt"] for each in texts)
