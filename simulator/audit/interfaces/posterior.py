"""The posterior interface: FUNCTION takes the target of every position of every candidate path, as arrays.

`p[k, i]` is the row after `candidates[k, : i + 1]`; column 0 of the candidates is the token before the tree (0 here),
so a path of `L` drafted tokens has `L + 1` columns. Shorter paths are padded with -1 and zeros. A function with a third
positional parameter also gets `q`: `q[k, i]` is the row from which `candidates[k, i + 1]` was drawn, zeros at the end.
"""

import inspect
from typing import Any

from draftproof.simulator.arithmetic import to_fmpq
from draftproof.simulator.audit.interfaces._call import PLACEHOLDER, Call, Interface, integer, paths_of, shown
from draftproof.simulator.audit.interfaces.chain import by_request
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.protocol import Context, DraftNode, Verdict
from draftproof.simulator.symbolic import concrete


def _call(call: Call) -> list[Verdict]:
    requests = [paths_of(root) for root in call.nodes]
    depth = max(len(path) for paths in requests for path in paths)
    most = max(map(len, requests))
    size = len(call.nodes[0].target)
    parts: list[list[Any]] = [[], [], []]
    for root, paths in zip(call.nodes, requests, strict=True):
        padded: list[Context | None] = [*paths, *[None] * (most - len(paths))]
        parts[0].append([rows_on(root, path, "target", depth, size) for path in padded])
        parts[1].append([[0, *(path or ()), *[PLACEHOLDER] * (depth - len(path or ()))] for path in padded])
        parts[2].append([rows_on(root, path, "draft", depth, size) for path in padded])
    if not call.batched:
        parts = [part[0] for part in parts]
    arguments = [call.rows.array(parts[0]), call.rows.integers(parts[1]), call.rows.array(parts[2])]
    result = call(*arguments[: 3 if _wants_draft(call) else 2])
    if not call.batched:
        return [read_posterior(call, result, call.nodes[0], requests[0])]
    if isinstance(result, tuple) and len(result) == 3 and not all(isinstance(part, tuple) for part in result):
        result = list(zip(*(by_request(part, len(call.nodes)) for part in result), strict=True))
    return [
        read_posterior(call, item, root, paths)
        for item, root, paths in zip(by_request(result, len(call.nodes)), call.nodes, requests, strict=True)
    ]


def rows_on(root: DraftNode, path: Context | None, name: str, depth: int, size: int) -> list[Any]:
    """The rows "target" or "draft" of the nodes on a path, padded with zeros to `depth + 1`; None for no path."""
    node, rows = root, []
    for token in path or ():
        rows.append(getattr(node, name))
        node = node.child(token)
    if path is not None and name == "target":
        rows.append(node.target)
    return [*rows, *[[0] * size] * (depth + 1 - len(rows))]


def _wants_draft(call: Call) -> bool:
    try:
        parameters = inspect.signature(call.function).parameters.values()
    except (TypeError, ValueError):  # compiled functions tell nothing
        return False
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [
        parameter
        for parameter in parameters
        if parameter.kind in places and parameter.default is inspect.Parameter.empty
    ]
    return len([item for item in required if item.name not in call.keywords]) > 2


def read_posterior(call: Call, result: Any, root: DraftNode, paths: list[Context]) -> Verdict:
    """The block that `(best candidate, accept length, next token or row)` means; raises `InvalidVerifier`."""
    if not (isinstance(result, tuple) and len(result) == 3):
        raise InvalidVerifier(f"it returned {shown(result)}; the posterior interface wants {POSTERIOR.returns}")
    best = integer(result[0], "the best candidate")
    length = integer(result[1], "the accept length")
    if not 0 <= best < len(paths) or not 0 <= length <= len(paths[best]):
        raise InvalidVerifier(f"it accepted {length} tokens of candidate {best}; there are {len(paths)} candidates")
    accepted = root.context + paths[best][:length]
    plain = concrete(result[2])
    while isinstance(plain, list) and len(plain) == 1 and isinstance(plain[0], list):  # a row of a batch of one
        plain = plain[0]
    if not isinstance(plain, list) or len(plain) != len(root.target):
        return Verdict(accepted, integer(result[2], "the next token"))
    if not abs(float(sum(plain)) - 1) <= 1e-3:  # a row that is not normalised; finer flaws show in the law
        raise InvalidVerifier(f"the next-token row {shown(plain)} sums to {float(sum(plain)):g}, not 1")
    return Verdict(accepted, call.coin.choose([x if isinstance(x, float) else to_fmpq(x) for x in plain]))


POSTERIOR = Interface(
    name="posterior",
    takes="(p, candidates[, q]): shapes (paths, L + 1, V), (paths, L + 1), (paths, L + 1, V); B first in a batch",
    returns="(best candidate, accept length, next token or next-token row)",
    call=_call,
    multi_path=True,
    batches=True,
    library="numpy",
    libraries=("numpy", "torch"),
)
