"""The interfaces of candidate paths as arrays: posterior, and EAGLE's `evaluate_posterior` with buffers of its trees.

posterior: FUNCTION takes the target of every position of every candidate path. `p[k, i]` is the row after
`candidates[k, : i + 1]`; column 0 of the candidates is the token before the tree (0 here), so a path of `L` drafted
tokens has `L + 1` columns. Shorter paths are padded with -1 and zeros. A function with a third positional parameter
also gets `q`: `q[k, i]` is the row from which `candidates[k, i + 1]` was drawn, zeros at the end.

eagle, by parameter name, with `K` candidate paths of the tree: logits `(K, L + 1, V)`, logarithms of `p`; candidates
`(K, L + 1)`; logits_processor, which changes nothing. EAGLE-1 also asks for cart_candidates_prob `(K, L + 1)`, the
probability with which each candidate was drawn, given its earlier siblings, which it can not equal; tree_candidates
`(1, N)`, the tokens of all nodes, the pending one first; b_indices, by path and column, the places of the earlier
siblings in these; op, by depth, the rows of `q` of the nodes that have children; p_indices, by path and column, the
place of the parent's row in these. EAGLE-1 draws siblings without replacement, so audit it with
`--scheme without_replacement`.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from draftproof.simulator.arithmetic import to_fmpq
from draftproof.simulator.audit.interfaces._call import (
    PLACEHOLDER,
    Call,
    Interface,
    by_request,
    integer,
    nodes_of,
    own_results,
    padded,
    pair,
    paths_of,
    shown,
)
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.protocol import Context, DraftNode, Verdict
from draftproof.simulator.symbolic import concrete


def _after(path: Context, root: DraftNode, value: Callable[[DraftNode, int], Any]) -> list[Any]:
    """What each step of a path gives: of the node before it, and its token."""
    node, values = root, []
    for token in path:
        values.append(value(node, token))
        node = node.child(token)
    return values


def _by_path(call: Call, of_path: Callable[[Context, DraftNode], list[Any]], filler: Any) -> list[Any]:
    """Lists for every path of every request, all as long as the longest; empty ones where another has more paths."""
    requests = padded([[of_path(path, root) for path in paths_of(root)] for root in call.nodes], [])
    longest = padded([values for request in requests for values in request], filler)
    rows = [longest[place : place + len(requests[0])] for place in range(0, len(longest), len(requests[0]))]
    return rows if call.batched else rows[0]


def _candidates(call: Call) -> Any:
    return call.rows.integers(_by_path(call, lambda path, root: [0, *path], PLACEHOLDER))


def _target(call: Call) -> Any:
    def rows(path: Context, root: DraftNode) -> list[Any]:
        return [root.target, *_after(path, root, lambda node, token: node.child(token).target)]

    return call.rows.array(_by_path(call, rows, [0] * call.size))


def _draft(call: Call) -> Any:
    def rows(path: Context, root: DraftNode) -> list[Any]:
        return [*_after(path, root, lambda node, token: node.draft), [0] * call.size]

    return call.rows.array(_by_path(call, rows, [0] * call.size))


def _count(call: Call) -> int:
    required = [
        parameter.name
        for parameter in call.parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is parameter.empty
    ]
    return 3 if len([name for name in required if name not in call.keywords]) > 2 else 2


def _results(call: Call, result: Any, wants: str) -> Sequence[Any]:
    arrays = isinstance(result, tuple) and len(result) == 3 and not all(isinstance(part, tuple) for part in result)
    if call.batched and arrays:
        return list(zip(*(by_request(part, len(call.nodes)) for part in result), strict=True))
    return own_results(call, result, wants)


def _block(call: Call, result: Any, root: DraftNode, paths: Sequence[Context], wants: str) -> Verdict:
    """The block that `(best candidate, accept length, next token or row)` means; raises `InvalidVerifier`."""
    candidate, accepts, last = pair(result, wants, 3)
    best = integer(candidate, "the best candidate")
    length = integer(accepts, "the accept length")
    if not 0 <= best < len(paths) or not 0 <= length <= len(paths[best]):
        raise InvalidVerifier(f"it accepted {length} tokens of candidate {best}; there are {len(paths)} candidates")
    accepted = root.context + paths[best][:length]
    plain = concrete(last)
    while isinstance(plain, list) and len(plain) == 1 and isinstance(plain[0], list):  # a row of a batch of one
        plain = plain[0]
    if not isinstance(plain, list) or len(plain) != len(root.target):
        return Verdict(accepted, integer(last, "the next token"))
    if not abs(float(sum(plain)) - 1) <= 1e-3:  # a row that is not normalised; finer flaws show in the law
        raise InvalidVerifier(f"the next-token row {shown(plain)} sums to {float(sum(plain)):g}, not 1")
    return Verdict(accepted, call.coin.choose([x if isinstance(x, float) else to_fmpq(x) for x in plain]))


POSTERIOR = Interface(
    name="posterior",
    arguments={"p": _target, "candidates": _candidates, "q": _draft},
    count=_count,
    results=_results,
    read=lambda call, result, root, wants: _block(call, result, root, paths_of(root), wants),
    takes="(p, candidates[, q]): shapes (paths, L + 1, V), (paths, L + 1), (paths, L + 1, V); B first in a batch",
    returns="(best candidate, accept length, next token or next-token row)",
    multi_path=True,
    batches=True,
    libraries=("numpy", "torch"),
)


def unchanged(input_ids: Any, scores: Any) -> Any:
    """A logits processor that changes nothing."""
    return scores


def _paths(call: Call) -> list[Context]:
    """Those of EAGLE's trees, whose nodes have different children."""
    return list(dict.fromkeys(paths_of(call.root)))


def _columns(call: Call, first: Any, value: Callable[[DraftNode, int], Any], filler: Any) -> list[list[Any]]:
    """By path and column: something for the pending token, then what every step gives."""
    return padded([[first, *_after(path, call.root, value)] for path in _paths(call)], filler)


def _earlier(parent: DraftNode, token: int) -> list[int]:
    """The siblings before a drafted token."""
    drafted = list(dict.fromkeys(parent.children))
    return drafted[: drafted.index(token)]


def _probability(parent: DraftNode, token: int) -> Any:
    left = sum(parent.draft) - sum(parent.draft[sibling] for sibling in _earlier(parent, token))
    return parent.draft[token] / left if left > 0 else parent.draft[token]


def _b_indices(call: Call) -> list[list[list[int]]]:
    places = {node.context: place for place, node in enumerate(nodes_of(call.root))}
    return _columns(
        call, [], lambda parent, token: [places[(*parent.context, other)] for other in _earlier(parent, token)], []
    )


def _levels(call: Call) -> list[list[DraftNode]]:
    """The nodes that have children, by depth."""
    parents = [node for node in nodes_of(call.root) if node.children]
    return [list(level) for _, level in groupby(parents, key=lambda node: len(node.context))]


def _p_indices(call: Call) -> list[list[int]]:
    places = {node.context: place for level in _levels(call) for place, node in enumerate(level)}
    return _columns(call, 0, lambda parent, token: places[parent.context], 0)


EAGLE = Interface(
    name="eagle",
    arguments={
        "logits": lambda call: call.logits.array(
            _columns(call, call.root.target, lambda parent, token: parent.child(token).target, [0] * call.size)
        ),
        "candidates": lambda call: call.rows.integers(_columns(call, 0, lambda parent, token: token, PLACEHOLDER)),
        "logits_processor": lambda call: unchanged,
        "cart_candidates_prob": lambda call: call.probabilities.array(_columns(call, 1, _probability, 0)),
        "op": lambda call: [call.probabilities.array([node.draft for node in level]) for level in _levels(call)],
        "p_indices": _p_indices,
        "tree_candidates": lambda call: call.rows.integers(
            [[0, *(node.context[-1] for node in nodes_of(call.root)[1:])]]
        ),
        "b_indices": _b_indices,
    },
    by_name=True,
    read=lambda call, result, root, wants: _block(call, result, root, _paths(call), wants),
    returns="(best candidate, accept length, next token or next-token row)",
    multi_path=True,
    libraries=("torch",),
)
