"""The coins interface: FUNCTION gets its random numbers as arguments, and a ragged batch as flat arrays.

It asks for what it wants by the names of its parameters, `n` being the number of drafted tokens of all requests:
draft_token_ids `(n,)`; cu_num_draft_tokens `(B,)`, cumulative; num_draft_tokens `(B,)`; max_spec_len, a number;
draft_probs `(n, V)`; target_probs `(n, V)`, or `(n + B, V)` with the bonus row of each request last where no bonus
parameter is asked for; bonus_probs `(B, V)`; bonus_token_ids `(B,)`, drawn from the bonus rows beforehand;
uniforms `(n,)`, final_uniforms `(B,)`: uniform coins in [0, 1); noise `(B, V)`: exponential coins of rate 1; gumbel
`(B, V)`: minus the logarithm of such ones. Other usual names of these are known too; see `noise`.
"""

from itertools import accumulate
from typing import Any

from draftproof.simulator.audit.interfaces._call import (
    Call,
    Interface,
    Maker,
    kind_of,
    random_argument,
    read_requests,
)


def _targets(call: Call) -> Any:
    bonus_apart = any(parameter.name.startswith("bonus") for parameter in call.parameters)
    nodes = [node for path in call.paths for node in (path[:-1] if bonus_apart else path)]
    return call.rows.rows([node.target for node in nodes], call.size)


def _noise(kind: str) -> Maker:
    def make(call: Call) -> Any:
        drafted = sum(len(path) - 1 for path in call.paths)
        return random_argument(call, kind, () if kind == "uniforms" else (len(call.nodes),), drafted, call.size)

    return make


#: What makes the argument of a name.
ARGUMENTS: dict[str, Maker] = {
    "draft_token_ids": lambda call: call.rows.integers([t for path in call.paths for t in path[-1].context]),
    "cu_num_draft_tokens": lambda call: call.rows.integers(list(accumulate(len(path) - 1 for path in call.paths))),
    "num_draft_tokens": lambda call: call.rows.integers([len(path) - 1 for path in call.paths]),
    "max_spec_len": lambda call: max(len(path) - 1 for path in call.paths),
    "draft_probs": lambda call: call.rows.rows([node.draft for path in call.paths for node in path[:-1]], call.size),
    "target_probs": _targets,
    "bonus_probs": lambda call: call.rows.array([path[-1].target for path in call.paths]),
    "bonus_token_ids": lambda call: call.rows.integers([call.coin.choose(path[-1].target) for path in call.paths]),
    **{kind: _noise(kind) for kind in ("uniforms", "final_uniforms", "noise", "gumbel")},
}


COINS = Interface(
    name="coins",
    arguments=ARGUMENTS,
    by_name=True,
    usual=lambda name: name if name in ARGUMENTS else kind_of(name) or name,
    read=lambda call, result, wants: read_requests(
        call,
        list(result) if isinstance(result, tuple) else result,
        wants,  # never a pair
    ),
    returns="the output tokens of each request, shape (B, longest + 1), -1 where there is none",
    without_drafts=True,
    batches=True,
    libraries=("numpy", "python", "torch"),
)
