"""The interface of TensorRT-LLM's rejection sampling in torch: the sampler of one request, and that of one model.

By parameter name. For the sampler (`get_rejected_indices`, `sample_rejected` of `_torch/pyexecutor`): draft_probs
`(L, V)`; target_probs `(L + 1, V)`; draft_tokens, a list; generator, of torch; new_token, the token that the target
sampled after the last draft. The two functions are joined by an adapter, which returns the number of accepted tokens
and the token after them. For one model (`rejection_sampling_one_model` of `_torch/speculative`): draft_token_ids
`(1, L)`, draft_probs `(1, L, V)`, target_probs `(1, L + 1, V)`; it returns the tokens and how many there are.
"""

from typing import Any

from draftproof.simulator.audit.interfaces._call import Call, Interface, integer, pair, read_block, tokens
from draftproof.simulator.lazy import torch_module
from draftproof.simulator.protocol import Vector, Verdict

#: The seed of the generator.
_SEED = 1234


def _is_for_one_model(call: Call) -> bool:
    return call.has_parameter("draft_token_ids")


def _rows(call: Call, rows: list[Vector]) -> Any:
    return call.rows.array([rows] if _is_for_one_model(call) else rows)


def _generator(call: Call) -> Any:
    generator = torch_module("this interface").Generator()
    generator.manual_seed(call.coins.seed("generator", _SEED))
    return generator


def _read(call: Call, result: Any, wants: str) -> list[Verdict]:
    output, number = pair(result, wants)
    [drafted] = call.drafted
    if not _is_for_one_model(call):
        return [read_block(result, drafted, wants)]
    count = integer(number, "the number of tokens")
    accepted = tokens(output[0], "the accepted tokens")[:count]
    return [read_block(list(accepted), drafted, wants, padded=False)]


TENSORRT_LLM = Interface(
    name="tensorrt-llm",
    arguments={
        "draft_probs": lambda call: _rows(call, call.q[0]),
        "target_probs": lambda call: _rows(call, call.p[0]),
        "draft_tokens": lambda call: list(call.drafted[0]),
        "generator": _generator,
        "new_token": lambda call: call.coin.choose(call.p[0][-1]),
        "draft_token_ids": lambda call: call.rows.integers([list(call.drafted[0])]),
    },
    by_name=True,
    read=_read,
    takes="with draft_token_ids, for one model, arrays begin with an axis of 1",
    returns="(number of accepted tokens, token after them), or for one model (tokens (1, L + 1), their number (1,))",
    libraries=("torch",),
)
