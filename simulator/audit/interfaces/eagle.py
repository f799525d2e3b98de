"""The interface of EAGLE's `evaluate_posterior`, with the buffers of its trees.

By parameter name, with `K` candidate paths of the tree: logits `(K, L + 1, V)`, logarithms of `p`; candidates
`(K, L + 1)`, the pending token (0 here) first, shorter paths padded with -1; logits_processor, which changes nothing.
EAGLE-1 also asks for cart_candidates_prob `(K, L + 1)`, the probability with which each candidate was drawn, given its
earlier siblings, which it can not equal; tree_candidates `(1, N)`, the tokens of all nodes, the pending one first;
b_indices, by path and column, the places of the earlier siblings in these; op, by depth, the rows of `q` of the nodes
that have children; p_indices, by path and column, the place of the parent's row in these. EAGLE-1 draws siblings
without replacement, so audit it with `--scheme without_replacement`.
"""

from typing import Any

from draftproof.simulator.audit.interfaces._call import (
    PLACEHOLDER,
    Call,
    Interface,
    nodes_of,
    padded_to,
    paths_of,
)
from draftproof.simulator.audit.interfaces.posterior import read_posterior, rows_on
from draftproof.simulator.protocol import Context, DraftNode

#: A node on a path, and the token that follows it there.
Step = tuple[DraftNode, int]


def unchanged(input_ids: Any, scores: Any) -> Any:
    """A logits processor that changes nothing."""
    return scores


def _paths(call: Call) -> list[Context]:
    return list(dict.fromkeys(paths_of(call.root)))


def _depth(call: Call) -> int:
    return max(map(len, _paths(call)))


def _cart_candidates_prob(call: Call) -> Any:
    rows = [[1, *map(_probability, _steps(call, path))] for path in _paths(call)]
    return call.probabilities.array([padded_to(_depth(call) + 1, row, 0) for row in rows])


def _b_indices(call: Call) -> list[list[list[int]]]:
    places = {node.context: place for place, node in enumerate(nodes_of(call.root))}

    def earlier(step: Step) -> list[int]:
        return [places[(*step[0].context, sibling)] for sibling in _earlier_siblings(step)]

    rows = [[[], *map(earlier, _steps(call, path))] for path in _paths(call)]
    return [padded_to(_depth(call) + 1, row, []) for row in rows]


def _p_indices(call: Call) -> list[list[int]]:
    places = {node.context: place for level in _levels(call) for place, node in enumerate(level)}
    rows = [[0, *(places[parent.context] for parent, _ in _steps(call, path))] for path in _paths(call)]
    return [padded_to(_depth(call) + 1, row, 0) for row in rows]


def _levels(call: Call) -> list[list[DraftNode]]:
    """The nodes that have children, by depth."""
    parents = [node for node in nodes_of(call.root) if node.children]
    return [[node for node in parents if len(node.context) == depth] for depth in range(_depth(call))]


def _steps(call: Call, path: Context) -> list[Step]:
    node, steps = call.root, []
    for token in path:
        steps.append((node, token))
        node = node.child(token)
    return steps


def _earlier_siblings(step: Step) -> list[int]:
    parent, token = step
    drafted = list(dict.fromkeys(parent.children))
    return drafted[: drafted.index(token)]


def _probability(step: Step) -> Any:
    parent, token = step
    left = sum(parent.draft) - sum(parent.draft[sibling] for sibling in _earlier_siblings(step))
    return parent.draft[token] / left if left > 0 else parent.draft[token]


EAGLE = Interface(
    name="eagle",
    arguments={
        "logits": lambda call: call.logits.array(
            [rows_on(call.root, path, "target", _depth(call)) for path in _paths(call)]
        ),
        "candidates": lambda call: call.rows.integers(
            [padded_to(_depth(call) + 1, [0, *path], PLACEHOLDER) for path in _paths(call)]
        ),
        "logits_processor": lambda call: unchanged,
        "cart_candidates_prob": _cart_candidates_prob,
        "op": lambda call: [call.probabilities.array([node.draft for node in level]) for level in _levels(call)],
        "p_indices": _p_indices,
        "tree_candidates": lambda call: call.rows.integers(
            [[0, *(node.context[-1] for node in nodes_of(call.root)[1:])]]
        ),
        "b_indices": _b_indices,
    },
    by_name=True,
    read=lambda call, result, wants: [read_posterior(call, result, call.root, _paths(call), wants)],
    returns="(best candidate, accept length, next token or next-token row)",
    multi_path=True,
    libraries=("torch",),
)
