"""The tree interface: FUNCTION takes the root of the draft tree."""

from __future__ import annotations

from typing import Any

from draftproof.simulator.audit.interfaces._call import Call, Interface, shown, tokens, whole
from draftproof.simulator.audit.rows import RowForm
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.protocol import Context, DraftNode, Vector, Verdict


class HandedNode:
    """A node of the tree with its rows in the form that the function wants; see `simulator.protocol.DraftNode`."""

    def __init__(self, node: DraftNode, rows: RowForm) -> None:
        self._node = node
        self._rows = rows
        self._children: dict[int, HandedNode] = {}
        self.context: Context = node.context
        self.children: tuple[int, ...] = node.children
        self.target: Vector = rows.array(node.target)
        self.draft: Vector = rows.array(node.draft) if node.children else None

    def child(self, token: int) -> HandedNode:
        """The node after a drafted token."""
        token = int(token)
        if token not in self._children:
            self._children[token] = HandedNode(self._node.child(token), self._rows)
        return self._children[token]


def _call(call: Call) -> list[Verdict]:
    result: Any = call(HandedNode(call.nodes[0], call.rows))
    if isinstance(result, Verdict):
        result = (result.accepted, result.correction)
    if not (isinstance(result, tuple) and len(result) == 2):
        raise InvalidVerifier(f"it returned {shown(result)}; the tree interface wants {TREE.returns}")
    return [Verdict(tokens(result[0], "the accepted part"), whole(result[1], "the correction token"))]


TREE = Interface(
    name="tree",
    takes="(root): the root node with context, target, draft, children, child(token)",
    returns="(accepted tokens, correction token) or a Verdict",
    call=_call,
    multi_path=True,
)
