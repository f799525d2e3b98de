"""How long a pass takes: `T(x, a)` for `a` tokens after `x` cached ones, measured and fitted.

`T(x, a) = c0 + c1 x + c2 a + c3 x a`, by least squares on measured passes of one model: a constant, the loading of the
cache, the work of each token, and its attention to the cache. The draft's fit gives trunk passes (`a = 1`) and branch
passes (`a = K`), the target's fit the pass over a tree (`a = 1 + L1 + K L2`, the root included).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from draftproof.experiments.inputs.latency import TimeModel, block_time
from draftproof.experiments.models.loop.caches import forward, prompt_cache
from draftproof.experiments.models.loop.supported import check_prompt
from draftproof.experiments.models.loop.timing import Stopwatch
from draftproof.experiments.models.measure.rounds import timed_rounds
from draftproof.experiments.models.pair.devices import within_memory
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import DraftScheme


@dataclass(frozen=True)
class Pass:
    """A measured pass: `read` tokens after `context` cached ones took `seconds`, the least of its repetitions."""

    context: int
    read: int
    seconds: float


@dataclass(frozen=True)
class PassTimes:
    """The fit of one model. error: root mean square residual over mean time; worst: largest relative residual."""

    coefficients: tuple[float, float, float, float]
    error: float
    worst: float
    passes: tuple[Pass, ...]

    @classmethod
    def fit(cls, passes: Sequence[Pass]) -> PassTimes:
        """Least squares; raises `InvalidInput` unless there are two contexts and two numbers of tokens at least."""
        if len({each.context for each in passes}) < 2 or len({each.read for each in passes}) < 2:
            raise InvalidInput("a fit of T(x, a) needs at least two contexts and two numbers of tokens")
        x, a, seconds = np.array([[each.context, each.read, each.seconds] for each in passes], dtype=np.float64).T
        terms = np.stack([np.ones_like(x), x, a, x * a], 1)
        scale = terms.max(0)  # for a well-conditioned system
        found = np.linalg.lstsq(terms / scale, seconds, rcond=None)[0] / scale
        residuals = terms @ found - seconds
        return cls(
            coefficients=(float(found[0]), float(found[1]), float(found[2]), float(found[3])),
            error=float(np.sqrt((residuals**2).mean()) / seconds.mean()),
            worst=float((abs(residuals) / seconds).max()),
            passes=tuple(passes),
        )

    def at(self, context: int, tokens: int) -> float:
        """`T(x, a)` in seconds, never below 0."""
        start, by_context, by_token, by_both = self.coefficients
        return max(start + by_context * context + (by_token + by_both * context) * tokens, 0.0)


@dataclass(frozen=True)
class Latency:
    """The fits of both models of a pair."""

    draft: PassTimes
    target: PassTimes

    def branch(self, context: int, paths: int) -> float:
        return self.draft.at(context, paths)

    def tree(self, context: int, nodes: int) -> float:
        """Seconds of the target pass over a root and `nodes` drafted tokens."""
        return self.target.at(context, nodes + 1)

    def block(self, scheme: Delayed, context: int) -> float:
        """Seconds of the passes of one block."""
        return block_time(
            K=scheme.K,
            L1=scheme.L1,
            L2=scheme.L2,
            draft=lambda paths: self.branch(context, paths),
            target=lambda nodes: self.tree(context, nodes),
        )

    def times(self, context: int) -> TimeModel:
        """Times at one context length, up to the largest measured passes, for `compare --cost FILE`."""
        paths, tokens = (max(each.read for each in fit.passes) for fit in (self.draft, self.target))
        return TimeModel(
            {count: self.branch(context, count) for count in range(1, paths + 1)},
            {count: self.tree(context, count) for count in range(tokens)},
            open_ended=False,
        )


def fit_latency(
    pair: Pair,
    contexts: Sequence[int],
    draft_tokens: Sequence[int] = (1, 2, 4, 8),
    target_tokens: Sequence[int] = (1, 4, 8, 16, 32),
    repetitions: int = 10,
) -> Latency:
    """Measure passes of both models at every pair of context and number of tokens, and fit them.

    contexts: numbers of tokens in the cache. Raises `InvalidInput` where the models have too few positions.
    """
    draft = measure_passes(pair, pair.draft, contexts, draft_tokens, repetitions)
    target = measure_passes(pair, pair.target, contexts, target_tokens, repetitions)
    return Latency(PassTimes.fit(draft), PassTimes.fit(target))


def measured_times(pair: Pair, context: int, schemes: Sequence[DraftScheme], repetitions: int = 10) -> TimeModel:
    """Times of passes with `context` tokens in the cache, for the sizes that these schemes need and some others."""
    draft = {1, 2, 4, 8, *(scheme.K for scheme in schemes if isinstance(scheme, Delayed))}
    target = {1, 4, 8, 16, 32, *(scheme.nodes + 1 for scheme in schemes)}
    contexts = sorted({max(context // 2, 1), context, context + (context < 2)})
    return fit_latency(pair, contexts, sorted(draft), sorted(target), repetitions).times(context)


@torch.inference_mode()
def measure_passes(
    pair: Pair, model: Any, contexts: Sequence[int], counts: Sequence[int], repetitions: int
) -> list[Pass]:
    """The least times of passes over sibling tokens, for every context and count, in turns after a warm-up."""
    check_prompt(pair, [0] * max(contexts), 1)
    watch = Stopwatch(pair.device)
    with within_memory("measuring passes", pair.device):
        caches = {
            context: prompt_cache(model, [token % pair.vocab_size for token in range(context)], pair.device)
            for context in contexts
        }

        def seconds(context: int, count: int, _: int) -> float:
            before = caches[context]
            tokens = torch.zeros(1, count, dtype=torch.long, device=pair.device)
            itself = torch.eye(count, dtype=torch.bool, device=pair.device)[None]
            mask = torch.cat([before.held[:, None].expand(-1, count, -1), itself], 2)
            started = watch.now()
            __, after = forward(model, before, tokens, torch.full_like(tokens, context), mask)
            taken = watch.now() - started
            caches[context] = after.kept(before.slots, [()])  # as in the loop, with space for the next pass
            return taken

        sizes = [(context, count) for context in contexts for count in counts]
        times = timed_rounds([partial(seconds, *size) for size in sizes], repetitions, warm_up=1)
    return [Pass(*size, min(each)) for size, each in zip(sizes, times, strict=True)]
