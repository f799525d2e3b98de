"""The interfaces of flat batches: the coins interface, which hands over random numbers, and vLLM's rejection sampler.

FUNCTION is given what it names among its parameters, `n` being the number of drafted tokens of all requests:
draft_token_ids `(n,)`; cu_num_draft_tokens `(B,)`, cumulative; num_draft_tokens `(B,)`; max_spec_len, a number;
draft_probs `(n, V)`; target_probs `(n, V)`, or `(n + B, V)` with the bonus row of each request last where no bonus
parameter is asked for; bonus_probs `(B, V)`; bonus_token_ids `(B,)`, drawn from the bonus rows beforehand;
uniforms `(n,)`, final_uniforms `(B,)`: uniform coins in [0, 1); noise `(B, V)`: exponential coins of rate 1; gumbel
`(B, V)`: minus the logarithm of such ones. Other usual names of these are known too; see `noise`.

vLLM's `rejection_sample` of `vllm/v1/sample/rejection_sampler.py` and `RejectionSampler.forward` have num_draft_tokens
as a list, target_probs `(n, V)` and bonus_token_ids `(B, 1)`, and also target_logits `(n, V)`; logits `(n + B, V)`, the
rows of each request followed by its bonus row; metadata, with these arrays as attributes and the indices of the rows of
`logits`; sampling_metadata of requests that all sample at temperature 1, without masks and without seeds.
"""

from itertools import accumulate, chain
from types import SimpleNamespace
from typing import Any

from draftproof.simulator.audit.interfaces._call import Call, Interface, Maker, noise, read_whole, whole_outputs
from draftproof.simulator.protocol import Vector


def _targets(call: Call) -> Any:
    bonus_apart = any(parameter.name.startswith("bonus") for parameter in call.parameters)
    return call.rows.rows([row for rows in call.p for row in (rows[:-1] if bonus_apart else rows)], call.size)


#: What makes the argument of a name.
_OF_COINS: dict[str, Maker] = {
    "draft_token_ids": lambda call: call.rows.integers([*chain(*call.drafted)]),
    "cu_num_draft_tokens": lambda call: call.rows.integers([*accumulate(call.lengths)]),
    "num_draft_tokens": lambda call: call.rows.integers(call.lengths),
    "max_spec_len": lambda call: max(call.lengths),
    "draft_probs": lambda call: call.rows.rows([*chain(*call.q)], call.size),
    "target_probs": _targets,
    "bonus_probs": lambda call: call.rows.array([rows[-1] for rows in call.p]),
    "bonus_token_ids": lambda call: call.rows.integers([call.coin.choose(rows[-1]) for rows in call.p]),
}
#: The random numbers of a flat batch.
_NOISE = noise(lambda call: (sum(call.lengths),), lambda call: (len(call.nodes),))


COINS = Interface(
    name="coins",
    arguments=_OF_COINS,
    by_name=True,
    further=_NOISE,
    results=lambda call, result, wants: whole_outputs(call, list(result) if isinstance(result, tuple) else result),
    read=read_whole,
    returns="the output tokens of each request, shape (B, longest + 1), -1 where there is none",
    without_drafts=True,
    batches=True,
    libraries=("numpy", "python", "torch"),
)


def _judged(call: Call) -> list[Vector]:
    """The target rows that drafts of all requests are judged by."""
    return [row for rows in call.p for row in rows[:-1]]


def _metadata(call: Call) -> Any:
    ends = list(accumulate(len(path) for path in call.paths))
    bonus = [end - 1 for end in ends]
    rows = range(ends[-1])
    flat = ("draft_token_ids", "num_draft_tokens", "cu_num_draft_tokens", "max_spec_len")
    return SimpleNamespace(
        **{name: _OF_VLLM[name](call) for name in flat},
        cu_num_sampled_tokens=call.rows.integers(ends),
        target_logits_indices=call.rows.integers([row for row in rows if row not in bonus]),
        bonus_logits_indices=call.rows.integers(bonus),
        logits_indices=call.rows.integers(list(rows)),
    )


def _sampling_metadata(call: Call) -> Any:
    return SimpleNamespace(
        temperature=call.probabilities.array([1] * len(call.nodes)),
        all_greedy=False,
        all_random=True,
        top_p=None,
        top_k=None,
        generators={},
        max_num_logprobs=None,
        no_penalties=True,
        prompt_token_ids=None,
        output_token_ids=[[] for _ in call.nodes],
        spec_token_ids=None,
        allowed_token_ids_mask=None,
        bad_words_token_ids={},
        logitsprocs=SimpleNamespace(argmax_invariant=[], non_argmax_invariant=[]),
        logprob_token_ids=None,
        thinking_budget_state_holder=None,
    )


_OF_VLLM: dict[str, Maker] = {
    **_OF_COINS,
    "num_draft_tokens": lambda call: call.lengths,
    "target_probs": lambda call: call.rows.array(_judged(call)),
    "target_logits": lambda call: call.logits.array(_judged(call)),
    "logits": lambda call: call.logits.array([*chain(*call.p)]),
    "bonus_token_ids": lambda call: call.rows.integers([[call.coin.choose(rows[-1])] for rows in call.p]),
    "metadata": _metadata,
    "sampling_metadata": _sampling_metadata,
}


VLLM = Interface(
    name="vllm",
    arguments=_OF_VLLM,
    further=_NOISE,
    by_name=True,
    results=lambda call, result, wants: whole_outputs(call, getattr(result, "sampled_token_ids", result)),
    read=read_whole,
    returns="output_token_ids, shape (B, max_spec_len + 1), -1 where there is none",
    batches=True,
    libraries=("torch",),
)
