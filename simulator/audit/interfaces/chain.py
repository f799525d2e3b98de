"""The chain interface: FUNCTION takes the drafted tokens of one path with their `q` rows and `p` rows.

In a batch the arrays have a first axis of `B` requests, shorter ones are padded with -1 and zeros, and the lengths come
as a fourth argument.
"""

from typing import Any

from draftproof.simulator.audit.interfaces._call import PLACEHOLDER, Call, Interface, noise, padded, read_block
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.protocol import DraftNode, Verdict


def _tokens(call: Call) -> Any:
    tokens = padded(call.drafted, PLACEHOLDER)
    return call.rows.integers(tokens if call.batched else tokens[0])


def _draft(call: Call) -> Any:
    if not call.batched:
        return call.rows.rows(call.q[0], call.size)
    return call.rows.array(padded(call.q, [0] * call.size))


def _target(call: Call) -> Any:
    rows = padded(call.p, [0] * call.size)
    return call.rows.array(rows if call.batched else rows[0])


def _axes(call: Call) -> tuple[int, ...]:
    return (len(call.nodes),) if call.batched else ()


def _read(call: Call, result: Any, root: DraftNode, wants: str) -> Verdict:
    return read_block(result, first_path(root)[-1].context, wants + ", for each request" * call.batched)


CHAIN = Interface(
    name="chain",
    arguments={
        "tokens": _tokens,
        "q": _draft,
        "p": _target,
        "lengths": lambda call: call.rows.integers(call.lengths),
    },
    count=lambda call: 4 if call.batched else 3,
    further=noise(lambda call: (*_axes(call), max(call.lengths)), _axes),
    read=_read,
    takes="(tokens, q, p): shapes (L,), (L, V), (L + 1, V); in a batch (B, L), (B, L, V), (B, L + 1, V), lengths (B,); "
    "then random numbers by parameter name (uniforms, final_uniform, exponential, gumbel, and their likes)",
    returns="(accepted tokens or their number, correction token), or the whole output as a list or array",
    without_drafts=True,
    batches=True,
)
