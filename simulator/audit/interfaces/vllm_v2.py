"""The interface of the rejection sampler of vLLM's second model runner: logits, and a row more a request than drafts.

For `rejection_sample` of `vllm/v1/worker/gpu/spec_decode`. By parameter name, with `m` the number of rows of all
requests, `S` the largest number of drafts: target_logits `(m, V)`; draft_logits `(B, S, V)`, by request; draft_sampled
`(m,)`, for each request the pending token (0 here) and its drafts; cu_num_logits `(B + 1,)`, from 0; pos, the positions
of the rows in their texts, expanded_idx_mapping, their requests, expanded_local_pos, their places in these, all `(m,)`;
idx_mapping, temperature (1) and seed (all different) `(B,)`; num_speculative_steps, which is `S`; target_sampled
`(m,)`, a token drawn from every row beforehand, for the version that compares drafts with it. The seeds are followed as
seeds: noise that a function computes of them by itself is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any

from draftproof.simulator.audit.interfaces._call import Call, Interface, call_by_name, integer, shown
from draftproof.simulator.audit.interfaces.chain import by_request
from draftproof.simulator.audit.interfaces.coins import Paths, read_requests
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.protocol import DraftNode, Verdict

#: The position of the pending token of the first request, and by how much others are further.
_POSITION = 8
#: The seed of the first request.
_SEED = 1234


def _steps(paths: Paths) -> int:
    return max(len(path) for path in paths) - 1


def _draft_logits(call: Call, paths: Paths) -> Any:
    size = len(paths[0][0].target)
    rows = [[node.draft for node in path[:-1]] for path in paths]
    padded = [[*own, *[[1 / size] * size] * (_steps(paths) - len(own))] for own in rows]  # logarithms need entries > 0
    return replace(call.rows, logits=True).array(padded)


def _by_row(make: Callable[[int, int, DraftNode], int]) -> Callable[[Call, Paths], Any]:
    """Whole numbers by row. make: from the request, the place in it and the node."""
    return lambda call, paths: call.rows.integers(
        [make(request, place, node) for request, path in enumerate(paths) for place, node in enumerate(path)]
    )


_ARGUMENTS: Mapping[str, Callable[[Call, Paths], Any]] = {
    "target_logits": lambda call, paths: replace(call.rows, logits=True).array(
        [node.target for path in paths for node in path]
    ),
    "draft_logits": _draft_logits,
    "draft_sampled": _by_row(lambda request, place, node: node.context[-1] if place else 0),
    "target_sampled": lambda call, paths: call.rows.integers(
        [call.coin.choose(node.target) for path in paths for node in path]
    ),
    "cu_num_logits": lambda call, paths: call.rows.integers([0, *accumulate(map(len, paths))]),
    "pos": _by_row(lambda request, place, node: _POSITION * (request + 1) + place),
    "idx_mapping": lambda call, paths: call.rows.integers(list(range(len(paths)))),
    "expanded_idx_mapping": _by_row(lambda request, place, node: request),
    "expanded_local_pos": _by_row(lambda request, place, node: place),
    "temperature": lambda call, paths: replace(call.rows, logits=False).array([1] * len(paths)),
    "seed": lambda call, paths: call.rows.integers([call.coins.seed("seed", _SEED + i) for i in range(len(paths))]),
    "num_speculative_steps": lambda call, paths: _steps(paths),
}


def _call(call: Call) -> list[Verdict]:
    paths = [first_path(root) for root in call.nodes]

    def find(name: str) -> Callable[[], Any] | None:
        return partial(_ARGUMENTS[name], call, paths) if name in _ARGUMENTS else None

    result = call_by_name(call, find, VLLM_V2.name, ", ".join(_ARGUMENTS))
    if not (isinstance(result, tuple) and len(result) == 2):
        raise InvalidVerifier(f"it returned {shown(result)}; the {VLLM_V2.name} interface wants {VLLM_V2.returns}")
    sampled, numbers = (by_request(part, len(paths)) for part in result)
    counts = [integer(number, "the number of tokens") for number in numbers]
    outputs = [list(row[:count]) for row, count in zip(sampled, counts, strict=True)]
    return read_requests(outputs, paths, VLLM_V2, padded=False)


VLLM_V2 = Interface(
    name="vllm-v2",
    takes=f"by parameter name: {', '.join(_ARGUMENTS)}",
    returns="(sampled, num_sampled): shapes (B, S + 1) and (B,); of each row the first tokens count",
    call=_call,
    batches=True,
    library="torch",
    libraries=("torch",),
)
