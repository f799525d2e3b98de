"""`draftproof choose`: which scheme and verifier are fastest for a pair of models.

The baseline is `generate` of transformers; `writers` says what is timed, `estimate` how candidates are ranked. Before
any timed round, a candidate is predicted to write `E / T` tokens a second: `E` is its block efficiency after contexts
of texts, `T` the seconds of a block in the loop, from a pilot run. Its best case is the upper end of the interval of
`E` (or, where `E` is not computed, the bound `most_tokens` of all lossless verifiers) over the lower quartile of `T`.
Candidates whose best case is below the best prediction are not measured. This is a heuristic, not a proof: the times
come from few texts. `E` is computed for verifiers whose verification is short beside the passes, and for those of the
others that could still be the fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from math import ceil
from time import perf_counter
from typing import Any

from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.schemes import scheme_spec, shape_name
from draftproof.experiments.inputs.verifiers import Combination, NamedVerifier
from draftproof.experiments.models.expect.depth_by_depth import evaluates_by_depth
from draftproof.experiments.models.expect.expected import CHOOSE_BUDGET, AlongText, SharedTrees, planned_scheme
from draftproof.experiments.models.loop.generation import autoregressive
from draftproof.experiments.models.loop.setting import Setting, device_name, setting, under_test
from draftproof.experiments.models.loop.supported import check_pair
from draftproof.experiments.models.loop.timing import measured_by
from draftproof.experiments.models.loop.vectors import part_seed, text_seed
from draftproof.experiments.models.measure.estimate import Interval, Rounds
from draftproof.experiments.models.measure.halving import (
    ALONE,
    BLOCKS,
    TEXTS,
    Amount,
    PilotRun,
    PlainPilotRun,
    baselines,
    confirmation,
    round_order,
    run_pilots,
    sizes_of,
    successive_halving,
)
from draftproof.experiments.models.measure.passes import measure_passes
from draftproof.experiments.models.measure.writers import (
    ASSISTED,
    GENERATE,
    LOOP,
    Writer,
    ignored_generation_settings,
    plain_ways,
    plain_writers,
    sampling_of,
)
from draftproof.experiments.models.pair.opened import Opened, open_pair
from draftproof.experiments.shared.progress import Tick, bar, duration, remark
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import InvalidInput, UnsupportedTree
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.laws.estimator import closed_form
from draftproof.simulator.protocol import Context, DraftScheme

#: Block efficiency is computed after this many contexts for each root, each from a text of its own.
STARTS = 4
#: Times are noisy: a candidate is left out only where its best case is below this share of the best prediction.
MARGIN = 0.95
#: Verification is short where it takes at most this share of the rest of a block.
SHORT = 0.25
#: For estimates of the work: the assumed ratio of accepted tokens to their upper bound.
TYPICAL_SHARE = 0.8


@dataclass(frozen=True)
class Candidate:
    """A verifier on a scheme. cap: upper bound on the tokens of a block; expected: None where it was not computed.

    block_seconds, quick_seconds: of a block, mean and lower quartile; shared_seconds: the mean without verification.
    """

    named: NamedVerifier
    scheme: DraftScheme
    cap: float
    expected: AlongText | None
    block_seconds: float
    quick_seconds: float
    shared_seconds: float
    draft_passes: float

    @property
    def combination(self) -> Combination:
        return self.named, self.scheme

    @property
    def tokens(self) -> float:
        """The most tokens a block may have: the upper end of the estimate, or the bound."""
        return self.cap if self.expected is None else min(self.cap, self.expected.high)

    @property
    def best_case(self) -> float:
        return self.tokens / self.quick_seconds

    @property
    def predicted(self) -> float:
        """Predicted tokens a second; 0 where `E` is not computed."""
        return 0.0 if self.expected is None else self.expected.mean / self.block_seconds

    @property
    def guessed(self) -> float:
        """A guess of `predicted` before `E` is computed, for estimates of the work."""
        return self.guessed_tokens / self.block_seconds

    @property
    def guessed_tokens(self) -> float:
        """A guess of the tokens of a block."""
        return 1 + TYPICAL_SHARE * (self.cap - 1)

    @property
    def short(self) -> bool:
        """Whether verification is short beside the rest of a block."""
        return self.block_seconds - self.shared_seconds <= SHORT * self.shared_seconds

    def __str__(self) -> str:
        return f"{self.named.label} on {self.scheme}"


def pilot_runs(
    verifiers: Sequence[NamedVerifier],
    setting: Setting,
    schemes: Sequence[DraftScheme],
    progress: Tick | None = None,
    late: Callable[[], bool] = lambda: False,
) -> list[PilotRun]:
    """A pilot run, with its first text written, for every scheme that some verifier declares and accepts.

    late: whether time is over, so that no further run is begun (one is always made). Raises `InvalidInput` where no
    verifier accepts any scheme, and what verifiers raise.
    """
    pilots, tested = list[PilotRun](), under_test(verifiers, {})
    for scheme in schemes:
        if pilots and late():
            break
        accepting = [each.executed for each in tested if each.claims(scheme)]
        with suppress(UnsupportedTree):
            if accepting:
                made = PilotRun(setting, scheme, accepting)
                made.write()
                pilots.append(made)
        if progress:
            progress(1)
    if not pilots:
        names = ", ".join(each.label for each in verifiers)
        trees = ", ".join(dict.fromkeys(map(shape_name, schemes)))
        raise InvalidInput(f"{names}: none of them takes any of the trees ({trees}); name others")
    return pilots


def assert_declared(verifiers: Sequence[NamedVerifier]) -> None:
    """Raises `InvalidInput` for verifiers of the library that are declared lossless on no scheme.

    A verifier of a user's file need not declare anything: its exact law on the tables decides.
    """
    lossy = [each.label for each in verifiers if not each.from_file and not lossless_for(each.verifier.card)]
    if lossy:
        raise InvalidInput(
            f"{', '.join(lossy)}: declared lossless on no drafts; choose among verifiers that keep the target's "
            "distribution"
        )


def by_speed(verifiers: Sequence[NamedVerifier], vocab_size: int) -> tuple[list[NamedVerifier], list[NamedVerifier]]:
    """The verifiers whose cards say that one call takes under a second at this `V`, and the slower ones.

    Raises `InvalidInput` where all are slower.
    """
    late = [each for each in verifiers if (each.verifier.card.max_vocab or vocab_size) < vocab_size]
    if len(late) == len(verifiers):
        names = ", ".join(each.label for each in late)
        raise InvalidInput(
            f"{names}: a call takes more than a second at V = {vocab_size}, their cards say; name others"
        )
    return [each for each in verifiers if each not in late], late


def contexts_of(setting: Setting, tokens: int) -> list[Context]:
    """Contexts at which blocks may begin: within texts of the target after the roots, the same for all candidates."""
    found = []
    for number, root in enumerate(setting.roots):
        for place in range(STARTS):
            coin = setting.coin(text_seed(part_seed(setting.seed, 0), STARTS * number + place))
            length = max((2 * place + 1) * tokens // (2 * STARTS), 1)
            text = autoregressive(setting.pair, root, setting.warp, coin, length, vectors=setting.vectors).tokens
            found.append((*root, *text))
    return found


def without_expectations(pilots: Sequence[PilotRun], known: SharedTrees) -> list[Candidate]:
    """All candidates, with times and bounds but no block efficiency yet."""
    found = []
    for each in pilots:
        cap = known.most(each.scheme)
        for named in each.verifiers:
            times = each.block(named), each.quick(named), each.shared
            found.append(Candidate(named, each.scheme, cap, None, *times, each.draft_passes))
    return found


def with_expectations(
    candidates: Sequence[Candidate], expectations: SharedTrees, progress: Tick | None = None
) -> list[Candidate]:
    """The candidates, with their block efficiency where they could be the fastest."""
    first = [each for each in candidates if each.short]
    first = first or [min(candidates, key=lambda each: each.block_seconds / each.cap)]
    known = _predicted(first, expectations, progress)
    best = max(each.predicted for each in known)
    rest = [each for each in candidates if each not in first]
    open_ = [each for each in rest if could_win(each, best)]
    return [*known, *_predicted(open_, expectations, progress), *(each for each in rest if each not in open_)]


def could_win(candidate: Candidate, best: float) -> bool:
    """Whether the best case of the candidate reaches the best prediction, `best` tokens a second."""
    return candidate.best_case >= MARGIN * best


def split(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """The candidates to measure, the best prediction first, and those left out."""
    best = max(each.predicted for each in candidates)
    to_measure = [each for each in candidates if each.expected is not None and could_win(each, best)]
    return sorted(to_measure, key=lambda each: -each.predicted), [each for each in candidates if each not in to_measure]


def _predicted(candidates: Sequence[Candidate], expectations: SharedTrees, progress: Tick | None) -> list[Candidate]:
    found = expectations.of([each.combination for each in candidates], progress)
    return [replace(each, expected=expected) for each, expected in zip(candidates, found, strict=True)]


#: For estimates of the work: candidates whose guess is above this share of the best one are assumed to be measured.
NEAR = 0.8


def pilot_seconds(candidates: Sequence[Candidate]) -> float:
    """Estimated seconds of the remaining pilot texts of every scheme."""
    shared = sum({each.scheme: each.shared_seconds for each in candidates}.values())
    verifying = sum(each.block_seconds - each.shared_seconds for each in candidates)
    return TEXTS / 2 * ((BLOCKS + ALONE) * shared + BLOCKS * verifying)


def expecting_seconds(candidates: Sequence[Candidate], known: SharedTrees) -> float:
    """Estimated seconds of computing the block efficiencies of the candidates that could be the fastest."""
    best = max(each.guessed for each in candidates)
    wanted = [each for each in candidates if each.short or each.best_case >= MARGIN * best]
    seconds = {each: known.seconds(each.named, each.scheme) for each in wanted}
    sampled = [each for each, exact in seconds.items() if exact is None]
    verifying = sum((each.block_seconds - each.shared_seconds) * runs_of(each) for each in sampled)
    began = perf_counter()
    if sampled:
        known.trial()
    total = len(known.contexts) * known.budget.trees * (perf_counter() - began + verifying)
    return total + sum(exact or 0.0 for exact in seconds.values()) + known.row_seconds


def runs_of(candidate: Candidate) -> float:
    """About how many runs of a verifier the mean over its coin takes on one tree; 1 where no coin is used."""
    verifier, scheme = candidate.combination[0].verifier, candidate.scheme
    return 1.0 if closed_form(verifier) or evaluates_by_depth(verifier, scheme) else 1.0 + scheme.depth


def rounds_seconds(
    candidates: Sequence[Candidate], plain: Mapping[str, float], amount: Amount, overhead: float = 0.0
) -> float:
    """Estimated seconds of all rounds of these candidates, and of those that confirm the chosen one.

    plain: seconds of a text of each plain way. overhead: further seconds of a text of a candidate.
    """
    texts = [ceil(amount.tokens / each.guessed_tokens) * each.block_seconds + overhead for each in candidates]
    others = sum(seconds for way, seconds in plain.items() if way != GENERATE)
    each_round = [
        size * sum(texts) / len(texts) + baselines(size) * plain[GENERATE] + others
        for size in sizes_of(len(candidates), amount.rounds)
    ]
    confirming = amount.rounds * (sum(texts) / len(texts) + plain[GENERATE])
    return amount.roots * (sum(each_round) + confirming)


__all__ = ["Amount", "choose", "open_pair"]

#: The shares of `--seconds` by which the first texts, the pilot texts and the expectations must end.
FIRST, PILOTS, EXPECTED = 0.2, 0.4, 0.6
#: The share of `--seconds` that computing the rows of exact sums may take.
ROWS_SHARE = 0.1
#: The pace is told from the first of so many parts of a stage on.
FIRST_PARTS = 50
#: A new forecast is printed where it differs from the last by at least this factor and this number of seconds.
MIN_RATIO, MIN_SECONDS = 1.25, 2.0


@dataclass
class Forecast:
    """The forecast of the total time. said: for each announcement the seconds passed and the total announced."""

    limit: float | None = None
    started: float = field(default_factory=perf_counter)
    said: list[tuple[float, float]] = field(default_factory=list)

    @property
    def passed(self) -> float:
        return perf_counter() - self.started

    def late(self, share: float = 1.0, more: float = 0.0) -> bool:
        """Whether this share of the limit is over, or will be after `more` further seconds."""
        return self.limit is not None and self.passed + more > share * self.limit

    def update(self, seconds: float, about: str = "") -> None:
        """Take note that about `seconds` are left; printed the first time, and when the forecast changes enough."""
        passed = self.passed
        if self.limit is not None:
            seconds = min(seconds, max(self.limit - passed, 0.0))
        total = passed + seconds
        if not self.said:
            remark(f"{about}: {duration(seconds)} for all of it, if texts take as long as the first ones")
        elif 1 / MIN_RATIO <= total / self.said[-1][1] <= MIN_RATIO or abs(total - self.said[-1][1]) < MIN_SECONDS:
            return
        else:
            remark(f"{about}: {duration(seconds)} to go, {duration(total)} in all (not {duration(self.said[-1][1])})")
        self.said.append((round(passed, 1), round(total, 1)))

    def progress(self, tick: Tick, most: int, expected: float, after: float, parts: str) -> Tick:
        """A progress callback for a stage of at most `most` parts, which updates the forecast as parts finish.

        expected: seconds of the stage; after: seconds of later stages; parts: what the parts are called. Quick parts
        come first, so the time left is the larger of the expected rest and the rest at the pace so far.
        """
        began, last, done = self.passed, self.passed, 0.0

        def tick_and_update(count: float) -> None:
            nonlocal last, done
            tick(count)
            done += count
            spent = self.passed - began
            if self.passed - last >= MIN_SECONDS and most / FIRST_PARTS <= done < most:
                last = self.passed
                left = max(spent / done * (most - done), expected - spent)
                self.update(left + after, f"{done:.0f} of at most {most} {parts}")

        return tick_and_update


@dataclass(frozen=True)
class Chosen:
    """The result. measured: the candidates, in the order of their numbers in `rounds`. left_out: the others.

    confirmed: further rounds of the best of them and `generate` alone. plain: tokens a second of plain generation in
    its pilot run.
    """

    measured: list[Candidate]
    left_out: list[Candidate]
    rounds: Rounds
    confirmed: Rounds
    plain: float


def setting_of(opened: Opened, warp: Sampling, roots: int, seed: int, vectors: str) -> Setting:
    """What all candidates share; raises `InvalidInput` for models that cannot be read as trees."""
    check_pair(opened.pair)
    return setting(opened.pair, warp, opened.roots(roots, roots), seed, vectors)


def planned(schemes: Sequence[DraftScheme], setting: Setting) -> tuple[list[DraftScheme], list[str]]:
    """The distinct schemes, those of Sequoia with a planned tree, and notes on how trees were planned."""
    made = [planned_scheme(scheme, setting) for scheme in schemes]
    different: dict[DraftScheme, DraftScheme] = {}
    for scheme, _ in made:
        path = isinstance(scheme, Delayed) and scheme.K == 1  # for one path L1 does not matter
        different.setdefault(Delayed(1, 0, scheme.depth) if path else scheme, scheme)
    return list(different.values()), [said for _, said in made if said]


def choose(
    opened: Opened,
    named: Sequence[NamedVerifier],
    schemes: Sequence[DraftScheme],
    warp: Sampling,
    amount: Amount,
    seed: int,
    vectors: str,
    clock: str = "wall",
    resume: str | None = None,
) -> dict[str, Any]:
    """The report: rows of all candidates, fastest first, and the recommendation. Raises `InvalidInput`.

    resume: a store of the texts that were timed, which are not timed again.
    """
    shared = setting_of(opened, warp, amount.roots, seed, vectors)
    with measured_by(clock, opened.pair.device), ignored_generation_settings(shared):
        search = Search(shared, named, schemes, amount, clock, Store(resume))
        chosen = search.chosen()
    pair, rounds, confirmed, forecast = opened.pair, chosen.rounds, chosen.confirmed, search.forecast
    search.notes += misfits(rounds, chosen.measured)
    rows = _rows(rounds, chosen.measured, chosen.plain)
    left_out = [
        _fields(each, rounds.rate(LOOP) / chosen.plain)
        for each in sorted(chosen.left_out, key=lambda each: -each.best_case)
    ]
    return {
        "target": pair.names[0],
        "draft": pair.names[1],
        "V": pair.vocab_size,
        "text": opened.corpus.name,
        **opened.root_source,
        "after": str(shared.root_set),
        "sampling": str(warp),
        "device": device_name(pair.device),
        "clock": clock,
        "roots": amount.roots,
        "contexts": STARTS * amount.roots,
        "tokens": amount.tokens,
        "rounds": rounds.count,
        "notes": search.notes,
        "baseline": f"generate of transformers: the same prompts, {warp}, cache on, {amount.tokens} tokens a text, "
        "from call to return",
        "plain_tokens_per_second": rounds.rate(GENERATE),
        "plain": [_plain_fields(rounds, name) for name in plain_writers(shared) if name in rounds.texts],
        "target_passes": {str(size): seconds for size, seconds in search.target_passes},
        "rows": rows,
        "left_out": left_out,
        "confirmed": {"rounds": confirmed.count, **_interval_fields("speedup", confirmed.ratio(best_of(rounds)))},
        "recommendation": recommendation(rounds, confirmed, chosen.measured),
        "paste": generate_call(rounds, confirmed, chosen.measured, warp),
        "announced": forecast.said,
        "estimated_seconds": forecast.said[0][1] if forecast.said else 0.0,
        "seconds": round(forecast.passed, 1),
    }


class Search:
    """All stages of the search, with progress messages; every measurement is stored as soon as it is done."""

    def __init__(
        self,
        setting: Setting,
        named: Sequence[NamedVerifier],
        schemes: Sequence[DraftScheme],
        amount: Amount,
        clock: str = "wall",
        store: Store | None = None,
    ) -> None:
        """Raises `InvalidInput` for verifiers whose cards say that they are lossy, and where all are too slow."""
        self.forecast = Forecast(amount.seconds)
        assert_declared(named)
        self.setting, self.amount, self.clock = setting, amount, clock
        self.schemes, self.notes = planned(schemes, setting)
        self.named, late = by_speed(named, setting.pair.vocab_size)
        self._store = Store(None) if store is None else store
        if late:
            names = ", ".join(each.label for each in late)
            self.notes.append(
                f"left out: {names}, which take over a second a block at V = {setting.pair.vocab_size} by their cards"
            )
        self.plain: dict[str, float] = {}
        self.target_passes: list[list[float]] = []

    def chosen(self) -> Chosen:
        pilots = self._stored("pilots", self._search_fields, self._pilots)
        self.plain, self.target_passes = pilots["plain_seconds"], pilots["target_passes"]
        self._tried = [self.schemes[each] for each in pilots["schemes"]]
        candidates = [
            Candidate(self.named[verifier], self._tried[place], cap, None, *times)
            for verifier, place, cap, *times in pilots["candidates"]
        ]
        expected = self._stored(
            "expected", {**self._search_fields, "pilots": pilots["candidates"]}, partial(self._expected, candidates)
        )
        candidates = [
            replace(
                each,
                expected=None if found is None else AlongText(**{**found, "by_context": tuple(found["by_context"])}),
            )
            for each, found in zip(candidates, expected["expected"], strict=True)
        ]
        to_measure = [candidates[each] for each in expected["worth"]]
        left_out = [each for number, each in enumerate(candidates) if number not in expected["worth"]]
        self.notes += [*pilots["notes"], *expected["notes"]]
        return Chosen(to_measure, left_out, *self._rounds(to_measure), pilots["plain"])

    @property
    def _search_fields(self) -> dict[str, Any]:
        return {
            "clock": self.clock,
            "tokens": self.amount.tokens,
            "verifiers": [each.identity for each in self.named],
            "schemes": [scheme.as_dict() for scheme in self.schemes],
        }

    def _stored(self, kind: str, about: Mapping[str, Any], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """A row of the store, computed now if missing; one `short` of time holds for the same limit only."""
        limited = {**about, "seconds": self.forecast.limit}
        names = [self.setting.key(kind=kind, about=each) for each in (about, limited)]
        stored = [name for name in names if name in self._store]
        if not stored:
            made = make()
            stored = [names[bool(made.get("short"))]]
            self._store.add({"strong_id": stored[0], "kind": kind, **made})
        return self._store[stored[0]]

    @cached_property
    def _expectations(self) -> SharedTrees:
        limit, contexts = self.forecast.limit, contexts_of(self.setting, self.amount.tokens)
        row_seconds = CHOOSE_BUDGET.row_seconds if limit is None else ROWS_SHARE * limit
        return SharedTrees(self.setting, contexts, self._tried, replace(CHOOSE_BUDGET, row_seconds=row_seconds))

    def _pilots(self) -> dict[str, Any]:
        """Seconds of the passes of every scheme and of every verifier on it."""
        forecast, schemes = self.forecast, self.schemes
        remark(f"a first text on each of {len(schemes)} schemes, {len(self.named)} verifiers")
        self.plain, why = plain_ways(plain_writers(self.setting), self.amount.tokens)
        notes = list(why)
        with bar("first texts", len(schemes)) as tick:
            pilots = pilot_runs(self.named, self.setting, schemes, tick, partial(forecast.late, FIRST))
        if forecast.late(FIRST) and len(pilots) < len(schemes):
            notes.append(f"for want of time only the first {len(pilots)} schemes were tried, of {len(schemes)}")
        self._tried = [each.scheme for each in pilots]
        candidates = without_expectations(pilots, self._expectations)
        after = expecting_seconds(candidates, self._expectations) + self._rounds_seconds(near(candidates))
        forecast.update(pilot_seconds(candidates) + after, f"{len(candidates)} candidates")
        plain = PlainPilotRun(self.setting)
        plain.write()
        order = [plain if isinstance(each, str) else each for each in round_order(pilots, [LOOP])]
        began, done = perf_counter(), 0
        with bar("texts", len(order) * TEXTS) as tick:
            while done < TEXTS and not (done and forecast.late(PILOTS)):
                run_pilots(order, 2, tick)
                done += 2
                forecast.update(
                    (perf_counter() - began) / done * (TEXTS - done) + after, f"pilot text {done} of {TEXTS}"
                )
        if done < TEXTS:
            notes.append(f"for want of time there were {done} pilot texts of each scheme, not {TEXTS}")
        candidates = without_expectations(pilots, self._expectations)
        return {
            "schemes": [schemes.index(each) for each in self._tried],
            "candidates": [
                [
                    *(self.named.index(each.named), self._tried.index(each.scheme), each.cap),
                    *(each.block_seconds, each.quick_seconds, each.shared_seconds, each.draft_passes),
                ]
                for each in candidates
            ],
            "plain": plain.rate,
            "plain_seconds": self.plain,
            "target_passes": self._target_passes(),
            "notes": notes,
            "short": notes != why,
        }

    def _target_passes(self) -> list[list[float]]:
        """Numbers of tokens that trees have with their root, at most `SIZES` of them and 1, and seconds of passes."""
        sizes = sorted({scheme.nodes + 1 for scheme in self.schemes})
        asked = {1, *(sizes[round(place * (len(sizes) - 1) / (SIZES - 1))] for place in range(SIZES))}
        pair, context = self.setting.pair, len(self.setting.roots[0])
        return [[*each] for each in measure_passes(pair, pair.target, context, sorted(asked), 3).items()]

    def _expected(self, candidates: Sequence[Candidate]) -> dict[str, Any]:
        """Expected tokens of the candidates that could be the fastest, and which candidates are measured."""
        forecast, notes = self.forecast, list[str]()
        ranked = sorted(candidates, key=lambda each: -each.guessed)
        if forecast.limit is not None:
            while len(ranked) > 1 and forecast.late(EXPECTED, expecting_seconds(ranked, self._expectations)):
                ranked = ranked[: (len(ranked) + 1) // 2]
            if len(ranked) < len(candidates):
                notes.append(
                    f"for want of time tokens were predicted for {len(ranked)} of {len(candidates)} candidates only"
                )
        after = self._rounds_seconds(near(ranked))
        expecting, contexts = expecting_seconds(ranked, self._expectations), STARTS * self.amount.roots
        forecast.update(expecting + after, "after the pilot texts")
        row_seconds = self._expectations.row_seconds
        expecting -= row_seconds
        if row_seconds > MIN_SECONDS:
            with bar("rows after contexts", contexts) as tick:
                told = forecast.progress(tick, contexts, row_seconds, expecting + after, "contexts are read")
                self._expectations.read(told)
        most = len(ranked) * contexts
        with bar("tokens a block (contexts, at most)", most) as tick:
            tick_and_update = forecast.progress(tick, most, expecting, after, "expectations")
            known = {
                each.combination: each
                for each in with_expectations(ranked, self._expectations, progress=tick_and_update)
            }
        candidates = [known.get(each.combination, each) for each in candidates]
        to_measure, _ = split(candidates)
        fewest = replace(self.amount, rounds=2)
        if forecast.limit is not None:
            kept = to_measure
            while len(kept) > 1 and forecast.late(1.0, self._rounds_seconds(kept, fewest)):
                kept = kept[: (len(kept) + 1) // 2]
            if len(kept) < len(to_measure):
                notes.append(
                    f"for want of time {len(kept)} of {len(to_measure)} candidates were measured, the best predictions"
                )
            to_measure = kept
        remark(f"{len(candidates) - len(to_measure)} left out; {len(to_measure)} are measured")
        return {
            "expected": [None if each.expected is None else asdict(each.expected) for each in candidates],
            "worth": [candidates.index(each) for each in to_measure],
            "notes": notes,
            "short": bool(notes),
        }

    def _rounds_seconds(self, candidates: Sequence[Candidate], amount: Amount | None = None) -> float:
        amount = amount or self.amount
        overhead = max(self.plain[GENERATE] - self.plain[LOOP], 0.0)
        return rounds_seconds(candidates, self.plain, amount, overhead)

    def _rounds(self, to_measure: Sequence[Candidate]) -> tuple[Rounds, Rounds]:
        """The timed rounds of the candidates that are measured, and those that confirm the best of them."""
        amount, forecast = self.amount, self.forecast
        sizes = sizes_of(len(to_measure), amount.rounds)
        writers: dict[int | str, Writer] = {
            name: writer for name, writer in plain_writers(self.setting).items() if name in self.plain
        }
        plain = len(writers)
        writers |= {number: (self.setting, each.combination) for number, each in enumerate(to_measure)}
        turns = [size + baselines(size) + plain - 1 for size in sizes] + [2] * amount.rounds
        seconds = list[float]()  # of a turn, in the rounds that are run now and not loaded

        def step(about: Mapping[str, Any], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
            def timed() -> dict[str, Any]:
                if not seconds:
                    rest = replace(amount, rounds=max(len(sizes) - about["round"], 0))
                    forecast.update(self._rounds_seconds(to_measure, rest), f"{len(to_measure)} candidates")
                began = perf_counter()
                made = make()
                seconds.append((perf_counter() - began) / turns[about["round"]])
                return made

            return self._stored("round", {**about, "clock": self.clock}, timed)

        def done(rounds: Rounds, left: int) -> bool:
            number = rounds.count
            if number == len(sizes) or not seconds:
                return number == len(sizes)
            if forecast.late(1.0, seconds[-1] * (turns[number] + 4)) and number > 1:
                self.notes.append(f"for want of time there were {number} rounds, not {len(sizes)}")
                return True
            forecast.update(seconds[-1] * sum(turns[number:]), f"after round {number}, {left} candidates left")
            return False

        def confirmed(number: int) -> bool:
            if seconds and number < amount.rounds and forecast.late(1.0, 2 * seconds[-1]):
                self.notes.append(f"for want of time the best was confirmed in {number} of {amount.rounds} rounds")
                return True
            return False

        with bar("texts", sum(turns) * amount.roots) as tick:
            expected = [each.expected for each in to_measure if each.expected]
            rounds = successive_halving(writers, expected, amount, step, done, tick)
            return rounds, confirmation(writers, rounds, best_of(rounds), amount, step, confirmed, tick)


def near(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that are assumed to be measured, before `E` is computed."""
    best = max(each.guessed for each in candidates)
    return [each for each in candidates if each.guessed >= NEAR * best]


def recommendation(rounds: Rounds, confirmed: Rounds, measured: Sequence[Candidate]) -> str:
    """One line: what to use, its speed-up over `generate`, and which candidates are not distinguishable from it.

    confirmed: the rounds of the best candidate and `generate` alone, from which the speed-up is.
    """
    said: dict[int | str, str] = {number: str(measured[number]) for number in rounds.order}
    if ASSISTED in rounds.texts:
        said[ASSISTED] = f"{ASSISTED} of transformers"
    first = best_of(rounds)
    found = confirmed.ratio(first)
    interval = f"{found.mean:.2f} times the tokens a second of generate (95 %: {found.low:.2f} to {found.high:.2f})"
    rest = [who for who in said if who != first]
    if found.high < 1:
        open_ = [said[who] for who in rest if rounds.ratio(who).high >= 1]
        unless = f"; open, whether faster than generate: {', '.join(open_)}" if open_ else ""
        return f"no speculation: the best, {said[first]}, has {interval}{unless}"
    similar = [said[who] for who in rest if rounds.ratio(who, first).high >= 1]
    also = f"; not distinguishable from it: {', '.join(similar)}" if similar else ""
    sure = "" if found.low > 1 else "; whether it is faster than generate is open"
    return f"{said[first]}: {interval}{sure}{also}"


#: So many sizes of passes of the target are told.
SIZES = 4
#: A measured block efficiency this many standard errors from the estimate is reported.
MISFIT_ERRORS = 5.0


def misfits(rounds: Rounds, measured: Sequence[Candidate]) -> list[str]:
    """Lines about candidates whose measured block efficiency differs from the estimate by more than chance."""
    far = {number: rounds.block_tokens(number).misfit for number in rounds.order}
    return [
        f"{measured[number]}: {_measured(rounds, number):.2f} tokens a block measured, "
        f"{rounds.block_tokens(number).mean:.2f} estimated ({errors:+.1f} standard errors); ask `draftproof validate`"
        for number, errors in far.items()
        if abs(errors) > MISFIT_ERRORS
    ]


def best_of(rounds: Rounds) -> int | str:
    """The fastest of the candidates in all rounds and assisted generation of transformers."""
    contenders: list[int | str] = [*rounds.order, *([ASSISTED] if ASSISTED in rounds.texts else [])]
    return max(contenders, key=lambda who: rounds.ratio(who).mean)


def generate_call(rounds: Rounds, confirmed: Rounds, measured: Sequence[Candidate], warp: Sampling) -> str:
    """The call of `generate` that uses the best candidate; plain `generate` where it was confirmed to be slower."""
    first = best_of(rounds)
    asked = ", ".join(f"{name}={value}" for name, value in sampling_of(warp).items())
    given = [asked]
    if confirmed.ratio(first).high >= 1:
        given = ["assistant_model=draft", asked]
        if not isinstance(first, str):
            best = measured[first]
            own = warp.of("draft")
            draft_option = "" if own == warp.of("target") else f', draft_sampling="{own.text}"'
            ours = f'generate_with("{best.named.spec}", "{scheme_spec(best.scheme)}"{draft_option})'
            given.insert(1, f"custom_generate={ours}")
    return f"target.generate(**inputs, {', '.join(given)}, max_new_tokens=..)"


def _plain_fields(rounds: Rounds, way: str) -> dict[str, Any]:
    found = rounds.ratio(way)
    return {
        "way": way,
        "tokens_per_second": rounds.rate(way),
        **_interval_fields("speedup", found),
        **_interval_fields("first", rounds.ratio(rounds.order[0], way)),
    }


def _interval_fields(name: str, interval: Interval) -> dict[str, float]:
    return {f"{name}{end}": value for end, value in zip(("", "_low", "_high"), interval, strict=True)}


def _fields(candidate: Candidate, level: float) -> dict[str, Any]:
    """The fields of a candidate. level: speed of plain generation in the rounds over that in its pilot run.

    Predictions are scaled by it, so that a change of the machine's speed between the two does not matter.
    """
    expected = candidate.expected
    return {
        "verifier": candidate.named.label,
        "scheme": candidate.scheme.as_dict(),
        "most_block_efficiency": candidate.cap,
        "expected_block_efficiency": None if expected is None else expected.mean,
        "expected_error": None if expected is None else expected.error,
        "expected_spread": None if expected is None else expected.spread,
        "expected_from": None if expected is None else expected.how,
        "predicted_tokens_per_second": None if expected is None else level * candidate.predicted,
        "most_tokens_per_second": level * candidate.best_case,
        "block_milliseconds": 1e3 * candidate.block_seconds,
        "verification_milliseconds": 1e3 * (candidate.block_seconds - candidate.shared_seconds),
        "draft_passes": candidate.draft_passes,
    }


def _rows(rounds: Rounds, measured: Sequence[Candidate], plain: float) -> list[dict[str, Any]]:
    """The rows of measured candidates: those of all rounds in their order, then the others, the fastest first."""
    level, order = rounds.rate(LOOP) / plain, rounds.order
    others = sorted(
        (number for number in range(len(measured)) if number not in order), key=lambda each: -rounds.ratio(each).mean
    )
    rows = []
    for number in (*order, *others):
        tokens = rounds.block_tokens(number)
        rows.append(
            {
                **_fields(measured[number], level),
                "measured_block_efficiency": _measured(rounds, number),
                "block_efficiency": tokens.mean,
                "block_efficiency_error": tokens.error,
                "tokens_per_second": rounds.rate(number),
                "measured_tokens_per_second": rounds.measured(number),
                "all_rounds": number in order,
                **_interval_fields("speedup", rounds.ratio(number)),
                "break_even": tokens.mean / rounds.ratio(number).mean,
                **_interval_fields("of_first", rounds.ratio(number, order[0])),
                "distinguishable": rounds.ratio(number, order[0]).high < 1,
                "same_law_as": [str(measured[other]) for other in rounds.law_of(number) if other != number],
            }
        )
    return rows


def _measured(rounds: Rounds, number: int) -> float:
    turns = [each for texts in rounds.texts[number] for each in texts]
    return sum(each.tokens for each in turns) / sum(each.blocks for each in turns)
