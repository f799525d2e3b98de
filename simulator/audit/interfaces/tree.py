"""The tree interface: FUNCTION takes the root of the draft tree."""

from typing import Any

from draftproof.simulator.audit.interfaces._call import Call, Interface, integer, pair, tokens
from draftproof.simulator.protocol import DraftNode, Verdict
from draftproof.simulator.user_code import NodeView


class _Node(NodeView):
    """A node for an audited function, which may set attributes and give tokens as numbers of any library."""

    def child(self, token: Any) -> NodeView:
        return super().child(int(token))


def _root(call: Call) -> _Node:
    def rows(node: DraftNode) -> tuple[Any, Any]:
        return call.rows.array(node.target), call.rows.array(node.draft) if node.children else None

    return _Node(call.root, rows, call.rows.array)


def _read(call: Call, result: Any, wants: str) -> list[Verdict]:
    if isinstance(result, Verdict):
        result = (result.accepted, result.correction)
    accepted, correction = pair(result, wants)
    return [Verdict(tokens(accepted, "the accepted part"), integer(correction, "the correction token"))]


TREE = Interface(
    name="tree",
    arguments={"root": _root},
    read=_read,
    takes="(root): the root node with context, target, draft, children, laws, child(token)",
    returns="(accepted tokens, correction token) or a Verdict",
    without_drafts=True,
    multi_path=True,
)
