"""The interface of TensorRT-LLM's rejection sampling in torch: the sampler of one request, and that of one model.

By parameter name. For the sampler (`get_rejected_indices`, `sample_rejected` of `_torch/pyexecutor`): draft_probs
`(L, V)`; target_probs `(L + 1, V)`; draft_tokens, a list; generator, of torch; new_token, the token that the target
sampled after the last draft. The two functions are joined by an adapter, which returns the number of accepted tokens
and the token after them. For one model (`rejection_sampling_one_model` of `_torch/speculative`): draft_token_ids
`(1, L)`, draft_probs `(1, L, V)`, target_probs `(1, L + 1, V)`; it returns the tokens and how many there are.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from draftproof.simulator.audit.interfaces._call import (
    Call,
    Interface,
    call_by_name,
    integer,
    read_block,
    shown,
    tokens,
)
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.lazy import torch_module
from draftproof.simulator.protocol import Verdict

_KNOWN = "draft_probs, target_probs, draft_tokens, generator, new_token, draft_token_ids"


#: The seed of the generator.
_SEED = 1234


def _generator(call: Call) -> Any:
    generator = torch_module("this interface").Generator()
    generator.manual_seed(call.coins.seed("generator", _SEED))
    return generator


def _call(call: Call) -> list[Verdict]:
    nodes = first_path(call.nodes[0])
    drafted = list(nodes[-1].context)

    def rows(values: list[Any], one_model: bool) -> Any:
        return call.rows.array([values] if one_model else values)

    def find(name: str) -> Callable[[], Any] | None:
        one_model = "draft_token_ids" in inspect.signature(call.function).parameters
        makes: dict[str, Callable[[], Any]] = {
            "draft_probs": partial(rows, [node.draft for node in nodes[:-1]], one_model),
            "target_probs": partial(rows, [node.target for node in nodes], one_model),
            "draft_tokens": lambda: drafted,
            "draft_token_ids": lambda: call.rows.integers([drafted]),
            "generator": partial(_generator, call),
            "new_token": lambda: call.coin.choose(nodes[-1].target),
        }
        return makes.get(name)

    result = call_by_name(call, find, TENSORRT_LLM.name, _KNOWN)
    wants = f"the {TENSORRT_LLM.name} interface wants {TENSORRT_LLM.returns}"
    if not (isinstance(result, tuple) and len(result) == 2):
        raise InvalidVerifier(f"it returned {shown(result)}; {wants}")
    if "draft_token_ids" not in inspect.signature(call.function).parameters:
        return [read_block(result, tuple(drafted), wants)]
    count = integer(result[1], "the number of tokens")
    output = tokens(result[0][0], "the accepted tokens")[:count]
    return [read_block(list(output), tuple(drafted), wants, padded=False)]


TENSORRT_LLM = Interface(
    name="tensorrt-llm",
    takes=f"by parameter name: {_KNOWN}; with draft_token_ids, for one model, arrays begin with an axis of 1",
    returns="(number of accepted tokens, token after them), or for one model (tokens (1, L + 1), their number (1,))",
    call=_call,
    library="torch",
    libraries=("torch",),
)
