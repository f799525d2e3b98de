"""The interface of EAGLE's `evaluate_posterior`, with the buffers of its trees.

By parameter name, with `K` candidate paths of the tree: logits `(K, L + 1, V)`, logarithms of `p`; candidates
`(K, L + 1)`, the pending token (0 here) first, shorter paths padded with -1; logits_processor, which changes nothing.
EAGLE-1 also asks for cart_candidates_prob `(K, L + 1)`, the probability with which each candidate was drawn, given its
earlier siblings, which it can not equal; tree_candidates `(1, N)`, the tokens of all nodes, the pending one first;
b_indices, by path and column, the places of the earlier siblings in these; op, by depth, the rows of `q` of the nodes
that have children; p_indices, by path and column, the place of the parent's row in these. EAGLE-1 draws siblings
without replacement, so audit it with `--scheme without_replacement`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from draftproof.simulator.audit.interfaces._call import PLACEHOLDER, Call, Interface, call_by_name, nodes_of, paths_of
from draftproof.simulator.audit.interfaces.posterior import read_posterior, rows_on
from draftproof.simulator.protocol import Context, DraftNode, Verdict


def unchanged(input_ids: Any, scores: Any) -> Any:
    """A logits processor that changes nothing."""
    return scores


class _Tree:
    """The arrays of one tree."""

    def __init__(self, call: Call, root: DraftNode) -> None:
        self.rows, self.root = call.rows, root
        self.paths = list(dict.fromkeys(paths_of(root)))
        self.depth = max(map(len, self.paths))
        self.nodes = nodes_of(root)

    def logits(self) -> Any:
        size = len(self.root.target)
        rows = [rows_on(self.root, path, "target", self.depth, size) for path in self.paths]
        return replace(self.rows, logits=True).array(rows)

    def candidates(self) -> Any:
        padded = [[0, *path, *[PLACEHOLDER] * (self.depth - len(path))] for path in self.paths]
        return self.rows.integers(padded)

    def tree_candidates(self) -> Any:
        return self.rows.integers([[0, *(node.context[-1] for node in self.nodes[1:])]])

    def cart_candidates_prob(self) -> Any:
        rows = [[1, *map(self._probability, self._steps(path))] for path in self.paths]
        return replace(self.rows, logits=False).array([[*row, *[0] * (self.depth + 1 - len(row))] for row in rows])

    def b_indices(self) -> list[list[list[int]]]:
        own = [[[], *map(self._earlier, self._steps(path))] for path in self.paths]
        return [[*row, *[[]] * (self.depth + 1 - len(row))] for row in own]

    def op(self) -> list[Any]:
        plain = replace(self.rows, logits=False)
        return [plain.array([node.draft for node in level]) for level in self._levels]

    def p_indices(self) -> list[list[int]]:
        own = [[0, *(self._row_place[parent.context] for parent, _ in self._steps(path))] for path in self.paths]
        return [[*row, *[0] * (self.depth + 1 - len(row))] for row in own]

    def _steps(self, path: Context) -> list[tuple[DraftNode, int]]:
        """Every parent on the path with the token that follows."""
        node, steps = self.root, []
        for token in path:
            steps.append((node, token))
            node = node.child(token)
        return steps

    @staticmethod
    def _siblings(step: tuple[DraftNode, int]) -> list[int]:
        parent, token = step
        drafted = list(dict.fromkeys(parent.children))
        return drafted[: drafted.index(token)]

    def _probability(self, step: tuple[DraftNode, int]) -> Any:
        parent, token = step
        left = sum(parent.draft) - sum(parent.draft[sibling] for sibling in self._siblings(step))
        return parent.draft[token] / left if left > 0 else parent.draft[token]

    def _earlier(self, step: tuple[DraftNode, int]) -> list[int]:
        return [self._places[(*step[0].context, sibling)] for sibling in self._siblings(step)]

    @cached_property
    def _places(self) -> Mapping[Context, int]:
        return {node.context: place for place, node in enumerate(self.nodes)}

    @cached_property
    def _levels(self) -> list[list[DraftNode]]:
        parents = [node for node in self.nodes if node.children]
        return [[node for node in parents if len(node.context) == depth] for depth in range(self.depth)]

    @cached_property
    def _row_place(self) -> Mapping[Context, int]:
        return {node.context: place for level in self._levels for place, node in enumerate(level)}


_ARGUMENTS: Mapping[str, Callable[[_Tree], Any]] = {
    "logits": _Tree.logits,
    "candidates": _Tree.candidates,
    "logits_processor": lambda tree: unchanged,
    "cart_candidates_prob": _Tree.cart_candidates_prob,
    "op": _Tree.op,
    "p_indices": _Tree.p_indices,
    "tree_candidates": _Tree.tree_candidates,
    "b_indices": _Tree.b_indices,
}


def _call(call: Call) -> list[Verdict]:
    tree = _Tree(call, call.nodes[0])

    def find(name: str) -> Callable[[], Any] | None:
        return partial(_ARGUMENTS[name], tree) if name in _ARGUMENTS else None

    return [read_posterior(call, call_by_name(call, find, EAGLE.name, ", ".join(_ARGUMENTS)), tree.root, tree.paths)]


EAGLE = Interface(
    name="eagle",
    takes=f"by parameter name: {', '.join(_ARGUMENTS)}",
    returns="(best candidate, accept length, next token or next-token row)",
    call=_call,
    multi_path=True,
    library="torch",
    libraries=("torch",),
)
