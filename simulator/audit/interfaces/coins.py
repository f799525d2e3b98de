"""The coins interface: FUNCTION gets its random numbers as arguments, and a ragged batch as flat arrays.

It asks for what it wants by the names of its parameters, `n` being the number of drafted tokens of all requests:
draft_token_ids `(n,)`; cu_num_draft_tokens `(B,)`, cumulative; num_draft_tokens `(B,)`; max_spec_len, a number;
draft_probs `(n, V)`; target_probs `(n, V)`, or `(n + B, V)` with the bonus row of each request last where no bonus
parameter is asked for; bonus_probs `(B, V)`; bonus_token_ids `(B,)`, drawn from the bonus rows beforehand;
uniforms `(n,)`, final_uniforms `(B,)`: uniform coins in [0, 1); noise `(B, V)`: exponential coins of rate 1; gumbel
`(B, V)`: minus the logarithm of such ones. Other usual names of these are known too; see `noise`.
"""

from itertools import accumulate, chain
from typing import Any

from draftproof.simulator.audit.interfaces._call import (
    Call,
    Interface,
    Maker,
    noise,
    read_requests,
)


def _targets(call: Call) -> Any:
    bonus_apart = any(parameter.name.startswith("bonus") for parameter in call.parameters)
    return call.rows.rows([row for rows in call.p for row in (rows[:-1] if bonus_apart else rows)], call.size)


#: What makes the argument of a name.
ARGUMENTS: dict[str, Maker] = {
    "draft_token_ids": lambda call: call.rows.integers([*chain(*call.drafted)]),
    "cu_num_draft_tokens": lambda call: call.rows.integers([*accumulate(call.lengths)]),
    "num_draft_tokens": lambda call: call.rows.integers(call.lengths),
    "max_spec_len": lambda call: max(call.lengths),
    "draft_probs": lambda call: call.rows.rows([*chain(*call.q)], call.size),
    "target_probs": _targets,
    "bonus_probs": lambda call: call.rows.array([rows[-1] for rows in call.p]),
    "bonus_token_ids": lambda call: call.rows.integers([call.coin.choose(rows[-1]) for rows in call.p]),
}
#: The random numbers of a flat batch.
NOISE = noise(lambda call: (sum(call.lengths),), lambda call: (len(call.nodes),))


COINS = Interface(
    name="coins",
    arguments=ARGUMENTS,
    by_name=True,
    further=NOISE,
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
