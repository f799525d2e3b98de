"""The chain interface: FUNCTION takes the drafted tokens of one path with their `q` rows and `p` rows.

In a batch the arrays have a first axis of `B` requests, shorter ones are padded with -1 and zeros, and the lengths come
as a fourth argument.
"""

from typing import Any

from draftproof.simulator.audit.interfaces._call import (
    PLACEHOLDER,
    Call,
    Interface,
    by_request,
    noise_parameters,
    padded_to,
    random_argument,
    read_block,
)
from draftproof.simulator.protocol import Verdict


def _longest(call: Call) -> int:
    return max(map(len, call.paths)) - 1


def _tokens(call: Call) -> Any:
    tokens = [padded_to(_longest(call), path[-1].context, PLACEHOLDER) for path in call.paths]
    return call.rows.integers(tokens if call.batched else tokens[0])


def _draft(call: Call) -> Any:
    rows = [[node.draft for node in path[:-1]] for path in call.paths]
    if not call.batched:
        return call.rows.rows(rows[0], call.size)
    return call.rows.array([padded_to(_longest(call), own, [0] * call.size) for own in rows])


def _target(call: Call) -> Any:
    rows = [padded_to(_longest(call) + 1, [node.target for node in path], [0] * call.size) for path in call.paths]
    return call.rows.array(rows if call.batched else rows[0])


def _count(call: Call) -> int:
    return 4 if call.batched else 3


def _noise(call: Call) -> dict[str, Any]:
    kinds = noise_parameters(call, _count(call))
    batch = (len(call.nodes),) if call.batched else ()
    return {name: random_argument(call, kind, batch, _longest(call), call.size) for name, kind in kinds.items()}


def _read(call: Call, result: Any, wants: str) -> list[Verdict]:
    if not call.batched:
        return [read_block(result, call.paths[0][-1].context, wants)]
    return [
        read_block(item, path[-1].context, f"{wants}, for each request")
        for item, path in zip(by_request(result, len(call.nodes)), call.paths, strict=True)
    ]


CHAIN = Interface(
    name="chain",
    arguments={
        "tokens": _tokens,
        "q": _draft,
        "p": _target,
        "lengths": lambda call: call.rows.integers([len(path) - 1 for path in call.paths]),
    },
    count=_count,
    further=_noise,
    read=_read,
    takes="(tokens, q, p): shapes (L,), (L, V), (L + 1, V); in a batch (B, L), (B, L, V), (B, L + 1, V), lengths (B,); "
    "then random numbers by parameter name (uniforms, final_uniform, exponential, gumbel, and their likes)",
    returns="(accepted tokens or their number, correction token), or the whole output as a list or array",
    without_drafts=True,
    batches=True,
)
