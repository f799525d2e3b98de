"""The interfaces of SGLang's verification on the GPU: trees in arrays, results in buffers that the function fills.

For `tree_speculative_sampling_target_only`, which is told nothing of `q` (draft_probs is 0, and the function keeps
there what it rejected), and for `chain_speculative_sampling_triton`, which has the same parameters and reads `q`.

By parameter name, with `N` slots a request, its pending token first: candidates `(B, N)`; retrive_index `(B, N)`, the
slots numbered over all requests; retrive_next_token and retrive_next_sibling `(B, N)`, the first child and the next
sibling within the request, -1 for none; uniform_samples `(B, N)`; uniform_samples_for_final_sampling `(B,)`;
target_probs and draft_probs `(B, N, V)`; threshold_single and threshold_acc, both 1; deterministic, True. Buffers:
predicts `(B N,)`, accept_index `(B, longest path + 1)`, accept_token_num `(B,)`. Names with `retrieve` mean the same.
Drafts that are equal share a slot, as they do in SGLang; shorter requests have slots that nothing leads to. The
function for chains does not read these links: its requests have drafts of one length.
"""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

from draftproof.simulator.audit.interfaces._call import Call, Interface, call_by_name, integer, nodes_of
from draftproof.simulator.audit.interfaces.coins import read_requests
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.protocol import DraftNode, Verdict
from draftproof.simulator.symbolic import concrete

#: No token, no slot.
_NONE = -1


def _links(nodes: list[DraftNode]) -> tuple[list[int], list[int]]:
    """For each slot the first child and the next sibling."""
    places = {node.context: place for place, node in enumerate(nodes)}
    first, following = [_NONE] * len(nodes), [_NONE] * len(nodes)
    for place, node in enumerate(nodes):
        children = [places[(*node.context, token)] for token in dict.fromkeys(node.children)]
        first[place] = children[0] if children else _NONE
        for child, sibling in itertools.pairwise(children):
            following[child] = sibling
    return first, following


def _arguments(call: Call, requests: list[list[DraftNode]], with_draft: bool) -> dict[str, Any]:
    count, most, size = len(requests), max(map(len, requests)), len(requests[0][0].target)
    longest = max(len(nodes[-1].context) - len(nodes[0].context) for nodes in requests)
    links = [_links(nodes) for nodes in requests]
    whole, how = call.rows.integers, {"library": call.rows.library, "dtype": call.rows.dtype}

    def rows(name: str) -> Any:
        own = [[getattr(node, name) for node in nodes] for nodes in requests]
        nothing = [0] * size
        return call.rows.array([_padded([nothing if row is None else row for row in o], most, nothing) for o in own])

    return {
        "predicts": whole([_NONE] * (count * most)),
        "accept_index": whole([[_NONE] * (longest + 1)] * count),
        "accept_token_num": whole([0] * count),
        "candidates": whole([_padded([0, *(n.context[-1] for n in nodes[1:])], most, 0) for nodes in requests]),
        "retrive_index": whole([[request * most + slot for slot in range(most)] for request in range(count)]),
        "retrive_next_token": whole([_padded(first, most, _NONE) for first, _ in links]),
        "retrive_next_sibling": whole([_padded(following, most, _NONE) for _, following in links]),
        "uniform_samples": call.coins.uniforms((count, most), **how),
        "uniform_samples_for_final_sampling": call.coins.uniforms((count,), **how),
        "target_probs": rows("target"),
        "draft_probs": rows("draft") if with_draft else call.rows.array([[[0] * size] * most] * count),
        "threshold_single": 1.0,
        "threshold_acc": 1.0,
        "deterministic": True,
    }


def _padded(values: list[Any], length: int, filler: Any) -> list[Any]:
    return [*values, *[filler] * (length - len(values))]


def _tree(call: Call) -> list[Verdict]:
    return _verdicts(call, [nodes_of(root) for root in call.nodes], False, SGLANG)


def _chain(call: Call) -> list[Verdict]:
    return _verdicts(call, [first_path(root) for root in call.nodes], True, SGLANG_CHAIN)


def _verdicts(call: Call, requests: list[list[DraftNode]], with_draft: bool, interface: Interface) -> list[Verdict]:
    arguments = _arguments(call, requests, with_draft)

    def find(name: str) -> Callable[[], Any] | None:
        usual = name.replace("retrieve", "retrive")
        return partial(arguments.get, usual) if usual in arguments else None

    call_by_name(call, find, interface.name, ", ".join(arguments))
    buffers = [concrete(arguments[name]) for name in ("predicts", "accept_index", "accept_token_num")]
    outputs = [_output(buffers, request) for request in range(len(requests))]
    return read_requests(outputs, [first_path(root) for root in call.nodes], interface, padded=False)


def _output(buffers: list[Any], request: int) -> list[Any]:
    """The tokens of a request that were written after its accepted slots."""
    predicts, accept_index, accept_token_num = buffers
    accepted = integer(accept_token_num[request], "the number of accepted tokens")
    if not 0 <= accepted < len(accept_index[request]):
        raise InvalidVerifier(f"accept_token_num is {accepted}; the longest path has {len(accept_index[request]) - 1}")
    slots = [integer(slot, "a slot of accept_index") for slot in accept_index[request][: accepted + 1]]
    wrong = next((slot for slot in slots if not 0 <= slot < len(predicts)), None)
    if wrong is not None:
        raise InvalidVerifier(f"accept_index holds {slots}, of which {wrong} is no slot")
    return [predicts[slot] for slot in slots]


_NAMES = """candidates, retrive_index, retrive_next_token, retrive_next_sibling, uniform_samples,
uniform_samples_for_final_sampling, target_probs, draft_probs, thresholds"""
_TAKES = f"by parameter name: buffers predicts, accept_index, accept_token_num; {' '.join(_NAMES.split())}"
_RETURNS = "the tokens in predicts at the slots accept_index[:, : accept_token_num + 1]"

SGLANG = Interface(
    name="sglang",
    takes=f"{_TAKES}; draft_probs is 0",
    returns=_RETURNS,
    call=_tree,
    multi_path=True,
    batches=True,
    library="torch",
    libraries=("torch",),
)
SGLANG_CHAIN = Interface(
    name="sglang-chain",
    takes=f"{_TAKES}; one path, draft_probs is q",
    returns=_RETURNS,
    call=_chain,
    batches=True,
    ragged=False,
    library="torch",
    libraries=("torch",),
)
