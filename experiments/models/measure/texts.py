"""Speed and acceptance of one verifier on one shape over longer texts, beside what is predicted for them.

Predicted block efficiency is the mean of exact block efficiencies at some of the places where blocks of the very run
began; predicted seconds are those of the fitted passes, `T(x, a)` for `a` tokens after a context of `x`. p and q differ
more at deeper nodes, which is why a delayed tree branches late.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from math import sqrt
from statistics import fmean
from typing import Any

import numpy as np

from draftproof.experiments.inputs.schemes import shape_name
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.models.expect.expected import POSITION_BUDGET, expected
from draftproof.experiments.models.loop.generation import Generation, autoregressive, generate
from draftproof.experiments.models.loop.loop import Block
from draftproof.experiments.models.loop.setting import Setting, seed_of
from draftproof.experiments.models.loop.timing import PARTS
from draftproof.experiments.models.measure.passes import Latency, Pass, PassTimes, fit_latency
from draftproof.experiments.models.measure.rounds import timed_rounds
from draftproof.experiments.shared.progress import named_errors
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.protocol import Context


@dataclass(frozen=True)
class DepthRow:
    """One depth `d`, counted from 0 at the root.

    reached: blocks with `tau >= d`. accepted: of those the share with `tau > d`, and its standard error.
    distance: mean L1 distance of p and q at this depth, over drafted paths and blocks; None unless observed.
    """

    depth: int
    reached: int
    accepted: float
    accepted_error: float
    distance: float | None

    def fields(self) -> dict[str, Any]:
        return asdict(self)


def by_depth(blocks: Sequence[Block], depth: int) -> list[DepthRow]:
    """One row for each of the depths `0..depth-1`, as far as any block came. depth: `L` of the trees."""
    rows = []
    for here in range(depth):
        reached = sum(block.depth >= here for block in blocks)
        if not reached:
            break
        share = sum(block.depth > here for block in blocks) / reached
        seen = [block.distances[here] for block in blocks if len(block.distances) > here]
        error = sqrt(share * (1 - share) / reached)
        rows.append(DepthRow(here, reached, share, error, fmean(seen) if seen else None))
    return rows


@dataclass(frozen=True)
class Length:
    """How much is generated: so many tokens after each root; starts: blocks whose efficiency is predicted."""

    tokens: int = 150
    starts: int = 16


def speculative_row(
    setting: Setting, named: NamedVerifier, scheme: Delayed, length: Length, latency: Latency
) -> dict[str, Any]:
    """One row: efficiency, tokens a second, time split, acceptance and distance by depth; measured and predicted."""
    started = time.perf_counter()
    key = speculative_key(setting, named, scheme, length)
    coin = setting.coin(seed_of(key))

    def plain(number: int) -> Generation:
        root = setting.roots[number]
        given = setting.pair, root, setting.warp, coin, length.tokens
        text: Generation = autoregressive(*given, vectors=setting.vectors)
        return text

    def speculative(number: int, tokens: int = length.tokens, observe: bool = False) -> Generation:
        given = setting.pair, named.verifier, scheme, setting.roots[number], setting.warp, coin, tokens
        return generate(*given, vectors=setting.vectors, observe=observe)

    with named_errors(named.label):
        speculative(0, 4 * (scheme.depth + 1))  # warm
        alone, timed = timed_rounds([plain, speculative], len(setting.roots), backwards=lambda _: False)
        watched = [speculative(number, length.tokens // 2, True) for number in range(len(setting.roots))]
        predicted, error = _predicted(setting, named, scheme, timed, length, seed_of(key))
    blocks = [block for each in timed for block in each.blocks]
    lengths = [block.depth + 1 for block in blocks]
    seconds = _seconds(timed)
    context = len(setting.roots[0]) + length.tokens // 2
    passes = latency.block(scheme, context)
    overhead = (seconds["verify"] + seconds["cache"]) / len(blocks)
    return {
        **_shared(setting, key, started),
        "kind": "speculative",
        "verifier": named.label,
        "shape": shape_name(scheme),
        "scheme": scheme.as_dict(),
        "blocks": len(blocks),
        "block_efficiency": float(np.mean(lengths)),
        "block_efficiency_error": _standard_error(lengths),
        "predicted_efficiency": predicted,
        "predicted_efficiency_error": error,
        "tokens_per_second": len(timed) * length.tokens / seconds["all"],
        "speedup": _seconds(alone)["all"] / seconds["all"],
        "predicted_passes": passes,
        "predicted_tokens_per_second": predicted / (passes + overhead),
        "seconds_by_part": seconds,
        "depths": [
            row.fields() for row in by_depth([*blocks, *(b for each in watched for b in each.blocks)], scheme.depth)
        ],
    }


def plain_row(setting: Setting, length: Length, latency: Latency) -> dict[str, Any]:
    """The row of autoregressive generation, one token a target pass."""
    started = time.perf_counter()
    key = plain_key(setting, length)
    coin = setting.coin(seed_of(key))
    given = setting.warp, coin
    for root in setting.roots[:1]:
        autoregressive(setting.pair, root, *given, 8, vectors=setting.vectors)  # warm
    timed = [
        autoregressive(setting.pair, root, *given, length.tokens, vectors=setting.vectors) for root in setting.roots
    ]
    seconds = _seconds(timed)
    one = latency.target.at(len(setting.roots[0]) + length.tokens // 2, 1)
    overhead = (seconds["verify"] + seconds["cache"]) / (len(timed) * length.tokens)
    return {
        **_shared(setting, key, started),
        "kind": "plain",
        "tokens_per_second": len(timed) * length.tokens / seconds["all"],
        "predicted_passes": one,
        "predicted_tokens_per_second": 1 / (one + overhead),
        "seconds_by_part": seconds,
    }


def latency_row(setting: Setting, contexts: Sequence[int], counts: Sequence[int]) -> dict[str, Any]:
    """Passes measured and `T(x, a)` fitted, as a row; counts: numbers of tokens that the target reads at once."""
    started = time.perf_counter()
    latency = fit_latency(setting.pair, contexts, target_tokens=counts)
    fits = {"draft": latency.draft, "target": latency.target}
    return {
        **_shared(setting, latency_key(setting, contexts, counts), started),
        "kind": "latency",
        **{
            name: {**asdict(fit), "passes": [list(asdict(each).values()) for each in fit.passes]}
            for name, fit in fits.items()
        },
    }


def latency_of(row: dict[str, Any]) -> Latency:
    """The fit that a row keeps."""
    return Latency(
        *(
            PassTimes(
                tuple(fit["coefficients"]), fit["error"], fit["worst"], tuple(Pass(*each) for each in fit["passes"])
            )
            for fit in (row["draft"], row["target"])
        )
    )


def speculative_key(setting: Setting, named: NamedVerifier, scheme: Delayed, length: Length) -> str:
    """Hash of everything that defines the row but the machine's speed."""
    return setting.key(kind="speculative", verifier=named.identity, scheme=scheme.as_dict(), **asdict(length))


def plain_key(setting: Setting, length: Length) -> str:
    """Likewise for autoregressive generation."""
    return setting.key(kind="plain", tokens=length.tokens)


def latency_key(setting: Setting, contexts: Sequence[int], counts: Sequence[int]) -> str:
    """Likewise for the fit."""
    return setting.key(kind="latency", contexts=list(contexts), counts=list(counts))


def _predicted(
    setting: Setting, named: NamedVerifier, scheme: Delayed, timed: Sequence[Generation], length: Length, seed: int
) -> tuple[float, float]:
    """Mean and standard error of the exact block efficiency at places where blocks began, evenly spaced."""
    starts = _starts(setting, timed)
    some = [starts[place * len(starts) // length.starts] for place in range(min(length.starts, len(starts)))]
    generator = np.random.default_rng([seed, 1])
    found = expected(setting.pair, named.verifier, scheme, some, POSITION_BUDGET, setting.warp, generator)
    means = found.means.mean(axis=1)
    return float(means.mean()), _standard_error(means)


def _starts(setting: Setting, timed: Sequence[Generation]) -> list[Context]:
    found = []
    for root, each in zip(setting.roots, timed, strict=True):
        text = (*root, *(token for block in each.blocks for token in block.tokens))
        ends = accumulate((block.depth + 1 for block in each.blocks[:-1]), initial=len(root))
        found += [text[:end] for end in ends]
    return found


def _standard_error(values: Any) -> float:
    """Of the mean of these, as if they were independent."""
    return float(np.std(values, ddof=1) / sqrt(len(values))) if len(values) > 1 else 0.0


def _seconds(timed: Sequence[Generation]) -> dict[str, float]:
    """Seconds by part, of all generations; `all` leaves the prompt out, `other` is what lies between the parts."""
    parts = {part: sum(each.seconds.get(part, 0.0) for each in timed) for part in PARTS}
    everything = sum(each.elapsed for each in timed) - parts["prompt"]
    inside = sum(seconds for part, seconds in parts.items() if part != "prompt")
    return {**parts, "other": everything - inside, "all": everything}


def _shared(setting: Setting, key: str, started: float) -> dict[str, Any]:
    return {
        "strong_id": key,
        **{name: value for name, value in setting.fields.items() if name != "roots"},
        "roots": len(setting.roots),
        "sampling": str(setting.warp),
        "seconds": round(time.perf_counter() - started, 3),
    }
