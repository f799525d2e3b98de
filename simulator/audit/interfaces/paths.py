"""The paths interface: FUNCTION takes the drafted paths, with `p` and `q` in dictionaries keyed by prefix."""

from draftproof.simulator.audit.interfaces._call import Interface, nodes_of, paths_of, read_block

PATHS = Interface(
    name="paths",
    arguments={
        "paths": lambda call: paths_of(call.root),
        "p": lambda call: {node.context: call.rows.array(node.target) for node in nodes_of(call.root)},
        "q": lambda call: {node.context: call.rows.array(node.draft) for node in nodes_of(call.root) if node.children},
    },
    read=lambda call, result, wants: [read_block(result, paths_of(call.root)[0], wants)],
    takes="(paths, p, q): list of token tuples, dictionaries from prefix tuple to row",
    returns="(accepted tokens, correction token), or the whole output as a list",
    without_drafts=True,
    multi_path=True,
)
