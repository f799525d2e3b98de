"""How long a pass takes over so many tokens after a context: the least of some repetitions, measured.

The draft's times give trunk passes (one token) and branch passes (`K`), the target's the pass over a tree (`1 + L1 +
K L2`, the root included).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.models.loop.caches import forward, prompt_pass
from draftproof.experiments.models.loop.supported import check_prompt
from draftproof.experiments.models.loop.timing import Stopwatch
from draftproof.experiments.models.measure.rounds import timed_rounds
from draftproof.experiments.models.pair.devices import within_memory
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.protocol import DraftScheme


def measured_times(pair: Pair, context: int, schemes: Sequence[DraftScheme], repetitions: int = 10) -> TimeModel:
    """Times of passes with `context` tokens in the cache, for the sizes that these schemes need and some others."""
    draft = {1, 2, 4, 8, *(scheme.K for scheme in schemes if isinstance(scheme, Delayed))}
    target = {1, 4, 8, 16, 32, *(scheme.nodes + 1 for scheme in schemes)}
    length = max(context, 1)
    drafting = measure_passes(pair, pair.draft, length, sorted(draft), repetitions)
    reading = measure_passes(pair, pair.target, length, sorted(target), repetitions)
    return TimeModel(drafting, {count - 1: seconds for count, seconds in reading.items()}, open_ended=False)


@torch.inference_mode()
def measure_passes(pair: Pair, model: Any, context: int, counts: Sequence[int], repetitions: int) -> dict[int, float]:
    """By count the least seconds of a pass over so many sibling tokens, in turns after a warm-up.

    context: the number of tokens in the cache. Raises `InvalidInput` where the models have too few positions.
    """
    check_prompt(pair, [0] * context, 1)
    watch = Stopwatch(pair.device)
    with within_memory("measuring passes", pair.device):
        _, before = prompt_pass(model, [token % pair.vocab_size for token in range(context)], pair.device)

        def seconds(count: int) -> float:
            nonlocal before
            tokens = torch.zeros(1, count, dtype=torch.long, device=pair.device)
            itself = torch.eye(count, dtype=torch.bool, device=pair.device)[None]
            mask = torch.cat([before.held[:, None].expand(-1, count, -1), itself], 2)
            started = watch.now()
            __, after = forward(model, before, tokens, torch.full_like(tokens, context), mask)
            taken = watch.now() - started
            before = after.trimmed(before.slots, [()])  # as in the loop, with space for the next pass
            return taken

        times = timed_rounds([partial(seconds, count) for count in counts], repetitions)
    return {count: min(taken) for count, taken in zip(counts, times, strict=True)}
