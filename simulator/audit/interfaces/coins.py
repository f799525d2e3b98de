"""The coins interface: FUNCTION gets its random numbers as arguments, and a ragged batch as flat arrays.

It asks for what it wants by the names of its parameters, `n` being the number of drafted tokens of all requests:
draft_token_ids `(n,)`; cu_num_draft_tokens `(B,)`, cumulative; num_draft_tokens `(B,)`; max_spec_len, a number;
draft_probs `(n, V)`; target_probs `(n, V)`, or `(n + B, V)` with the bonus row of each request last where no bonus
parameter is asked for; bonus_probs `(B, V)`; bonus_token_ids `(B,)`, drawn from the bonus rows beforehand;
uniforms `(n,)`, final_uniforms `(B,)`: uniform coins in [0, 1); noise `(B, V)`: exponential coins of rate 1; gumbel
`(B, V)`: minus the logarithm of such ones. Other usual names of these are known too; see `noise`.
"""

import inspect
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import Any

from draftproof.simulator.audit.interfaces._call import (
    Call,
    Interface,
    call_by_name,
    kind_of,
    random_argument,
    read_block,
)
from draftproof.simulator.audit.interfaces.chain import by_request
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.protocol import DraftNode, Verdict

Paths = list[list[DraftNode]]


def _uniforms(call: Call, *shape: int) -> Any:
    return call.coins.uniforms(shape, library=call.rows.library, dtype=call.rows.dtype)


def _targets(call: Call, paths: Paths) -> Any:
    bonus_apart = any(name.startswith("bonus") for name in inspect.signature(call.function).parameters)
    nodes = [node for path in paths for node in (path[:-1] if bonus_apart else path)]
    return call.rows.rows([node.target for node in nodes], len(paths[0][0].target))


def _count(paths: Paths) -> int:
    return sum(len(path) - 1 for path in paths)


#: What makes the argument of a name, from a call and the nodes of its requests.
ARGUMENTS: dict[str, Callable[[Call, Paths], Any]] = {
    "draft_token_ids": lambda call, paths: call.rows.integers([t for path in paths for t in path[-1].context]),
    "cu_num_draft_tokens": lambda call, paths: call.rows.integers(list(accumulate(len(path) - 1 for path in paths))),
    "num_draft_tokens": lambda call, paths: call.rows.integers([len(path) - 1 for path in paths]),
    "max_spec_len": lambda call, paths: max(len(path) - 1 for path in paths),
    "draft_probs": lambda call, paths: call.rows.rows(
        [node.draft for path in paths for node in path[:-1]], len(paths[0][0].target)
    ),
    "target_probs": _targets,
    "bonus_probs": lambda call, paths: call.rows.array([path[-1].target for path in paths]),
    "bonus_token_ids": lambda call, paths: call.rows.integers([call.coin.choose(path[-1].target) for path in paths]),
    "uniforms": lambda call, paths: _uniforms(call, _count(paths)),
    "final_uniforms": lambda call, paths: _uniforms(call, len(paths)),
    "noise": lambda call, paths: random_argument(call, "noise", (len(paths),), 0, len(paths[0][0].target)),
    "gumbel": lambda call, paths: random_argument(call, "gumbel", (len(paths),), 0, len(paths[0][0].target)),
}


def _call(call: Call) -> list[Verdict]:
    paths = [first_path(root) for root in call.nodes]

    def find(name: str) -> Callable[[], Any] | None:
        make = ARGUMENTS.get(name) or ARGUMENTS.get(kind_of(name) or "")
        return None if make is None else partial(make, call, paths)

    requests = call_by_name(call, find, "coins", ", ".join(ARGUMENTS))
    return read_requests(list(requests) if isinstance(requests, tuple) else requests, paths, COINS)  # never a pair


def read_requests(result: Any, paths: Paths, interface: Interface, padded: bool = True) -> list[Verdict]:
    """The blocks of whole outputs, one for each request, as `read_block` reads them; raises `InvalidVerifier`."""
    wants = f"the {interface.name} interface wants {interface.returns}"
    return [
        read_block(list(item) if isinstance(item, tuple) else item, path[-1].context, wants, padded)
        for item, path in zip(by_request(result, len(paths)), paths, strict=True)
    ]


COINS = Interface(
    name="coins",
    takes=f"by parameter name: {', '.join(ARGUMENTS)}",
    returns="the output tokens of each request, shape (B, longest + 1), -1 where there is none",
    call=_call,
    without_drafts=True,
    batches=True,
    library="numpy",
)
