"""The interfaces of whole trees: FUNCTION takes the root of the draft tree, or the drafted paths.

For paths, `p` and `q` come in dictionaries keyed by prefix.
"""

from typing import Any

from draftproof.simulator.audit.interfaces._call import (
    NOISE_OF_TREE,
    Call,
    Interface,
    integer,
    nodes_of,
    pair,
    paths_of,
    read_block,
    tokens,
)
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


def _read(call: Call, result: Any, root: DraftNode, wants: str) -> Verdict:
    if isinstance(result, Verdict):
        result = (result.accepted, result.correction)
    accepted, correction = pair(result, wants)
    return Verdict(tokens(accepted, "the accepted part"), integer(correction, "the correction token"))


TREE = Interface(
    name="tree",
    arguments={"root": _root},
    further=NOISE_OF_TREE,
    read=_read,
    takes="(root): the root node with context, target, draft, children, laws, child(token)",
    returns="(accepted tokens, correction token) or a Verdict",
    without_drafts=True,
    multi_path=True,
)

PATHS = Interface(
    name="paths",
    arguments={
        "paths": lambda call: paths_of(call.root),
        "p": lambda call: {node.context: call.rows.array(node.target) for node in nodes_of(call.root)},
        "q": lambda call: {node.context: call.rows.array(node.draft) for node in nodes_of(call.root) if node.children},
    },
    further=NOISE_OF_TREE,
    read=lambda call, result, root, wants: read_block(result, paths_of(root)[0], wants),
    takes="(paths, p, q): list of token tuples, dictionaries from prefix tuple to row",
    returns="(accepted tokens, correction token), or the whole output as a list",
    without_drafts=True,
    multi_path=True,
)
