"""`draftproof model choose`: which scheme and verifier are fastest for a pair of models, by paired successive halving.

Candidates are verifiers on schemes, and assisted generation of transformers. After a short warm-up they write texts
after the same roots, up to `BESIDE` of them in turn with one text of `generate`. The slower half of them is dropped
again and again, until `KEPT` are left; the fewer are left, the more texts each writes, so that every stage takes about
as long. The best of many is the largest of noisy estimates; so it then writes further texts beside `generate` alone,
and its speed-up is told from these (`rounds`). A limit of seconds decides how many texts there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.schemes import shape_name
from draftproof.experiments.inputs.verifiers import Combination, NamedVerifier
from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import CHOOSE_BUDGET, expected, planned_scheme
from draftproof.experiments.models.loop.loop import check_pair
from draftproof.experiments.models.loop.supported import check_roots
from draftproof.experiments.models.loop.timing import measured_by
from draftproof.experiments.models.loop.vectors import part_seed, text_seed
from draftproof.experiments.models.measure.choice import choice_result
from draftproof.experiments.models.measure.passes import measure_passes
from draftproof.experiments.models.measure.rounds import Text, Turn, one_round, speed_up
from draftproof.experiments.models.measure.setting import Setting, setting
from draftproof.experiments.models.measure.verifiers import QUICK, claims, exact_checks, refuse_planned
from draftproof.experiments.models.measure.writers import (
    ASSISTED,
    GENERATE,
    Way,
    missing_assisted,
    timed_text,
)
from draftproof.experiments.models.pair.corpus import sample
from draftproof.experiments.models.pair.devices import generation_settings
from draftproof.experiments.models.pair.opened import Opened
from draftproof.experiments.result import Result
from draftproof.experiments.runtime import limited
from draftproof.experiments.shared.progress import bar, counted, duration, remark
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import InvalidInput, TooLarge, UnsupportedTree
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Context, DraftScheme

VERIFIERS = ("naive", "specinfer", "block", "traversal", "path_transport", "layer_transport")
#: Single paths, branches from the root and delayed branches, up to twelve drafted tokens.
SHAPES = tuple(
    Delayed(K, L1, L2)
    for K in (1, 2, 3, 4)
    for L1 in ((0, 1, 2) if K > 1 else (0,))
    for L2 in ((1, 2, 3) if K > 1 else (1, 2, 3, 4, 6))
    if L1 + K * L2 <= 12
)
#: The share of the seconds in which verifiers of users are checked.
OWN_SHARE = 0.1
#: Tokens of a text of the warm-up.
WARM = 8
#: So many candidates are not halved any more.
KEPT = 4
#: One text of `generate` stands beside the texts of at most so many candidates.
BESIDE = 12
#: The shares of the time by which the warm-up, the halving and the confirmation end; the rest is for exact numbers.
WARMED, HALVED, CONFIRMED = 0.25, 0.7, 0.9
#: The numbers of the first round of texts and of the confirmation for `part_seed`; 0 belongs to contexts.
FIRST_ROUND, CONFIRMING = 1, 500
#: The fewest seconds for exact numbers.
MIN_SECONDS = 2.0
#: The forecast goes by so many latest texts, as other programs may slow the machine down.
LATEST = 3
#: So many sizes of passes of the target are told.
SIZES = 4


@dataclass(frozen=True)
class Amount:
    """How much is run: number of roots, tokens of a text, texts after each root in the end, limit of seconds."""

    roots: int = 8
    tokens: int = 32
    rounds: int = 5
    seconds: float | None = None


@dataclass
class Forecast:
    """The forecast of the total time.

    begun: seconds that had passed when the search began. total: the latest forecast, None before the first one.
    """

    limit: float | None = None
    started: float = field(default_factory=perf_counter)
    begun: float = 0.0
    total: float | None = None

    @property
    def passed(self) -> float:
        return perf_counter() - self.started

    def late(self, share: float, more: float = 0.0) -> bool:
        """Whether this share of the search's time is over, or will be after `more` further seconds."""
        return self.limit is not None and self.passed + more > self.begun + share * (self.limit - self.begun)

    def exact(self, more: float = 0.0) -> float:
        """The seconds for exact numbers, after `more` further seconds of texts."""
        return max((self.passed + more - self.begun) * (1 / CONFIRMED - 1), MIN_SECONDS)

    def to_go(self) -> str:
        """The time that is left by the latest forecast, in words."""
        return "" if self.total is None else f"{duration(max(self.total - self.passed, 0.0))} to go"

    def update(self, seconds: float, about: str) -> None:
        """Take note that about `seconds` are left; printed the first time."""
        passed, first = self.passed, self.total is None
        self.total = passed + seconds if self.limit is None else max(min(passed + seconds, self.limit), passed)
        if first:
            most = "" if self.limit is None else f", {duration(self.limit)} in all at most"
            remark(f"{about}: {self.to_go()}, if texts take as long as the first ones{most}")


def check_lossless(verifiers: Sequence[NamedVerifier], schemes: Sequence[DraftScheme], seconds: float | None) -> None:
    """Raises `InvalidInput` for verifiers of the library that are declared lossless on no scheme.

    Those of users are checked exactly on small instances, and must be lossless there; one that cannot be checked counts
    as what its card declares.
    """
    lossy = [named.label for named in verifiers if not named.user_defined and not lossless_for(named.verifier.card)]
    among = "choose among verifiers that keep the target's distribution"
    if lossy:
        raise InvalidInput(f"{', '.join(lossy)}: declared lossless on no drafts; {among}")
    most = QUICK if seconds is None else min(QUICK, OWN_SHARE * seconds)
    by_label = {named.label: named for named in verifiers}
    for row in exact_checks(by_label, schemes, most):
        declared = lossless_for(by_label[row["verifier"]].verifier.card)
        if not (declared if row["lossless"] is None else row["lossless"]):
            raise InvalidInput(f"{row['verifier']}: {row['verdict']}; {among}")


def by_speed(verifiers: Sequence[NamedVerifier], vocab_size: int) -> tuple[list[NamedVerifier], list[NamedVerifier]]:
    """The verifiers whose cards say that one call takes under a second at this `V`, and the slower ones.

    Raises `InvalidInput` where all are slower.
    """
    slow = [named for named in verifiers if (named.verifier.card.max_vocab or vocab_size) < vocab_size]
    if len(slow) == len(verifiers):
        names = ", ".join(named.label for named in slow)
        raise InvalidInput(
            f"{names}: a call takes more than a second at V = {vocab_size}, their cards say; name others"
        )
    return [named for named in verifiers if named not in slow], slow


def planned(schemes: Sequence[DraftScheme], setting: Setting) -> tuple[list[DraftScheme], list[str]]:
    """The distinct schemes, those of Sequoia with a planned tree, and notes on how trees were planned."""
    made = [planned_scheme(scheme, setting.contexts) for scheme in schemes]
    different: dict[DraftScheme, DraftScheme] = {}
    for scheme, _ in made:
        path = isinstance(scheme, Delayed) and scheme.K == 1  # for one path L1 does not matter
        different.setdefault(Delayed(1, 0, scheme.depth) if path else scheme, scheme)
    return list(different.values()), [said for _, said in made if said]


def stages(candidates: int, texts: int) -> Iterator[tuple[int, int]]:
    """The number of candidates of every stage, and how many texts each has written by its end; the last write all."""
    while candidates > KEPT:
        yield candidates, max(1, texts * KEPT // candidates)
        candidates = max(KEPT, -(-candidates // 2))
    yield candidates, texts


def stage_seconds(candidates: int, texts: int, text: float, plain: float, written: int = 0) -> float:
    """Estimated seconds of all stages and of the confirmation.

    text, plain: seconds of a text of a candidate and of `generate`. written: how many texts each has written already.
    """
    total = texts * (text + plain)
    for size, by_then in stages(candidates, texts):
        total += max(by_then - written, 0) * (size * text + -(-size // BESIDE) * plain)
        written = max(by_then, written)
    return total


class Search:
    """The search for the fastest way of writing; every text is stored as soon as it is written.

    ways: the candidates. texts: of each, in order. left: the candidates that were never dropped.
    """

    def __init__(
        self, setting: Setting, ways: Sequence[Way], amount: Amount, forecast: Forecast, store: Store, clock: str
    ) -> None:
        self.setting, self.ways, self.amount, self.forecast = setting, ways, amount, forecast
        self._store, self.clock = store, clock
        self._warm: dict[Way, float] = {}  # seconds of a token
        self.texts: dict[Way, list[Text]] = {way: [] for way in ways}
        self.left: list[Combination] = []
        self.notes: list[str] = []

    def run(self) -> list[Text]:
        """Warm-up, stages and confirmation; afterwards `left` is ordered, the fastest first.

        Returns the texts of the confirmation. Raises `InvalidInput` where no verifier takes any of the trees.
        """
        wanted = self._warm_up()
        self._leave_out()
        most, written = self.amount.rounds * self.amount.roots, 0
        with bar("texts", most, even=False, detail=self.forecast.to_go) as tick:
            while True:
                size, texts = len(self.left), self._affordable(most, written)
                self._say(self._stage_seconds(texts, written))
                _, by_then = next(stages(size, texts))
                while written < by_then and not (written and self.forecast.late(HALVED)):
                    self._write(self.last, written)
                    written += 1
                    self._say(self._stage_seconds(texts, written))
                    tick(1)
                self.left = [way for way in self.left if self.texts[way]]
                self.left.sort(key=lambda way: -speed_up(self.texts[way]).mean)
                if size <= KEPT or self.forecast.late(HALVED):
                    break
                del self.left[max(KEPT, -(-size // 2)) :]
        tried = sum(bool(texts) for texts in self.texts.values()) - (ASSISTED in self.ways)
        if tried < wanted:
            self.notes.append(f"for want of time only {tried} of {wanted} candidates were tried")
        if written < most:
            self.notes.append(f"for want of time the last candidates wrote {counted(written, 'text')}, not {most}")
        return self._confirmed(self.best, most)

    @property
    def combinations(self) -> list[Combination]:
        """The candidates that are a verifier on a scheme."""
        return [way for way in self.ways if not isinstance(way, str)]

    @property
    def best(self) -> Way:
        """The fastest candidate of the last stage."""
        return max(self.last, key=lambda way: speed_up(self.texts[way]).mean)

    @property
    def last(self) -> list[Way]:
        """The candidates that are left; assisted generation of transformers writes in every stage."""
        return [*(way for way in self.ways if way == ASSISTED), *self.left]

    def _warm_up(self) -> int:
        """One short text of every candidate, in random order: with a limit, of as many as there is time for.

        Returns how many candidates there are, without those whose verifier refuses the trees.
        """
        tokens, own, refused = min(self.amount.tokens, WARM), self.combinations, list[Combination]()

        def warm(way: Way) -> None:
            self._warm[way] = timed_text(self.setting, way, tokens, 0, 0).seconds / tokens

        for way in (GENERATE, GENERATE, *(way for way in self.ways if way == ASSISTED)):
            warm(way)
        with bar("warm-up", len(own), even=False) as tick:
            for place in np.random.default_rng(self.setting.seed).permutation(len(own)):
                if self.left and self.forecast.late(WARMED):
                    break
                try:
                    warm(own[place])
                    self.left.append(own[place])
                except UnsupportedTree:
                    refused.append(own[place])
                tick(1)
        if not self.left:
            raise no_candidates(refused)
        return len(own) - len(refused)

    def _leave_out(self) -> None:
        """With a limit, keep the candidates whose first texts there is time for: those that were quick before."""
        self.left.sort(key=self._warm.__getitem__)
        while len(self.left) > 1 and self.forecast.late(HALVED, self._stage_seconds(1)):
            self.left.pop()
        self.left = [way for way in self.combinations if way in self.left]

    def _seconds(self) -> tuple[float, float]:
        """Mean seconds of a text of the candidates that are left, and of one of `generate`, by their latest texts."""
        latest = [text for way in self.left for text in self.texts[way][-LATEST:]]
        own = [text.own.seconds for text in latest]
        own += [self._warm[way] * self.amount.tokens for way in self.left if not self.texts[way]]
        plain = [text.plain.seconds for text in latest] or [self._warm[GENERATE] * self.amount.tokens]
        return float(np.mean(own)), float(np.mean(plain))

    def _stage_seconds(self, texts: int, written: int = 0) -> float:
        return stage_seconds(len(self.last), texts, *self._seconds(), written)

    def _affordable(self, most: int, written: int) -> int:
        """How many texts the last candidates can write within the limit, at most `most`."""
        fewest = max(written, 2)
        return next(
            (
                texts
                for texts in range(most, fewest, -1)
                if not self.forecast.late(CONFIRMED, self._stage_seconds(texts, written))
            ),
            min(fewest, most),
        )

    def _say(self, seconds: float) -> None:
        """Correct the forecast: so many seconds are left for texts."""
        self.forecast.update(seconds + self.forecast.exact(seconds), counted(len(self.left), "candidate"))

    def _write(self, ways: Sequence[Way], text: int) -> None:
        """One more text of each of these candidates after the same root, as far as there is time."""
        for at in range(0, len(ways), BESIDE):
            some = ways[at : at + BESIDE]
            if at and self.forecast.late(HALVED, len(some) * self._seconds()[0]):
                break
            for way, written in zip(some, self._made(some, text, FIRST_ROUND), strict=True):
                self.texts[way].append(written)

    def _made(self, ways: Sequence[Way], text: int, part: int) -> list[Text]:
        """A text of each way and one of `generate`; what is stored is not written again."""
        round_, root = divmod(text, self.amount.roots)
        about = {"clock": self.clock, "tokens": self.amount.tokens, "text": text, "part": part}
        keys = [self.setting.key(kind="text", way=_identity(way), **about) for way in ways]
        missing = {way: key for way, key in zip(ways, keys, strict=True) if key not in self._store}
        if missing:
            every, seed = [GENERATE, *missing], part_seed(self.setting.seed, part + round_)
            candidates = [partial(timed_text, self.setting, way, self.amount.tokens, seed, root) for way in every]
            turns = dict(zip(every, one_round(candidates, text), strict=True))
            plain = turns[GENERATE].fields
            self._store.add(
                *(
                    {"strong_id": key, "kind": "text", "own": turns[way].fields, "plain": plain}
                    for way, key in missing.items()
                )
            )
        rows = [self._store[key] for key in keys]
        return [Text(root, Turn.of_fields(row["own"]), Turn.of_fields(row["plain"])) for row in rows]

    def _confirmed(self, best: Way, texts: int) -> list[Text]:
        """Texts of the best beside `generate` alone: two, and up to so many as there is time for."""
        confirmed = list[Text]()
        with bar("confirmation", texts, even=False, detail=self.forecast.to_go) as tick:
            while len(confirmed) < max(texts, 2) and not (len(confirmed) > 1 and self.forecast.late(CONFIRMED)):
                confirmed += self._made([best], len(confirmed), CONFIRMING)
                both = float(np.mean([text.own.seconds + text.plain.seconds for text in confirmed[-LATEST:]]))
                self._say((texts - len(confirmed)) * both)
                tick(1)
        return confirmed


def no_candidates(ways: Sequence[Combination]) -> InvalidInput:
    """The error where no verifier takes any tree."""
    names = ", ".join(dict.fromkeys(named.label for named, _ in ways))
    trees = ", ".join(dict.fromkeys(shape_name(scheme) for _, scheme in ways))
    return InvalidInput(f"{names}: none of them takes any of the trees ({trees}); name others")


def _identity(way: Way) -> Any:
    return way if isinstance(way, str) else {**way[0].identity, "scheme": way[1].as_dict()}


def choose(
    opened: Opened,
    verifiers: Sequence[NamedVerifier],
    schemes: Sequence[DraftScheme],
    sampling: Sampling,
    amount: Amount,
    seed: int,
    vectors: str,
    clock: str = "wall",
    resume: str | None = None,
    started: float | None = None,
    plot: str | None = None,
) -> Result:
    """The candidates, fastest first, and the recommendation. Raises `InvalidInput`.

    resume: a store of the texts that were written, which are not written again. started: from when the limit of seconds
    counts, by `perf_counter`. plot: file of a picture of the ranking.
    """
    forecast = Forecast(amount.seconds, perf_counter() if started is None else started)
    check_pair(opened.pair)
    shared = setting(opened.pair, sampling, opened.roots(amount.roots, amount.roots), seed, vectors)
    with measured_by(clock, opened.pair.device), generation_settings(shared.pair.target):
        different, notes = planned(schemes, shared)
        amount, said = fitting(shared, different, amount)
        quick, slow = by_speed(verifiers, opened.pair.vocab_size)
        if slow:
            names = ", ".join(named.label for named in slow)
            notes.append(f"left out: {names}, which take over a second a block at V = {opened.pair.vocab_size}")
        refuse_planned(quick)
        ways: list[Way] = [(named, scheme) for scheme in different for named in quick if claims(named, scheme)]
        if not ways:
            raise no_candidates([(named, scheme) for scheme in different for named in quick])
        missing = missing_assisted(shared)
        forecast.begun = forecast.passed
        search = Search(shared, [*ways, *([] if missing else [ASSISTED])], amount, forecast, Store(resume), clock)
        confirmed = search.run()
        passes = target_passes(shared, different)
        exact = exact_tokens(search)
    search.notes[:0] = [*said, *notes, *([missing] if missing else [])]
    return choice_result(search, confirmed, passes, exact, plot)


def fitting(setting: Setting, schemes: Sequence[DraftScheme], amount: Amount) -> tuple[Amount, list[str]]:
    """The amount with texts that the models have positions for, and a note where they are shorter than asked for."""
    deepest = max(scheme.depth for scheme in schemes)
    check_roots(setting.pair, setting.root_set, deepest)
    tokens = setting.pair.room(max(map(len, setting.roots)) + deepest, amount.tokens)
    note = f"texts have {tokens} tokens, not {amount.tokens}: the models are made for {setting.pair.positions} in all"
    return replace(amount, tokens=tokens), [note] if tokens < amount.tokens else []


def target_passes(setting: Setting, schemes: Sequence[DraftScheme]) -> dict[str, float]:
    """Seconds of a pass of the target by its number of tokens: 1, and those of up to `SIZES` trees with their root."""
    sizes = sorted({scheme.nodes + 1 for scheme in schemes})
    asked = {1, *(sizes[round(place * (len(sizes) - 1) / (SIZES - 1))] for place in range(SIZES))}
    pair = setting.pair
    return {
        str(size): seconds
        for size, seconds in measure_passes(pair, pair.target, len(setting.roots[0]), sorted(asked), 3).items()
    }


def exact_tokens(search: Search) -> dict[Way, float]:
    """Exact tokens a block at one context of each text, for the fastest candidates as far as there is time.

    Exact are laws from small tables, and sums over few rows. Contexts are in the middle of texts.
    """
    setting, forecast = search.setting, search.forecast
    until = forecast.passed + forecast.exact()
    until = until if forecast.limit is None else min(until, forecast.limit)
    texts, means, pair = list[Context](), dict[Way, float](), setting.pair
    for number, root in enumerate(setting.roots):
        coin = setting.coin(text_seed(part_seed(setting.seed, 0), number))
        half = max(search.amount.tokens // 2, 1)
        row_of = partial(pair.sampled, "target", sampling=setting.sampling, root=len(root))
        texts.append((*root, *sample(pair.target, root, half, coin, row_of)))
    contexts, generator = Contexts(pair, setting.sampling, texts), np.random.default_rng(setting.seed)
    for way in search.left:
        named, scheme = way
        left = until - forecast.passed
        if left < MIN_SECONDS / 2:
            break
        with suppress(TooLarge, UnsupportedTree), limited(left / 2, "too long"):
            means[way] = expected(named.verifier, scheme, contexts, CHOOSE_BUDGET, generator).mean
    return means
