"""From a pair to an answer: what is tried, measured and left out, as plain data."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from experiments.models.loop.supported import check_pair
from experiments.models.pair.opened import Opened, open_pair
from experiments.models.pair.roots import roots_of
from experiments.models.pair.warp import Warp
from experiments.models.speed import choosing
from experiments.models.speed.choosing import Candidate, Race, Tried
from experiments.models.speed.latency_fit import fit_latency
from experiments.models.validation.contest import device_name, setting
from experiments.shared.names import NamedVerifier
from experiments.shared.progress import bar, remark
from simulator.drafts import Delayed

__all__ = ["choose", "open_pair"]


def choose(
    opened: Opened,
    named: Sequence[NamedVerifier],
    schemes: Sequence[Delayed],
    warp: Warp,
    roots: int,
    tokens: int,
    rounds: int,
    seed: int,
    vectors: str,
) -> dict[str, Any]:
    """The report: rows of all candidates, fastest first, and the recommendation. Raises `InvalidInput`."""
    started, pair = time.perf_counter(), opened.pair
    check_pair(pair)
    where = setting(pair, warp, roots_of(opened.held_out, roots), seed, vectors)
    remark("measuring passes")
    context = len(where.roots[0])
    counts = sorted({1, 2, 4, 8, *(scheme.nodes + 1 for scheme in schemes)})
    paths = sorted({1, 2, 4, *(scheme.K for scheme in schemes)})
    latency = fit_latency(pair, (context, context + tokens), paths, counts)
    remark(f"{len(named)} verifiers on {len(schemes)} trees: exact block efficiency after {roots} roots")
    with bar("trees", len(schemes)) as tick:
        ranked = choosing.candidates(where, named, schemes, latency, tick)
    remark(f"measuring, from the largest bound down: {len(ranked)} candidates, at most {ranked[0].most:.0f} tokens/s")
    tried: list[Tried] = []
    with bar("candidates", len(ranked)) as tick:
        for each in choosing.tried(where, ranked, tokens):
            tried.append(each)
            tick(1)
    remark(f"{len(tried)} measured, {len(ranked) - len(tried)} left out; the best against each other")
    race = choosing.raced(where, tried, tokens, rounds)
    return {
        "target": pair.names[0],
        "draft": pair.names[1],
        "V": pair.vocab_size,
        "text": opened.corpus.name,
        "sampling": str(warp),
        "device": device_name(pair.device),
        "roots": roots,
        "tokens": tokens,
        "rounds": rounds,
        "plain_tokens_per_second": race.rate(None),
        "rows": _rows(race, tried),
        "left_out": [_fields(each) for each in ranked[len(tried) :]],
        "passes_slower_in_loop": min(each.slower for each in tried),
        "recommendation": recommendation(race),
        "seconds": round(time.perf_counter() - started, 1),
    }


def recommendation(race: Race) -> str:
    """One line: what to use, what it brings over plain generation, and what is as good."""
    first = race.order[0]
    mean, low, high = race.ratio(first)
    name = str(race.finalists[first].candidate)
    interval = f"{mean:.2f} times the tokens a second of plain generation (95 %: {low:.2f} to {high:.2f})"
    if high < 1:
        return f"no speculation: the best, {name}, has {interval}"
    level = [race.finalists[each].candidate for each in race.order[1:] if race.ratio(each, first)[2] >= 1]
    also = f"; not told apart from it: {', '.join(map(str, level))}" if level else ""
    sure = "" if low > 1 else "; whether it is faster than plain generation is open"
    return f"{name}: {interval}{sure}{also}"


def _fields(candidate: Candidate) -> dict[str, Any]:
    return {
        "verifier": candidate.named.label,
        "scheme": candidate.scheme.as_dict(),
        "expected_block_efficiency": candidate.expected,
        "expected_error": candidate.error,
        "most_tokens_per_second": candidate.most,
    }


def _rows(race: Race, tried: Sequence[Tried]) -> list[dict[str, Any]]:
    """Finalists in their order, then the others that were measured, fastest first."""
    rows = []
    for number in race.order:
        mean, low, high = race.ratio(number)
        final = {"tokens_per_second": race.rate(number), "speedup": mean, "speedup_low": low, "speedup_high": high}
        rows.append(_row(race.finalists[number]) | {"finalist": True} | final)
    others = sorted((each for each in tried if each not in race.finalists), key=lambda each: -each.rate)
    return rows + [_row(each) | {"finalist": False, "tokens_per_second": each.rate} for each in others]


def _row(each: Tried) -> dict[str, Any]:
    return {
        **_fields(each.candidate),
        "block_efficiency": each.block_efficiency,
        "predicted_tokens_per_second": each.predicted,
        "block_milliseconds": 1e3 * each.block,
        "fitted_passes_milliseconds": 1e3 * each.candidate.passes,
        "passes_milliseconds": 1e3 * each.passing,
        "verification_milliseconds": 1e3 * each.verifying,
    }
