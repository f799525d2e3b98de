"""The interfaces of engines whose functions take one request: transformers, TensorRT-LLM.

transformers' `_speculative_sampling` gets logits of one path: `candidate_input_ids (1, L)`, `candidate_logits (1, L,
V)`, `candidate_length`, `new_logits (1, L + 1, V)`, and before version 5 `is_done_candidate`, False; it returns the
output tokens `(1, n + 1)` and the number `n` of accepted ones.

TensorRT-LLM, by parameter name. For the sampler (`get_rejected_indices`, `sample_rejected` of `_torch/pyexecutor`):
draft_probs `(L, V)`; target_probs `(L + 1, V)`; draft_tokens, a list; generator, of torch; new_token, the token that
the target sampled after the last draft. The two functions are joined by an adapter, which returns the number of
accepted tokens and the token after them. For one model (`rejection_sampling_one_model` of `_torch/speculative`):
draft_token_ids `(1, L)`, draft_probs `(1, L, V)`, target_probs `(1, L + 1, V)`; it returns the tokens and how many
there are.
"""

from typing import Any

from draftproof.simulator.audit.interfaces._call import Call, Interface, integer, pair, read_block, tokens
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.lazy import torch_module
from draftproof.simulator.protocol import DraftNode, Vector, Verdict

#: The seed of the generator.
_SEED = 1234


def _read_matches(call: Call, result: Any, root: DraftNode, wants: str) -> Verdict:
    outputs, matches = pair(result, wants)
    output = tokens(outputs[0], "the output")
    count = integer(matches, "the number of matches")
    if count != len(output) - 1:
        raise InvalidVerifier(f"it says that {count} tokens were accepted and returns {len(output)} tokens")
    return Verdict(output[:-1], output[-1])


TRANSFORMERS = Interface(
    name="transformers",
    arguments={
        "candidate_input_ids": lambda call: call.rows.integers([list(path) for path in call.drafted]),
        "candidate_logits": lambda call: call.logits.array(call.q),
        "candidate_length": lambda call: call.lengths[0],
        "new_logits": lambda call: call.logits.array(call.p),
    },
    further={"is_done_candidate": lambda call: False},
    read=_read_matches,
    takes="(candidate_input_ids, candidate_logits, candidate_length, new_logits)",
    returns="(output tokens (1, n + 1), number of accepted tokens n)",
    libraries=("torch",),
)


def _is_for_one_model(call: Call) -> bool:
    return any(parameter.name == "draft_token_ids" for parameter in call.parameters)


def _rows(call: Call, rows: list[Vector]) -> Any:
    return call.rows.array([rows] if _is_for_one_model(call) else rows)


def _generator(call: Call) -> Any:
    generator = torch_module("this interface").Generator()
    generator.manual_seed(call.coins.seed("generator", _SEED))
    return generator


def _read_number(call: Call, result: Any, root: DraftNode, wants: str) -> Verdict:
    output, number = pair(result, wants)
    if not _is_for_one_model(call):
        return read_block(result, call.drafted[0], wants)
    count = integer(number, "the number of tokens")
    return read_block(list(tokens(output[0], "the accepted tokens")[:count]), (), wants, padded=False)


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
    read=_read_number,
    takes="with draft_token_ids, for one model, arrays begin with an axis of 1",
    returns="(number of accepted tokens, token after them), or for one model (tokens (1, L + 1), their number (1,))",
    libraries=("torch",),
)
