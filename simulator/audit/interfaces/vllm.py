"""The interface of vLLM's rejection sampler: flat batches, a bonus token that is drawn beforehand.

For `rejection_sample` of `vllm/v1/sample/rejection_sampler.py`, and for `RejectionSampler.forward`. Beyond what the
coins interface knows: num_draft_tokens, a list; bonus_token_ids `(B, 1)`; target_logits `(n, V)`; logits `(n + B, V)`,
the rows of each request followed by its bonus row; metadata, with these arrays as attributes and the indices of the
rows of `logits`; sampling_metadata of requests that all sample at temperature 1, without masks and without seeds.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

from draftproof.simulator.audit.interfaces._call import Call, Interface, call_by_name
from draftproof.simulator.audit.interfaces.coins import ARGUMENTS, Paths, read_requests
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.protocol import Verdict


def _logits(call: Call, paths: Paths, bonus: bool) -> Any:
    nodes = [node for path in paths for node in (path if bonus else path[:-1])]
    return replace(call.rows, logits=True).array([node.target for node in nodes])


def _bonus_token_ids(call: Call, paths: Paths) -> Any:
    return call.rows.integers([[call.coin.choose(path[-1].target)] for path in paths])


def _metadata(call: Call, paths: Paths) -> Any:
    ends = list(accumulate(len(path) for path in paths))
    bonus = [end - 1 for end in ends]
    rows = range(ends[-1])
    flat = ("draft_token_ids", "num_draft_tokens", "cu_num_draft_tokens", "max_spec_len")
    return SimpleNamespace(
        **{name: _ARGUMENTS[name](call, paths) for name in flat},
        cu_num_sampled_tokens=call.rows.integers(ends),
        target_logits_indices=call.rows.integers([row for row in rows if row not in bonus]),
        bonus_logits_indices=call.rows.integers(bonus),
        logits_indices=call.rows.integers(list(rows)),
    )


def _sampling_metadata(call: Call, paths: Paths) -> Any:
    return SimpleNamespace(
        temperature=replace(call.rows, logits=False).array([1] * len(paths)),
        all_greedy=False,
        all_random=True,
        top_p=None,
        top_k=None,
        generators={},
        max_num_logprobs=None,
        no_penalties=True,
        prompt_token_ids=None,
        output_token_ids=[[] for _ in paths],
        spec_token_ids=None,
        allowed_token_ids_mask=None,
        bad_words_token_ids={},
        logitsprocs=SimpleNamespace(argmax_invariant=[], non_argmax_invariant=[]),
        logprob_token_ids=None,
        thinking_budget_state_holder=None,
    )


_ARGUMENTS: Mapping[str, Callable[[Call, Paths], Any]] = {
    **ARGUMENTS,
    "num_draft_tokens": lambda call, paths: [len(path) - 1 for path in paths],
    "target_probs": lambda call, paths: call.rows.array([node.target for path in paths for node in path[:-1]]),
    "target_logits": partial(_logits, bonus=False),
    "logits": partial(_logits, bonus=True),
    "bonus_token_ids": _bonus_token_ids,
    "metadata": _metadata,
    "sampling_metadata": _sampling_metadata,
}


def _call(call: Call) -> list[Verdict]:
    paths = [first_path(root) for root in call.nodes]

    def find(name: str) -> Callable[[], Any] | None:
        return partial(_ARGUMENTS[name], call, paths) if name in _ARGUMENTS else None

    result = call_by_name(call, find, VLLM.name, ", ".join(_ARGUMENTS))
    return read_requests(getattr(result, "sampled_token_ids", result), paths, VLLM)


VLLM = Interface(
    name="vllm",
    takes=f"by parameter name: {', '.join(_ARGUMENTS)}",
    returns="output_token_ids, shape (B, max_spec_len + 1), -1 where there is none",
    call=_call,
    batches=True,
    library="torch",
    libraries=("torch",),
)
