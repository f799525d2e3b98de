"""Which scheme and verifier for a pair: what each could bring at best, and which are therefore worth measuring.

A candidate brings `E / T` tokens a second: `E` is its block efficiency after contexts of texts, `T` the seconds of a
block in the loop, from a pilot run. At best it brings the upper end of `E`, or where `E` is not known what no lossless
verifier exceeds (`most_tokens`), over blocks as quick as the quickest quarter. That is a rule for what to measure, no
proof: times are those of few texts, and the best prediction is one of many. `E` is computed for verifiers whose
verification is short beside the passes; of the others for those that could still be the fastest.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil
from time import perf_counter
from typing import Any

from draftproof.experiments.inputs.schemes import shape_name
from draftproof.experiments.inputs.verifiers import NamedVerifier, Player
from draftproof.experiments.models.expect.expected import AlongText, SharedTrees, planned_scheme
from draftproof.experiments.models.loop.generation import autoregressive
from draftproof.experiments.models.loop.setting import Setting, device_name, setting, under_test
from draftproof.experiments.models.loop.supported import check_pair
from draftproof.experiments.models.loop.timing import measured_by
from draftproof.experiments.models.loop.vectors import part_seed, text_seed
from draftproof.experiments.models.measure.halving import (
    ALONE,
    BLOCKS,
    TEXTS,
    Halving,
    PilotRun,
    PlainPilotRun,
    beside_plain,
    run_pilots,
    successive_halving,
    turns_of,
)
from draftproof.experiments.models.pair.opened import Opened, open_pair
from draftproof.experiments.models.pair.warp import Warp
from draftproof.experiments.shared.progress import Tick, bar, duration, remark
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import InvalidInput, UnsupportedTree
from draftproof.simulator.laws.estimator import closed_form
from draftproof.simulator.protocol import Context, DraftScheme

#: Contexts from each root after which block efficiency is asked for, each the end of a text of its own.
STARTS = 4
#: Times are noisy: only what is this far below the best prediction is left out.
ROOM = 0.95
#: Verification that takes at most this share of the rest of a block is short.
SHORT = 0.25
#: For estimates of the work: the share of the drafts that could be accepted which are accepted.
USUAL = 0.8


@dataclass(frozen=True)
class Candidate:
    """A verifier on a scheme. cap: tokens a block that none exceeds; expected: None where it was not worth computing.

    block, quick: seconds of a block, on average and in the quickest quarter; shared: of the former, all but verifying.
    """

    named: NamedVerifier
    scheme: DraftScheme
    cap: float
    expected: AlongText | None
    block: float
    quick: float
    shared: float
    draft_passes: float

    @property
    def player(self) -> Player:
        return self.named, self.scheme

    @property
    def tokens(self) -> float:
        """Of a block, at most; of an estimate its upper end."""
        return self.cap if self.expected is None else min(self.cap, self.expected.high)

    @property
    def most(self) -> float:
        return self.tokens / self.quick

    @property
    def predicted(self) -> float:
        """Tokens a second; 0 where nobody knows."""
        return 0.0 if self.expected is None else self.expected.mean / self.block

    @property
    def guessed(self) -> float:
        """The same before `E` is known: for estimates of the work."""
        return self.usual / self.block

    @property
    def usual(self) -> float:
        """Tokens of a block, guessed."""
        return 1 + USUAL * (self.cap - 1)

    @property
    def short(self) -> bool:
        """Whether verification is short beside the rest of a block."""
        return self.block - self.shared <= SHORT * self.shared

    def __str__(self) -> str:
        return f"{self.named.label} on {self.scheme}"


def pilot_runs(
    setting: Setting, verifiers: Sequence[NamedVerifier], schemes: Sequence[DraftScheme], progress: Tick | None = None
) -> list[PilotRun]:
    """One for every scheme that a verifier is for, by its card and by its answer, after its first text.

    Raises `InvalidInput` where there is none, and what verifiers raise.
    """
    pilots, tested = [], under_test(verifiers, {})
    for scheme in schemes:
        takers = [each.executed for each in tested if each.claims(scheme)]
        with suppress(UnsupportedTree):
            if takers:
                made = PilotRun(setting, scheme, takers)
                made.write()
                pilots.append(made)
        if progress:
            progress(1)
    if not pilots:
        names, trees = ", ".join(each.label for each in verifiers), ", ".join(map(shape_name, schemes))
        raise InvalidInput(f"{names}: none of them takes any of the trees ({trees}); name others")
    return pilots


def assert_declared(verifiers: Sequence[NamedVerifier]) -> None:
    """Raises `InvalidInput` for those of the list that claim to be lossless on no drafts at all.

    What a file holds need not claim anything: it is found out on the tables.
    """
    lossy = [each.label for each in verifiers if not each.from_file and not lossless_for(each.verifier.card)]
    if lossy:
        raise InvalidInput(
            f"{', '.join(lossy)}: declared lossless on no drafts; choose among verifiers that keep the target's "
            "distribution"
        )


def in_time(verifiers: Sequence[NamedVerifier], vocab_size: int) -> tuple[list[NamedVerifier], list[NamedVerifier]]:
    """Those whose cards say that one call takes under a second at this `V`, and the others.

    Raises `InvalidInput` where there are only others.
    """
    late = [each for each in verifiers if (each.verifier.card.max_vocab or vocab_size) < vocab_size]
    if len(late) == len(verifiers):
        names = ", ".join(each.label for each in late)
        raise InvalidInput(
            f"{names}: a call takes more than a second at V = {vocab_size}, their cards say; name others"
        )
    return [each for each in verifiers if each not in late], late


def contexts_of(setting: Setting, tokens: int) -> list[Context]:
    """Where blocks may begin: within texts of the target after the roots, the same for all candidates."""
    found = []
    for number, root in enumerate(setting.roots):
        for place in range(STARTS):
            coin = setting.coin(text_seed(part_seed(setting.seed, 0), STARTS * number + place))
            length = max((2 * place + 1) * tokens // (2 * STARTS), 1)
            text = autoregressive(setting.pair, root, setting.warp, coin, length, vectors=setting.vectors).tokens
            found.append((*root, *text))
    return found


def unweighed(pilots: Sequence[PilotRun], expectations: SharedTrees) -> list[Candidate]:
    """All candidates without their block efficiency."""
    found = []
    for each in pilots:
        cap = expectations.most(each.scheme)
        for named in each.verifiers:
            times = each.block(named), each.quick(named), each.shared
            found.append(Candidate(named, each.scheme, cap, None, *times, each.draft_passes))
    return found


def weighed(
    candidates: Sequence[Candidate],
    expectations: SharedTrees,
    everything: bool = False,
    progress: Tick | None = None,
) -> list[Candidate]:
    """The candidates, with their block efficiency where they could be the fastest, or for `everything`."""
    first = [each for each in candidates if each.short or everything] or [
        min(candidates, key=lambda each: each.block / each.cap)
    ]
    known = _asked(first, expectations, progress)
    best = max(each.predicted for each in known)
    rest = [each for each in candidates if each not in first]
    worth = [each for each in rest if could_win(each, best)]
    return [*known, *_asked(worth, expectations, progress), *(each for each in rest if each not in worth)]


def could_win(candidate: Candidate, best: float) -> bool:
    """Whether it may bring more than what brings `best` tokens a second as predicted."""
    return candidate.most >= ROOM * best


def split(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """Those worth measuring, the best prediction first, and those left out."""
    best = max(each.predicted for each in candidates)
    worth = [each for each in candidates if each.expected is not None and could_win(each, best)]
    return sorted(worth, key=lambda each: -each.predicted), [each for each in candidates if each not in worth]


def _asked(candidates: Sequence[Candidate], expectations: SharedTrees, progress: Tick | None) -> list[Candidate]:
    found = expectations.of([each.player for each in candidates], progress)
    return [replace(each, expected=expected) for each, expected in zip(candidates, found, strict=True)]


#: Before `E` is known: guesses this far below the best one are expected in the halving, too.
NEAR = 0.8


def expected_seconds(
    candidates: Sequence[Candidate], expectations: SharedTrees, roots: int, tokens: int, rounds: int
) -> float:
    """Of all that comes after the first texts, taking one tree as a trial."""
    rounds_ = halving_seconds(candidates, roots, tokens, rounds)
    return pilot_seconds(candidates) + expecting_seconds(candidates, expectations) + rounds_


def pilot_seconds(candidates: Sequence[Candidate]) -> float:
    """The other texts of every scheme, each verifier on every tree."""
    shared = sum({each.scheme: each.shared for each in candidates}.values())
    verifying = sum(each.block - each.shared for each in candidates)
    return TEXTS / 2 * ((BLOCKS + ALONE) * shared + BLOCKS * verifying)


def expecting_seconds(candidates: Sequence[Candidate], expectations: SharedTrees) -> float:
    """The block efficiencies of those that could be the fastest."""
    best = max(each.guessed for each in candidates)
    wanted = [each for each in candidates if each.short or each.most >= ROOM * best]
    seconds = {each: expectations.seconds(each.named, each.scheme) for each in wanted}
    sampled = [each for each, exact in seconds.items() if exact is None]
    calls = len(expectations.contexts) * expectations.budget.trees
    verifying = sum((each.block - each.shared) * runs_of(each) for each in sampled)
    began = perf_counter()
    if sampled:
        expectations.trial()
    return sum(exact or 0.0 for exact in seconds.values()) + calls * (perf_counter() - began + verifying)


def runs_of(candidate: Candidate) -> float:
    """How often a verifier runs on one tree for its mean over the coin, roughly: once where that has a closed form."""
    return 1.0 if closed_form(candidate.named.verifier) else 1.0 + candidate.scheme.depth


def halving_seconds(candidates: Sequence[Candidate], roots: int, tokens: int, rounds: int) -> float:
    """All turns of those that may be measured."""
    best = max(each.guessed for each in candidates)
    near = [each for each in candidates if each.guessed >= NEAR * best]
    mean = sum(roots * ceil(tokens / each.usual) * each.block for each in near) / len(near)
    return mean * turns_of(len(near), rounds)


__all__ = ["Amount", "choose", "open_pair"]


@dataclass(frozen=True)
class Amount:
    """roots: contexts of the text. tokens: after each root in a turn. rounds: of successive halving."""

    roots: int = 8
    tokens: int = 32
    rounds: int = 5


@dataclass(frozen=True)
class Chosen:
    """What came out. worth: candidates that were measured, by their numbers there; left_out: the others.

    plain: tokens a second without drafts in the pilot run; estimated: seconds, before the work;
    notes: what was planned from what, and which verifiers had no candidate.
    """

    worth: list[Candidate]
    left_out: list[Candidate]
    halving: Halving
    plain: float
    estimated: float
    notes: list[str]


def setting_of(opened: Opened, warp: Warp, roots: int, seed: int, vectors: str) -> Setting:
    """What all candidates share; raises `InvalidInput` for models that cannot be read as trees."""
    check_pair(opened.pair)
    return setting(opened.pair, warp, opened.roots(roots), seed, vectors)


def planned(schemes: Sequence[DraftScheme], where: Setting) -> tuple[list[DraftScheme], list[str]]:
    """The schemes, each once, with a tree for those that are planned from a measurement, and in words from which."""
    made = [planned_scheme(scheme, where) for scheme in schemes]
    different: dict[DraftScheme, DraftScheme] = {}
    for scheme, _ in made:
        path = isinstance(scheme, Delayed) and scheme.K == 1  # wherever it is said to branch
        different.setdefault(Delayed(1, 0, scheme.depth) if path else scheme, scheme)
    return list(different.values()), [said for _, said in made if said]


def choose(
    opened: Opened,
    named: Sequence[NamedVerifier],
    schemes: Sequence[DraftScheme],
    warp: Warp,
    amount: Amount,
    seed: int,
    vectors: str,
    clock: str = "wall",
) -> dict[str, Any]:
    """The report: rows of all candidates, fastest first, and the recommendation. Raises `InvalidInput`."""
    started = time.perf_counter()
    where = setting_of(opened, warp, amount.roots, seed, vectors)
    with measured_by(clock, opened.pair.device):
        chosen = chosen_of(where, named, schemes, amount)
    pair, halving = opened.pair, chosen.halving
    return {
        "target": pair.names[0],
        "draft": pair.names[1],
        "V": pair.vocab_size,
        "text": opened.corpus.name,
        "sampling": str(warp),
        "device": device_name(pair.device),
        "clock": clock,
        "roots": amount.roots,
        "tokens": amount.tokens,
        "rounds": amount.rounds,
        "notes": chosen.notes,
        "plain_tokens_per_second": halving.rate(None),
        "rows": _rows(halving, chosen.worth, chosen.plain),
        "left_out": [
            _fields(each, halving.rate(None) / chosen.plain)
            for each in sorted(chosen.left_out, key=lambda each: -each.most)
        ],
        "recommendation": recommendation(halving, chosen.worth),
        "estimated_seconds": round(chosen.estimated, 1),
        "seconds": round(time.perf_counter() - started, 1),
    }


def chosen_of(where: Setting, named: Sequence[NamedVerifier], schemes: Sequence[DraftScheme], amount: Amount) -> Chosen:
    """The whole way, with remarks; the longer parts have bars."""
    assert_declared(named)
    schemes, said = planned(schemes, where)
    named, late = in_time(named, where.pair.vocab_size)
    if late:
        names = ", ".join(each.label for each in late)
        said.append(
            f"left out: {names}, which take over a second a block at V = {where.pair.vocab_size} by their cards"
        )
    remark(f"a first text on each of {len(schemes)} schemes, {len(named)} verifiers")
    began = time.perf_counter()
    with bar("first texts", len(schemes)) as tick:
        pilots = pilot_runs(where, named, schemes, tick)
    expectations = SharedTrees(where, contexts_of(where, amount.tokens), [each.scheme for each in pilots])
    candidates = unweighed(pilots, expectations)
    rest = expected_seconds(candidates, expectations, amount.roots, amount.tokens, amount.rounds)
    remark(f"{len(candidates)} candidates: {duration(rest)} for all of it, if they verify as quickly as at first")
    estimated = time.perf_counter() - began + rest
    plain = PlainPilotRun(where)
    plain.write()
    turn = [plain if each is None else each for each in beside_plain(pilots)]
    with bar("texts", len(turn) * TEXTS) as tick:
        run_pilots(turn, TEXTS, tick)
    candidates = unweighed(pilots, expectations)
    with bar("tokens a block (contexts, at most)", len(candidates) * len(expectations.contexts)) as tick:
        candidates = weighed(candidates, expectations, progress=tick)
    worth, left_out = split(candidates)
    turns = turns_of(len(worth), amount.rounds)
    remark(f"{len(left_out)} left out by bounds; {len(worth)} against each other, {turns} turns")
    with bar("texts", turns * amount.roots) as tick:
        expected = [each.expected for each in worth if each.expected is not None]
        halving = successive_halving(
            where, [each.player for each in worth], expected, amount.tokens, amount.rounds, tick
        )
    return Chosen(worth, left_out, halving, plain.rate, estimated, said)


def recommendation(halving: Halving, worth: Sequence[Candidate]) -> str:
    """One line: what to use, what it brings over plain generation, and what is as good."""
    first = halving.order[0]
    mean, low, high = halving.ratio(first)
    interval = f"{mean:.2f} times the tokens a second of plain generation (95 %: {low:.2f} to {high:.2f})"
    if high < 1:
        open_ = [str(worth[each]) for each in halving.order[1:] if halving.ratio(each)[2] >= 1]
        unless = f"; open, whether faster than plain generation: {', '.join(open_)}" if open_ else ""
        return f"no speculation: the best, {worth[first]}, has {interval}{unless}"
    level = [worth[each] for each in halving.order[1:] if halving.ratio(each, first)[2] >= 1]
    also = f"; not told apart from it: {', '.join(map(str, level))}" if level else ""
    sure = "" if low > 1 else "; whether it is faster than plain generation is open"
    return f"{worth[first]}: {interval}{sure}{also}"


def _fields(candidate: Candidate, level: float) -> dict[str, Any]:
    """level: how many times as quick as in the pilot run plain generation was when this was measured.

    So a prediction is how many times the speed of plain generation is expected: that of the machine cancels.
    """
    expected = candidate.expected
    return {
        "verifier": candidate.named.label,
        "scheme": candidate.scheme.as_dict(),
        "most_block_efficiency": candidate.cap,
        "expected_block_efficiency": None if expected is None else expected.mean,
        "expected_error": None if expected is None else expected.error,
        "expected_spread": None if expected is None else expected.spread,
        "predicted_tokens_per_second": None if expected is None else level * candidate.predicted,
        "most_tokens_per_second": level * candidate.most,
        "block_milliseconds": 1e3 * candidate.block,
        "verification_milliseconds": 1e3 * (candidate.block - candidate.shared),
        "draft_passes": candidate.draft_passes,
    }


def _rows(halving: Halving, worth: Sequence[Candidate], plain: float) -> list[dict[str, Any]]:
    """Those of all rounds in their order, then the others that were measured, the fastest first."""

    def fields(number: int) -> dict[str, Any]:
        level = halving.rate(None, len(halving.turns[number])) / plain
        return {**_fields(worth[number], level), **_measured(halving, number)}

    rows = []
    for number in halving.order:
        mean, low, high = halving.ratio(number)
        final = {"all_rounds": True, "speedup": mean, "speedup_low": low, "speedup_high": high}
        rows.append({**fields(number), **final})
    others = [number for number in range(len(worth)) if number not in halving.order]
    others.sort(key=lambda number: -halving.rate(number))
    return rows + [{**fields(each), "all_rounds": False} for each in others]


def _measured(halving: Halving, number: int) -> dict[str, Any]:
    turns = halving.turns[number]
    blocks = sum(each.blocks for each in turns)
    return {
        "block_efficiency": sum(each.tokens for each in turns) / blocks,
        "tokens_per_second": halving.rate(number),
        "measured_tokens_per_second": halving.measured(number),
        "block_milliseconds": 1e3 * halving.block(number),
        "passes_milliseconds": 1e3 * sum(each.parts["draft"] + each.parts["target"] for each in turns) / blocks,
        "verification_milliseconds": 1e3 * sum(each.parts["verify"] for each in turns) / blocks,
    }
