"""The inputs of the selector: three hidden states and a few numbers, as in appendix E of 2602.16994.

`S` numbers, `H_p` and `H_q` the widths of the models. The target's hidden state at the root is not an input: it is not
known before the target's pass. A text of one token has no previous token; its inputs there are zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.models.loop.choosing import BlockStart, TokenOutput
from draftproof.experiments.models.pair.hidden import features_of
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.policies.policy import Known
from draftproof.simulator.protocol import Context, Vector

#: Names of the numbers; entropies and divergences are in nats.
SCALARS = (
    *("H(q root)", "H(p before)", "H(q before)", "KL(p|q)", "KL(q|p)", "L1(p, q)"),
    *("context length", "temperature", "top-p", "draft pass", "target pass"),
)


def network_inputs(starts: Sequence[BlockStart], sampling: Sampling, widths: tuple[int, int]) -> torch.Tensor:
    """The inputs before `n` blocks, float32, shape `(n, H_p + 2 H_q + S)`.

    Each is the hidden states of both models before the root, that of the draft at the root, and the numbers.
    widths: `H_p` and `H_q`.
    """
    inputs = []
    for start in starts:
        outputs = zip((start.target_before, start.draft_before, start.draft_root), (*widths, widths[1]), strict=True)
        parts = [torch.zeros(width) if output is None else output.hidden.float().cpu() for output, width in outputs]
        inputs.append(torch.cat([*parts, torch.tensor(numbers(start.known, sampling), dtype=torch.float32)]))
    return torch.stack(inputs)


def numbers(known: Known, sampling: Sampling) -> list[float]:
    """The numbers of `SCALARS`."""
    settings = [float(len(known.context)), sampling.temperature, 1.0 if sampling.top_p is None else sampling.top_p]
    return [*_of_rows(known), *settings, float(known.draft_time), float(known.target_time)]


def _of_rows(known: Known) -> list[float]:
    """Entropies and divergences of the rows, 0 where these are not known."""
    root = _floats(known.draft_root)
    if known.target_before is None or known.draft_before is None:
        masses = root[root > 0]
        return [float(-(masses * np.log(masses)).sum()) + 0.0, *[0.0] * 5]
    rows = np.array([root, _floats(known.target_before), _floats(known.draft_before)])
    logs = np.log(np.maximum(rows, LEAST))
    own = [float(row.dot(log)) for row, log in zip(rows, logs, strict=True)]
    p, q = rows[1], rows[2]
    divergences = [_divergence(own[1], p, q, logs[2]), _divergence(own[2], q, p, logs[1])]
    return [*(0.0 - minus_entropy for minus_entropy in own), *divergences, float(abs(p - q).sum())]


def _floats(row: Vector) -> Any:
    return np.asarray(row, dtype=np.float64)


#: The value of an infinite divergence; and what stands for a probability of 0 in a logarithm, whose factor is then 0.
FAR, LEAST = 50.0, 5e-324


def _divergence(own: float, p: Any, q: Any, logs: Any) -> float:
    """`sum p log(p/q)`. own: `sum p log p`; logs: those of q."""
    if (p[q == 0] > 0).any():
        return FAR
    return min(max(own - float(p.dot(logs)), 0.0), FAR)


def pass_times(times: TimeModel) -> tuple[float, float]:
    """A draft pass over one token and a target pass without drafts."""
    return float(times.draft[1]), float(times.target[0])


def hidden_widths(pair: Pair) -> tuple[int, int]:
    """The widths of the hidden states that the output layers of target and draft read."""
    target, draft = (int(pair.model(which).get_output_embeddings().in_features) for which in ("target", "draft"))
    return target, draft


@torch.inference_mode()
def block_starts(pair: Pair, contexts: Sequence[Context], sampling: Sampling, times: TimeModel) -> list[BlockStart]:
    """What is known after each context, from one plain pass of each model over it."""

    def outputs(role: str, tokens: Context) -> list[TokenOutput]:
        """At every token."""
        model = pair.model(role)
        with features_of(model) as seen:
            logits = model(torch.tensor([tokens], device=pair.device), use_cache=False).logits
        rows = sampling.of(role).of_logits(logits[0, :, : pair.vocab_size])
        return [TokenOutput(hidden, partial(rows.__getitem__, at)) for at, hidden in enumerate(seen[0][0])]

    starts = []
    for context in contexts:
        draft, target = outputs("draft", context), outputs("target", context[:-1]) if context[:-1] else [None]
        before = draft[-2] if len(context) > 1 else None
        starts.append(BlockStart(context, draft[-1], target[-1], before, pass_times(times)))
    return starts
