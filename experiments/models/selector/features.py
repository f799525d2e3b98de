"""The inputs of the selector: three hidden states and a few numbers, as in appendix E of 2602.16994.

`S` numbers, `H_p` and `H_q` the widths of the models. The target's hidden state at the root is not an input: it is not
known before the target's pass. A text of one token has no previous token; its inputs there are zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.models.pair.hidden import TokenState, watched
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.policies.policy import Known
from draftproof.simulator.protocol import Context, Vector

#: Names of the numbers; entropies and divergences are in nats.
SCALARS = (
    *("H(q root)", "H(p before)", "H(q before)", "KL(p|q)", "KL(q|p)", "L1(p, q)"),
    *("context length", "temperature", "top-p", "draft pass", "target pass"),
)


@dataclass(frozen=True)
class TokenOutput:
    """What a model computed at one token. hidden: last hidden state, shape `(H,)`. row: float64, shape `(V,)`."""

    hidden: torch.Tensor
    row: Any

    @classmethod
    def of(cls, state: TokenState, sampling: Sampling, vocab_size: int) -> TokenOutput:
        """From hidden state and logits; sampling: the sampling of this model."""
        return cls(state.hidden, sampling.of_logits(state.logits[:vocab_size]).cpu().numpy())


@dataclass(frozen=True)
class BlockStart:
    """What is known before one block. context: all tokens so far; the last one is the root.

    target_before, draft_before: of the token before the root; None in a text of one token. times: of a draft pass over
    one token and of a target pass without drafts.
    """

    context: Context
    draft_root: TokenOutput
    target_before: TokenOutput | None
    draft_before: TokenOutput | None
    times: tuple[float, float]

    @property
    def known(self) -> Known:
        """What a policy of one's own is told."""
        p, q = (None if output is None else output.row for output in (self.target_before, self.draft_before))
        return Known(self.context, self.draft_root.row, p, q, *self.times)

    def network_input(self, sampling: Sampling, widths: tuple[int, int]) -> Any:
        """The hidden states before the root, that at the root, and the numbers, in float32.

        widths: `H_p` and `H_q`. The result has shape `(H_p + 2 H_q + S,)`.
        """
        outputs = (self.target_before, self.draft_before, self.draft_root)
        hidden = [
            np.zeros(width, np.float32) if output is None else output.hidden.float().cpu().numpy()
            for output, width in zip(outputs, (*widths, widths[1]), strict=True)
        ]
        return np.concatenate([*hidden, np.array(numbers(self.known, sampling), np.float32)])


def network_inputs(starts: Sequence[BlockStart], sampling: Sampling, widths: tuple[int, int]) -> torch.Tensor:
    """The inputs before `n` blocks, shape `(n, H_p + 2 H_q + S)`."""
    return torch.tensor(np.stack([start.network_input(sampling, widths) for start in starts]))


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
    no_zeros = bool(rows.all())
    logs = np.log(rows if no_zeros else np.maximum(rows, LEAST))
    own = [float(row.dot(log)) for row, log in zip(rows, logs, strict=True)]
    p, q = rows[1], rows[2]
    divergences = [_divergence(own[1], p, q, logs[2], no_zeros), _divergence(own[2], q, p, logs[1], no_zeros)]
    return [*(0.0 - minus_entropy for minus_entropy in own), *divergences, float(abs(p - q).sum())]


def _floats(row: Vector) -> Any:
    return np.asarray(row, dtype=np.float64)


#: The value of an infinite divergence; and what stands for a probability of 0 in a logarithm, whose factor is then 0.
FAR, LEAST = 50.0, 5e-324


def _divergence(own: float, p: Any, q: Any, logs: Any, no_zeros: bool) -> float:
    """`sum p log(p/q)`. own: `sum p log p`; logs: those of q; no_zeros: whether no entry is 0."""
    if not no_zeros and (p[q == 0] > 0).any():
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
    return [_block_start(pair, context, sampling, times) for context in contexts]


def _block_start(pair: Pair, context: Context, sampling: Sampling, times: TimeModel) -> BlockStart:
    def output(role: str, state: TokenState) -> TokenOutput:
        return TokenOutput.of(state, sampling.of(role), pair.vocab_size)

    tokens, several = torch.tensor([list(context)], device=pair.device), len(context) > 1
    with watched(pair.target) as target, watched(pair.draft) as draft:
        if several:
            pair.target(tokens[:, :-1], use_cache=False)
        pair.draft(tokens, use_cache=False)
        return BlockStart(
            context,
            output("draft", draft.at(-1)),
            output("target", target.at(-1)) if several else None,
            output("draft", draft.at(-2)) if several else None,
            pass_times(times),
        )
