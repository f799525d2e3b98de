"""SGLang's chain of drafts, sampled and rejected in one Triton kernel, run by Triton's interpreter: one request."""

from pathlib import Path
from typing import Any

from draftproof.simulator.lazy import torch_module
from draftproof.simulator.symbolic import locate_function


def chain(checkout: Path, path: str) -> Any:
    """`chain_speculative_sampling_triton` with fresh uniform numbers; both thresholds are 1, which leaves them out."""
    sample = locate_function(checkout / path, "chain_speculative_sampling_triton").function
    torch = torch_module("the gallery")

    def verify(tokens: Any, q: Any, p: Any) -> Any:
        length = len(tokens)
        slots = torch.arange(length + 1).reshape(1, -1)  # the pending token and its drafts
        predicts, kept = torch.full((length + 1,), -1), torch.full((1, length + 1), -1)
        accepted, candidates = torch.zeros(1, dtype=torch.int64), torch.cat([torch.zeros(1, dtype=torch.int64), tokens])
        uniforms, last = torch.rand(1, length + 1, dtype=p.dtype), torch.rand(1, dtype=p.dtype)
        none = torch.full((1, length + 1), -1)
        sample(
            predicts, kept, accepted, candidates.reshape(1, -1), slots, none, none, uniforms, last,
            p.contiguous().unsqueeze(0), q.contiguous().unsqueeze(0), 1.0, 1.0, True,
        )  # fmt: skip
        return [int(predicts[slot]) for slot in kept[0, : int(accepted[0]) + 1]]

    return verify
