"""The paths interface: FUNCTION takes the drafted paths, with `p` and `q` in dictionaries keyed by prefix."""

from typing import Any

from draftproof.simulator.audit.interfaces._call import Call, Interface, nodes_of, paths_of, read_block
from draftproof.simulator.protocol import Context, Verdict


def _call(call: Call) -> list[Verdict]:
    root = call.nodes[0]
    p: dict[Context, Any] = {}
    q: dict[Context, Any] = {}
    for node in nodes_of(root):
        p[node.context] = call.rows.array(node.target)
        if node.children:
            q[node.context] = call.rows.array(node.draft)
    paths = paths_of(root)
    result = call(paths, p, q)
    return [read_block(result, paths[0], f"the paths interface wants {PATHS.returns}")]


PATHS = Interface(
    name="paths",
    takes="(paths, p, q): list of token tuples, dictionaries from prefix tuple to row",
    returns="(accepted tokens, correction token), or the whole output as a list",
    call=_call,
    without_drafts=True,
    multi_path=True,
)
