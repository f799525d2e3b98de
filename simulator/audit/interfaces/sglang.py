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

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from draftproof.simulator.audit.interfaces._call import (
    Call,
    Interface,
    Maker,
    integer,
    nodes_of,
    padded,
    read_counted,
)
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.protocol import DraftNode
from draftproof.simulator.symbolic import concrete

#: No token, no slot.
_NONE = -1


def _slots(call: Call) -> list[list[DraftNode]]:
    """The nodes of every request, one a slot."""
    return [nodes_of(root) for root in call.nodes]


def _most(call: Call) -> int:
    return max(map(len, _slots(call)))


def _links(nodes: list[DraftNode]) -> tuple[list[int], list[int]]:
    """For each slot the first child and the next sibling."""
    places = {node.context: place for place, node in enumerate(nodes)}
    first, following = [_NONE] * len(nodes), [_NONE] * len(nodes)
    for place, node in enumerate(nodes):
        children = [places[(*node.context, token)] for token in dict.fromkeys(node.children)]
        first[place] = children[0] if children else _NONE
        for child, sibling in pairwise(children):
            following[child] = sibling
    return first, following


def _by_slot(make: Callable[[list[DraftNode]], list[int]], filler: int) -> Maker:
    """Whole numbers by request and slot."""
    return lambda call: call.rows.integers(padded(list(map(make, _slots(call))), filler))


def _rows(name: str) -> Maker:
    """The rows "target" or "draft" by request and slot, zeros where there is none."""

    def make(call: Call) -> Any:
        nothing = [0] * call.size
        rows = [[getattr(node, name) for node in nodes] for nodes in _slots(call)]
        shown = [[nothing if row is None else row for row in own] for own in rows]
        return call.rows.array(padded(shown, nothing))

    return make


def _accept_index(call: Call) -> Any:
    longest = max(len(nodes[-1].context) - len(nodes[0].context) for nodes in _slots(call))
    return call.rows.integers([[_NONE] * (longest + 1)] * len(call.nodes))


def _uniforms(call: Call, *shape: int) -> Any:
    return call.coins.numbers("uniform", shape, call.rows.library, call.rows.dtype)


_ARGUMENTS: dict[str, Maker] = {
    "predicts": lambda call: call.rows.integers([_NONE] * (len(call.nodes) * _most(call))),
    "accept_index": _accept_index,
    "accept_token_num": lambda call: call.rows.integers([0] * len(call.nodes)),
    "candidates": _by_slot(lambda nodes: [0, *(node.context[-1] for node in nodes[1:])], 0),
    "retrive_index": lambda call: call.rows.integers(
        [[*range(place * _most(call), (place + 1) * _most(call))] for place in range(len(call.nodes))]
    ),
    "retrive_next_token": _by_slot(lambda nodes: _links(nodes)[0], _NONE),
    "retrive_next_sibling": _by_slot(lambda nodes: _links(nodes)[1], _NONE),
    "uniform_samples": lambda call: _uniforms(call, len(call.nodes), _most(call)),
    "uniform_samples_for_final_sampling": lambda call: _uniforms(call, len(call.nodes)),
    "target_probs": _rows("target"),
    "draft_probs": lambda call: call.rows.array([[[0] * call.size] * _most(call)] * len(call.nodes)),
    "threshold_single": lambda call: 1.0,
    "threshold_acc": lambda call: 1.0,
    "deterministic": lambda call: True,
}


def _results(call: Call, result: Any, wants: str) -> list[Any]:
    names = ("predicts", "accept_index", "accept_token_num")
    missing = [name for name in names if name not in call.made]
    if missing:
        raise InvalidVerifier(f"it has no parameter {missing[0]}; {wants}")
    buffers = [concrete(call.made[name]) for name in names]
    return [_output(buffers, request) for request in range(len(call.nodes))]


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


SGLANG = Interface(
    name="sglang",
    arguments=_ARGUMENTS,
    by_name=True,
    usual=lambda name: name.replace("retrieve", "retrive"),
    results=_results,
    read=read_counted,
    takes="draft_probs is 0",
    returns="the tokens in predicts at the slots accept_index[:, : accept_token_num + 1]",
    multi_path=True,
    batches=True,
    libraries=("torch",),
)
SGLANG_CHAIN = replace(
    SGLANG,
    name="sglang-chain",
    arguments={**_ARGUMENTS, "draft_probs": _rows("draft")},
    takes="one path, draft_probs is q",
    multi_path=False,
    ragged=False,
)
