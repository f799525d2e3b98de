"""The inputs of the selector: three hidden states and a few numbers, as in appendix E of 2602.16994.

`n` roots, `S` numbers, `H_p` and `H_q` the widths of the models. The target's hidden state at the root is not an input:
it is not known before the target's pass. A text of one token has no previous token; its inputs there are zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.models.pair.hidden import TokenState, watched
from draftproof.experiments.models.pair.pair import ROLES, Pair
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.policies.policy import Known
from draftproof.simulator.protocol import Context, Vector

#: Names of the numbers; entropies and divergences are in nats.
SCALARS = (
    *("H(q root)", "H(p before)", "H(q before)", "KL(p|q)", "KL(q|p)", "L1(p, q)"),
    *("context length", "temperature", "top-p", "draft pass", "target pass"),
)


@dataclass(frozen=True)
class SelectorInput:
    """What is known before one block. target_before, draft_before: None where the text has one token."""

    known: Known
    target_before: torch.Tensor | None
    draft_before: torch.Tensor | None
    draft_root: torch.Tensor


@dataclass(frozen=True)
class Inputs:
    """Inputs as arrays: hidden states of shapes `(n, H_p)`, `(n, H_q)`, `(n, H_q)`, numbers of shape `(n, S)`."""

    target_before: torch.Tensor
    draft_before: torch.Tensor
    draft_root: torch.Tensor
    scalars: torch.Tensor

    def __len__(self) -> int:
        return len(self.scalars)

    def __getitem__(self, places: torch.Tensor | slice) -> Inputs:
        return Inputs(
            self.target_before[places], self.draft_before[places], self.draft_root[places], self.scalars[places]
        )

    @classmethod
    def of(cls, inputs: Sequence[SelectorInput], warps: Sequence[Sampling], widths: tuple[int, int]) -> Inputs:
        """In float32 on the host; warps: one an input; widths: `H_p` and `H_q`."""

        def stacked(hidden: Sequence[torch.Tensor | None], width: int) -> torch.Tensor:
            rows = [torch.zeros(width) if each is None else each.float().cpu() for each in hidden]
            return torch.stack(rows)

        return cls(
            stacked([one.target_before for one in inputs], widths[0]),
            stacked([one.draft_before for one in inputs], widths[1]),
            stacked([one.draft_root for one in inputs], widths[1]),
            torch.tensor(np.array([numbers(v.known, warp) for v, warp in zip(inputs, warps, strict=True)])).float(),
        )


def numbers(known: Known, warp: Sampling) -> list[float]:
    """The numbers of `SCALARS`."""
    settings = [float(len(known.context)), warp.temperature, 1.0 if warp.top_p is None else warp.top_p]
    return [*of_rows(known), *settings, float(known.draft_time), float(known.target_time)]


def of_rows(known: Known) -> list[float]:
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
    return [*(0.0 - each for each in own), *divergences, float(abs(p - q).sum())]


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


@dataclass(frozen=True)
class TokenOutput:
    """What a model computed at one token. hidden: last hidden state, shape `(H,)`. row: float64, shape `(V,)`."""

    hidden: torch.Tensor
    row: Any


def output_of(token_state: TokenState, warp: Sampling, vocab_size: int) -> TokenOutput:
    """`TokenOutput` from hidden state and logits."""
    return TokenOutput(token_state.hidden, warp.of_logits(token_state.logits[:vocab_size]).cpu().numpy())


@torch.inference_mode()
def selector_inputs(pair: Pair, contexts: Sequence[Context], warp: Sampling, times: TimeModel) -> list[SelectorInput]:
    """What is known after each context, from one plain pass of each model over it."""
    return [_one_input(pair, context, warp, times) for context in contexts]


def _one_input(pair: Pair, context: Context, warp: Sampling, times: TimeModel) -> SelectorInput:
    tokens = torch.tensor([list(context)], device=pair.device)
    with watched(pair.target) as target, watched(pair.draft) as draft:
        if len(context) > 1:
            pair.target(tokens[:, :-1], use_cache=False)
        pair.draft(tokens, use_cache=False)
        found = [target.at(-1), draft.at(-2)] if len(context) > 1 else []
        roles = [warp.of(role) for role in ROLES]
        p, q = [output_of(each, own, pair.vocab_size) for each, own in zip(found, roles, strict=False)] or (None, None)
        return selector_input(context, p, q, output_of(draft.at(-1), roles[1], pair.vocab_size), pass_times(times))


def selector_input(
    context: Context,
    target_before: TokenOutput | None,
    draft_before: TokenOutput | None,
    draft_root: TokenOutput,
    times: tuple[float, float],
) -> SelectorInput:
    """The input from what was computed at the previous token (by both models or neither) and at the root."""
    if target_before is None or draft_before is None:
        return SelectorInput(Known(context, draft_root.row, None, None, *times), None, None, draft_root.hidden)
    known = Known(context, draft_root.row, target_before.row, draft_before.row, *times)
    return SelectorInput(known, target_before.hidden, draft_before.hidden, draft_root.hidden)
