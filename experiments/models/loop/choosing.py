"""What chooses the scheme of every block, and what it is told before one.

The choice costs no extra pass of a model: the draft's pass over its unread tokens comes first in every block that
drafts, and the other hidden states were computed in the block before. Only a block without drafts has one more pass of
the draft. The target's hidden state at the root is not told: it is not known before the target's pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from draftproof.simulator.policies.policy import Known
from draftproof.simulator.protocol import Context, DraftScheme


@dataclass(frozen=True)
class TokenOutput:
    """What a model computed at one token. hidden: last hidden state, shape `(H,)`. vector: makes the row after it."""

    hidden: torch.Tensor
    vector: Callable[[], Any]

    @cached_property
    def row(self) -> Any:
        """float64, shape `(V,)`, an array that cannot be written to."""
        row = self.vector()
        if isinstance(row, torch.Tensor):
            row = row.cpu().numpy()
            row.setflags(write=False)
        return row


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


@dataclass(frozen=True)
class Chooser:
    """actions: the schemes. position: maps what is known to one of them. times: as in `BlockStart`."""

    actions: tuple[DraftScheme, ...]
    position: Callable[[BlockStart], int]
    times: tuple[float, float]

    @property
    def depth(self) -> int:
        """That of the deepest scheme."""
        return max(scheme.depth for scheme in self.actions)
