"""The interface of vLLM's rejection sampler: flat batches, a bonus token that is drawn beforehand.

For `rejection_sample` of `vllm/v1/sample/rejection_sampler.py`, and for `RejectionSampler.forward`. Beyond what the
coins interface knows: num_draft_tokens, a list; bonus_token_ids `(B, 1)`; target_logits `(n, V)`; logits `(n + B, V)`,
the rows of each request followed by its bonus row; metadata, with these arrays as attributes and the indices of the
rows of `logits`; sampling_metadata of requests that all sample at temperature 1, without masks and without seeds.
"""

from itertools import accumulate, chain
from types import SimpleNamespace
from typing import Any

from draftproof.simulator.audit.interfaces._call import Call, Interface, Maker, read_requests
from draftproof.simulator.audit.interfaces.coins import ARGUMENTS, NOISE
from draftproof.simulator.protocol import Vector


def _judged(call: Call) -> list[Vector]:
    """The target rows that drafts of all requests are judged by."""
    return [row for rows in call.p for row in rows[:-1]]


def _metadata(call: Call) -> Any:
    ends = list(accumulate(len(path) for path in call.paths))
    bonus = [end - 1 for end in ends]
    rows = range(ends[-1])
    flat = ("draft_token_ids", "num_draft_tokens", "cu_num_draft_tokens", "max_spec_len")
    return SimpleNamespace(
        **{name: _ARGUMENTS[name](call) for name in flat},
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


_ARGUMENTS: dict[str, Maker] = {
    **ARGUMENTS,
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
    arguments=_ARGUMENTS,
    further=NOISE,
    by_name=True,
    read=lambda call, result, wants: read_requests(call, getattr(result, "sampled_token_ids", result), wants),
    returns="output_token_ids, shape (B, max_spec_len + 1), -1 where there is none",
    batches=True,
    libraries=("torch",),
)
