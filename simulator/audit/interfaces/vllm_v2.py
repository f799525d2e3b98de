"""The interface of the rejection sampler of vLLM's second model runner: logits, and a row more a request than drafts.

For `rejection_sample` of `vllm/v1/worker/gpu/spec_decode`. By parameter name, with `m` the number of rows of all
requests, `S` the largest number of drafts: target_logits `(m, V)`; draft_logits `(B, S, V)`, by request; draft_sampled
`(m,)`, for each request the pending token (0 here) and its drafts; cu_num_logits `(B + 1,)`, from 0; pos, the positions
of the rows in their texts, expanded_idx_mapping, their requests, expanded_local_pos, their places in these, all `(m,)`;
idx_mapping, temperature (1) and seed (all different) `(B,)`; num_speculative_steps, which is `S`; target_sampled
`(m,)`, a token drawn from every row beforehand, for the version that compares drafts with it. The seeds are followed as
seeds: noise that a function computes of them by itself is refused.
"""

from collections.abc import Callable
from itertools import accumulate, chain
from typing import Any

from draftproof.simulator.audit.interfaces._call import (
    Call,
    Interface,
    Maker,
    by_request,
    integer,
    padded,
    pair,
    read_counted,
)
from draftproof.simulator.protocol import DraftNode

#: The position of the pending token of the first request, and by how much others are further.
_POSITION = 8
#: The seed of the first request.
_SEED = 1234


def _draft_logits(call: Call) -> Any:
    even = [1 / call.size] * call.size  # logarithms need entries > 0
    return call.logits.array(padded(call.q, even))


def _by_row(make: Callable[[int, int, DraftNode], int]) -> Maker:
    """Whole numbers by row. make: from the request, the place in it and the node."""
    return lambda call: call.rows.integers(
        [make(request, place, node) for request, path in enumerate(call.paths) for place, node in enumerate(path)]
    )


def _by_request(make: Callable[[Call, int], int]) -> Maker:
    """Whole numbers by request. make: from the call and the request."""
    return lambda call: call.rows.integers([make(call, request) for request in range(len(call.nodes))])


def _results(call: Call, result: Any, wants: str) -> list[Any]:
    sampled, numbers = (by_request(part, len(call.nodes)) for part in pair(result, wants))
    counts = [integer(number, "the number of tokens") for number in numbers]
    return [list(row[:count]) for row, count in zip(sampled, counts, strict=True)]


VLLM_V2 = Interface(
    name="vllm-v2",
    arguments={
        "target_logits": lambda call: call.logits.array([*chain(*call.p)]),
        "draft_logits": _draft_logits,
        "draft_sampled": _by_row(lambda request, place, node: node.context[-1] if place else 0),
        "target_sampled": lambda call: call.rows.integers([call.coin.choose(row) for row in chain(*call.p)]),
        "cu_num_logits": lambda call: call.rows.integers([0, *accumulate(map(len, call.paths))]),
        "pos": _by_row(lambda request, place, node: _POSITION * (request + 1) + place),
        "idx_mapping": _by_request(lambda call, request: request),
        "expanded_idx_mapping": _by_row(lambda request, place, node: request),
        "expanded_local_pos": _by_row(lambda request, place, node: place),
        "temperature": lambda call: call.probabilities.array([1] * len(call.nodes)),
        "seed": _by_request(lambda call, request: call.coins.seed("seed", _SEED + request)),
        "num_speculative_steps": lambda call: max(call.lengths),
    },
    by_name=True,
    results=_results,
    read=read_counted,
    returns="(sampled, num_sampled): shapes (B, S + 1) and (B,); of each row the first tokens count",
    batches=True,
    libraries=("torch",),
)
