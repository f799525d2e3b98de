"""The tree interface: FUNCTION takes the root of the draft tree."""

from typing import Any

from draftproof.simulator.audit.interfaces._call import Call, Interface, integer, shown, tokens
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.protocol import DraftNode, Verdict
from draftproof.simulator.user_code import NodeView


class _Node(NodeView):
    """A node for an audited function, which may set attributes and give tokens as numbers of any library."""

    def child(self, token: Any) -> NodeView:
        return super().child(int(token))


def _call(call: Call) -> list[Verdict]:
    def rows(node: DraftNode) -> tuple[Any, Any]:
        return call.rows.array(node.target), call.rows.array(node.draft) if node.children else None

    result: Any = call(_Node(call.nodes[0], rows, call.rows.array))
    if isinstance(result, Verdict):
        result = (result.accepted, result.correction)
    if not (isinstance(result, tuple) and len(result) == 2):
        raise InvalidVerifier(f"it returned {shown(result)}; the tree interface wants {TREE.returns}")
    return [Verdict(tokens(result[0], "the accepted part"), integer(result[1], "the correction token"))]


TREE = Interface(
    name="tree",
    takes="(root): the root node with context, target, draft, children, laws, child(token)",
    returns="(accepted tokens, correction token) or a Verdict",
    call=_call,
    without_drafts=True,
    multi_path=True,
)
