"""From a pair to an answer: what is rehearsed, measured and left out, as plain data."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from draftproof.experiments.models.loop.supported import check_pair
from draftproof.experiments.models.loop.timing import measured_by
from draftproof.experiments.models.pair.opened import Opened, open_pair
from draftproof.experiments.models.pair.roots import roots_of
from draftproof.experiments.models.pair.warp import Warp
from draftproof.experiments.models.predicted.tables import root_case
from draftproof.experiments.models.speed import choosing
from draftproof.experiments.models.speed.choosing import Candidate
from draftproof.experiments.models.speed.estimate import expected_seconds
from draftproof.experiments.models.speed.expected import Expectations
from draftproof.experiments.models.speed.race import Race, beside_plain, raced, turns_of
from draftproof.experiments.models.speed.rehearsal import TEXTS, PlainRehearsal, rehearse
from draftproof.experiments.models.validation.contest import Setting, device_name, setting
from draftproof.experiments.models.validation.planning import planned_scheme
from draftproof.experiments.models.validation.validation import MOST_ENTRIES
from draftproof.experiments.shared.names import NamedVerifier
from draftproof.experiments.shared.progress import bar, duration, remark
from draftproof.simulator.drafts import Delayed, Sequoia
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import table_entries
from draftproof.simulator.protocol import DraftScheme

__all__ = ["Amount", "choose", "open_pair"]


@dataclass(frozen=True)
class Amount:
    """roots: contexts of the text. tokens: after each root in a turn. rounds: of the race."""

    roots: int = 8
    tokens: int = 32
    rounds: int = 5


@dataclass(frozen=True)
class Chosen:
    """What came out. worth: candidates that were in the race, by their numbers there; left_out: the others.

    plain: tokens a second without drafts in the rehearsal; estimated: seconds, before the work;
    notes: what was planned from what, and which verifiers had no candidate.
    """

    worth: list[Candidate]
    left_out: list[Candidate]
    race: Race
    plain: float
    estimated: float
    notes: list[str]


def setting_of(opened: Opened, warp: Warp, roots: int, seed: int, vectors: str) -> Setting:
    """What all candidates share; raises `InvalidInput` for models that cannot be read as trees."""
    check_pair(opened.pair)
    return setting(opened.pair, warp, roots_of(opened.held_out, roots), seed, vectors)


def planned(schemes: Sequence[DraftScheme], where: Setting) -> tuple[list[DraftScheme], list[str]]:
    """The schemes, each once, with a tree for those that are planned from a measurement, and in words from which."""
    made = [planned_scheme(scheme, where, _tables(scheme, where)) for scheme in schemes]
    different: dict[DraftScheme, DraftScheme] = {}
    for scheme, _ in made:
        path = isinstance(scheme, Delayed) and scheme.K == 1  # wherever it is said to branch
        different.setdefault(Delayed(1, 0, scheme.depth) if path else scheme, scheme)
    return list(different.values()), [said for _, said in made if said]


def _tables(scheme: DraftScheme, where: Setting) -> list[Case] | None:
    """After each root, for a scheme that is planned on them; None where they would be too large."""
    if not isinstance(scheme, Sequoia) or table_entries(where.pair.vocab_size, scheme.depth) > MOST_ENTRIES:
        return None
    return [root_case(where.pair, where.warp, root, max(scheme.depth, 1)) for root in where.roots]


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
    pair, race = opened.pair, chosen.race
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
        "plain_tokens_per_second": race.rate(None),
        "rows": _rows(race, chosen.worth, chosen.plain),
        "left_out": [
            _fields(each, race.rate(None) / chosen.plain)
            for each in sorted(chosen.left_out, key=lambda each: -each.most)
        ],
        "recommendation": recommendation(race, chosen.worth),
        "estimated_seconds": round(chosen.estimated, 1),
        "seconds": round(time.perf_counter() - started, 1),
    }


def chosen_of(where: Setting, named: Sequence[NamedVerifier], schemes: Sequence[DraftScheme], amount: Amount) -> Chosen:
    """The whole way, with remarks; the longer parts have bars."""
    choosing.assert_declared(named)
    schemes, said = planned(schemes, where)
    named, late = choosing.in_time(named, where.pair.vocab_size)
    if late:
        names = ", ".join(each.label for each in late)
        said.append(
            f"left out: {names}, which take over a second a block at V = {where.pair.vocab_size} by their cards"
        )
    remark(f"a first text on each of {len(schemes)} schemes, {len(named)} verifiers")
    began = time.perf_counter()
    with bar("first texts", len(schemes)) as tick:
        rehearsed = choosing.rehearsals(where, named, schemes, tick)
    expectations = Expectations(where, choosing.contexts_of(where, amount.tokens), [each.scheme for each in rehearsed])
    candidates = choosing.unweighed(rehearsed, expectations)
    rest = expected_seconds(candidates, expectations, amount.roots, amount.tokens, amount.rounds)
    remark(f"{len(candidates)} candidates: {duration(rest)} for all of it, if they verify as quickly as at first")
    estimated = time.perf_counter() - began + rest
    plain = PlainRehearsal(where)
    plain.write()
    turn = [plain if each is None else each for each in beside_plain(rehearsed)]
    with bar("texts", len(turn) * TEXTS) as tick:
        rehearse(turn, TEXTS, tick)
    candidates = choosing.unweighed(rehearsed, expectations)
    with bar("tokens a block (contexts, at most)", len(candidates) * len(expectations.contexts)) as tick:
        candidates = choosing.weighed(candidates, expectations, progress=tick)
    worth, left_out = choosing.split(candidates)
    turns = turns_of(len(worth), amount.rounds)
    remark(f"{len(left_out)} left out by bounds; {len(worth)} against each other, {turns} turns")
    with bar("texts", turns * amount.roots) as tick:
        expected = [each.expected for each in worth if each.expected is not None]
        race = raced(where, [each.player for each in worth], expected, amount.tokens, amount.rounds, tick)
    return Chosen(worth, left_out, race, plain.rate, estimated, said)


def recommendation(race: Race, worth: Sequence[Candidate]) -> str:
    """One line: what to use, what it brings over plain generation, and what is as good."""
    first = race.order[0]
    mean, low, high = race.ratio(first)
    interval = f"{mean:.2f} times the tokens a second of plain generation (95 %: {low:.2f} to {high:.2f})"
    if high < 1:
        open_ = [str(worth[each]) for each in race.order[1:] if race.ratio(each)[2] >= 1]
        unless = f"; open, whether faster than plain generation: {', '.join(open_)}" if open_ else ""
        return f"no speculation: the best, {worth[first]}, has {interval}{unless}"
    level = [worth[each] for each in race.order[1:] if race.ratio(each, first)[2] >= 1]
    also = f"; not told apart from it: {', '.join(map(str, level))}" if level else ""
    sure = "" if low > 1 else "; whether it is faster than plain generation is open"
    return f"{worth[first]}: {interval}{sure}{also}"


def _fields(candidate: Candidate, level: float) -> dict[str, Any]:
    """level: how many times as quick as in the rehearsal plain generation was when this was measured.

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


def _rows(race: Race, worth: Sequence[Candidate], plain: float) -> list[dict[str, Any]]:
    """Finalists in their order, then the others that were measured, the fastest first."""

    def fields(number: int) -> dict[str, Any]:
        level = race.rate(None, len(race.turns[number])) / plain
        return {**_fields(worth[number], level), **_measured(race, number)}

    rows = []
    for number in race.order:
        mean, low, high = race.ratio(number)
        final = {"finalist": True, "speedup": mean, "speedup_low": low, "speedup_high": high}
        rows.append({**fields(number), **final})
    others = [number for number in range(len(worth)) if number not in race.order]
    others.sort(key=lambda number: -race.rate(number))
    return rows + [{**fields(each), "finalist": False} for each in others]


def _measured(race: Race, number: int) -> dict[str, Any]:
    turns = race.turns[number]
    blocks = sum(each.blocks for each in turns)
    return {
        "block_efficiency": sum(each.tokens for each in turns) / blocks,
        "tokens_per_second": race.rate(number),
        "measured_tokens_per_second": race.measured(number),
        "block_milliseconds": 1e3 * race.block(number),
        "passes_milliseconds": 1e3 * sum(each.passing for each in turns) / blocks,
        "verification_milliseconds": 1e3 * sum(each.verifying for each in turns) / blocks,
    }
