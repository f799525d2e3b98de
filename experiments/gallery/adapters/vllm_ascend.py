"""vllm-ascend's rejection sampler in torch: its function that accepts drafts and its function that draws corrections.

They are called as in its `rejection_sample`: uniform numbers for the drafts, one exponential row a request for the
corrections, a bonus token that is drawn first.
"""

from pathlib import Path
from typing import Any

from draftproof.simulator.lazy import torch_module
from draftproof.simulator.symbolic import locate_function

#: Global names of the file, with the values that its other modules give them.
_GLOBALS = {"global.PLACEHOLDER_TOKEN_ID": -1}


def token_wise(checkout: Path, path: str) -> Any:
    """`rejection_random_sample_pytorch` with `sample_recovered_tokens_pytorch`."""
    return _sampler(checkout / path, "rejection_random_sample_pytorch", "sample_recovered_tokens_pytorch")


def block(checkout: Path, path: str) -> Any:
    """`rejection_random_sample_block_verify_pytorch` with `sample_recovered_tokens_blockwise_pytorch`."""
    name = "rejection_random_sample_block_verify_pytorch"
    return _sampler(checkout / path, name, "sample_recovered_tokens_blockwise_pytorch")


def _sampler(file: Path, judging: str, recovering: str) -> Any:
    judge, recover = (locate_function(file, name, _GLOBALS).function for name in (judging, recovering))
    torch = torch_module("the gallery")

    def rejection_sample(tokens: Any, q: Any, p: Any) -> Any:
        length, size = q.shape
        ends = torch.tensor([length])
        bonus = torch.multinomial(p[-1], 1)
        uniforms = torch.rand(length, dtype=torch.float64)
        noise = torch.empty((1, size), dtype=torch.float64).exponential_()
        recovered = torch.empty(length, dtype=torch.int64)
        target = p[:-1].contiguous()
        recover(recovered, ends, tokens, q, target, noise, size)
        output = torch.full((1, length + 1), -1)
        greedy = torch.tensor([False])
        judge(output, ends, tokens, q, target, bonus, recovered, uniforms, greedy, length, size)
        return output[0]

    return rejection_sample
