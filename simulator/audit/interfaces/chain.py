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
    noise,
    padded_to,
    read_block,
)
from draftproof.simulator.protocol import Verdict


def _tokens(call: Call) -> Any:
    tokens = [padded_to(max(call.lengths), path, PLACEHOLDER) for path in call.drafted]
    return call.rows.integers(tokens if call.batched else tokens[0])


def _draft(call: Call) -> Any:
    if not call.batched:
        return call.rows.rows(call.q[0], call.size)
    return call.rows.array([padded_to(max(call.lengths), rows, [0] * call.size) for rows in call.q])


def _target(call: Call) -> Any:
    rows = [padded_to(max(call.lengths) + 1, rows, [0] * call.size) for rows in call.p]
    return call.rows.array(rows if call.batched else rows[0])


def _count(call: Call) -> int:
    return 4 if call.batched else 3


def _axes(call: Call) -> tuple[int, ...]:
    return (len(call.nodes),) if call.batched else ()


def _read(call: Call, result: Any, wants: str) -> list[Verdict]:
    outputs = by_request(result, len(call.nodes)) if call.batched else [result]
    wants += ", for each request" * call.batched
    return [read_block(item, path, wants) for item, path in zip(outputs, call.drafted, strict=True)]


CHAIN = Interface(
    name="chain",
    arguments={
        "tokens": _tokens,
        "q": _draft,
        "p": _target,
        "lengths": lambda call: call.rows.integers(call.lengths),
    },
    count=_count,
    further=noise(lambda call: (*_axes(call), max(call.lengths)), _axes),
    read=_read,
    takes="(tokens, q, p): shapes (L,), (L, V), (L + 1, V); in a batch (B, L), (B, L, V), (B, L + 1, V), lengths (B,); "
    "then random numbers by parameter name (uniforms, final_uniform, exponential, gumbel, and their likes)",
    returns="(accepted tokens or their number, correction token), or the whole output as a list or array",
    without_drafts=True,
    batches=True,
)
