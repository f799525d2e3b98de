"""The posterior interface: FUNCTION takes the target of every position of every candidate path, as arrays.

`p[k, i]` is the row after `candidates[k, : i + 1]`; column 0 of the candidates is the token before the tree (0 here),
so a path of `L` drafted tokens has `L + 1` columns. Shorter paths are padded with -1 and zeros. A function with a third
positional parameter also gets `q`: `q[k, i]` is the row from which `candidates[k, i + 1]` was drawn, zeros at the end.
"""

from collections.abc import Sequence
from typing import Any

from draftproof.simulator.arithmetic import to_fmpq
from draftproof.simulator.audit.interfaces._call import (
    PLACEHOLDER,
    Call,
    Interface,
    by_request,
    integer,
    padded_to,
    pair,
    paths_of,
    shown,
)
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.protocol import Context, DraftNode, Verdict
from draftproof.simulator.symbolic import concrete


def _requests(call: Call) -> list[list[Context | None]]:
    """The paths of every request, with None behind them where another request has more."""
    requests = [paths_of(root) for root in call.nodes]
    return [padded_to(max(map(len, requests)), paths, None) for paths in requests]


def _depth(call: Call) -> int:
    return max(len(path or ()) for paths in _requests(call) for path in paths)


def _candidates(call: Call) -> Any:
    width = _depth(call) + 1
    requests = [[padded_to(width, [0, *(path or ())], PLACEHOLDER) for path in paths] for paths in _requests(call)]
    return call.rows.integers(requests if call.batched else requests[0])


def _rows(call: Call, name: str) -> Any:
    requests = [
        [rows_on(root, path, name, _depth(call)) for path in paths]
        for root, paths in zip(call.nodes, _requests(call), strict=True)
    ]
    return call.rows.array(requests if call.batched else requests[0])


def rows_on(root: DraftNode, path: Context | None, name: str, depth: int) -> list[Any]:
    """The rows "target" or "draft" of the nodes on a path, padded with zeros to `depth + 1`; zeros for no path."""
    node, rows = root, []
    for token in path or ():
        rows.append(getattr(node, name))
        node = node.child(token)
    if path is not None and name == "target":
        rows.append(node.target)
    return padded_to(depth + 1, rows, [0] * len(root.target))


def _count(call: Call) -> int:
    required = [
        parameter.name
        for parameter in call.parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is parameter.empty
    ]
    return 3 if len([name for name in required if name not in call.keywords]) > 2 else 2


def _read(call: Call, result: Any, wants: str) -> list[Verdict]:
    if not call.batched:
        return [read_posterior(call, result, call.root, paths_of(call.root), wants)]
    if isinstance(result, tuple) and len(result) == 3 and not all(isinstance(part, tuple) for part in result):
        result = list(zip(*(by_request(part, len(call.nodes)) for part in result), strict=True))
    return [
        read_posterior(call, item, root, paths_of(root), wants)
        for item, root in zip(by_request(result, len(call.nodes)), call.nodes, strict=True)
    ]


def read_posterior(call: Call, result: Any, root: DraftNode, paths: Sequence[Context], wants: str) -> Verdict:
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
    arguments={
        "p": lambda call: _rows(call, "target"),
        "candidates": _candidates,
        "q": lambda call: _rows(call, "draft"),
    },
    count=_count,
    read=_read,
    takes="(p, candidates[, q]): shapes (paths, L + 1, V), (paths, L + 1), (paths, L + 1, V); B first in a batch",
    returns="(best candidate, accept length, next token or next-token row)",
    multi_path=True,
    batches=True,
    libraries=("numpy", "torch"),
)
