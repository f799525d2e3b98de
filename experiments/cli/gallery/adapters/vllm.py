"""vLLM's rejection sampler in Triton kernels, run by Triton's interpreter: for one request with random sampling."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from draftproof.simulator.lazy import torch_module
from draftproof.simulator.symbolic import locate_function


def of_kernels(checkout: Path, path: str) -> Any:
    """`rejection_sample`, with a bonus token that is drawn first."""
    sample = locate_function(checkout / path, "rejection_sample").function
    torch = torch_module("the gallery")

    def verify(tokens: Any, q: Any, p: Any) -> Any:
        length = len(tokens)
        bonus = torch.multinomial(p[-1], 1).reshape(1, 1)
        sampling = SimpleNamespace(all_greedy=False, all_random=True, temperature=torch.ones(1), generators={})
        ends, target = torch.tensor([length]), p[:-1].contiguous()
        output = sample(tokens, [length], length, ends, q.contiguous(), target, bonus, sampling)
        return [token for token in output[0].tolist() if token >= 0]

    return verify
