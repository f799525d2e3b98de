"""The chain interface: FUNCTION takes the drafted tokens of one path with their `q` rows and `p` rows.

In a batch the arrays have a first axis of `B` requests, shorter ones are padded with -1 and zeros, and the lengths come
as a fourth argument.
"""

from collections.abc import Sequence
from typing import Any

from draftproof.simulator.audit.interfaces._call import (
    PLACEHOLDER,
    Call,
    Interface,
    noise_parameters,
    random_argument,
    read_block,
    shown,
)
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.protocol import DraftNode, Verdict


def _call(call: Call) -> list[Verdict]:
    paths = [first_path(root) for root in call.nodes]
    if not call.batched:
        [nodes] = paths
        result = call(
            call.rows.integers(list(nodes[-1].context)),
            call.rows.rows([node.draft for node in nodes[:-1]], len(nodes[0].target)),
            call.rows.array([node.target for node in nodes]),
            **_noise(call, 3, (), len(nodes) - 1, len(nodes[0].target)),
        )
        return [read_block(result, nodes[-1].context, f"the chain interface wants {CHAIN.returns}")]
    lengths = [len(nodes) - 1 for nodes in paths]
    longest, size = max(lengths), len(paths[0][0].target)
    result = call(
        call.rows.integers([[*nodes[-1].context, *[PLACEHOLDER] * (longest + 1 - len(nodes))] for nodes in paths]),
        call.rows.array([_padded(nodes[:-1], "draft", longest, size) for nodes in paths]),
        call.rows.array([_padded(nodes, "target", longest + 1, size) for nodes in paths]),
        call.rows.integers(lengths),
        **_noise(call, 4, (len(paths),), longest, size),
    )
    return [
        read_block(item, nodes[-1].context, f"the chain interface wants {CHAIN.returns}, for each request")
        for item, nodes in zip(by_request(result, len(paths)), paths, strict=True)
    ]


def _noise(call: Call, positional: int, batch: tuple[int, ...], drafted: int, size: int) -> dict[str, Any]:
    kinds = noise_parameters(call.function, positional, call.keywords)
    return {name: random_argument(call, kind, batch, drafted, size) for name, kind in kinds.items()}


def _padded(nodes: Sequence[DraftNode], name: str, length: int, size: int) -> list[Any]:
    rows = [getattr(node, name) for node in nodes]
    return [*rows, *[[0] * size] * (length - len(rows))]


def by_request(result: Any, count: int) -> list[Any]:
    """The results of a batch one by one: of a list or array over requests, or of `(numbers, corrections)` of arrays."""
    if isinstance(result, tuple) and len(result) == 2:  # a tuple of two results would look the same
        numbers, corrections = result
        arrays = all(hasattr(part, "__len__") and not isinstance(part, tuple) for part in result)
        if arrays and len(numbers) == len(corrections) == count:
            return list(zip(numbers, corrections, strict=True))
        raise InvalidVerifier(
            f"it returned a pair, {shown(result)}, which must be (numbers, corrections), two arrays of {count}; "
            "give the results of single requests in a list"
        )
    if hasattr(result, "__len__") and not isinstance(result, (str, bytes, dict)) and len(result) == count:
        return list(result)
    raise InvalidVerifier(f"it returned {shown(result)}; it must hold one result for each of {count} requests")


CHAIN = Interface(
    name="chain",
    takes="(tokens, q, p): shapes (L,), (L, V), (L + 1, V); in a batch (B, L), (B, L, V), (B, L + 1, V), lengths (B,); "
    "then random numbers by parameter name (uniforms, final_uniform, exponential, gumbel, and their likes)",
    returns="(accepted tokens or their number, correction token), or the whole output as a list or array",
    call=_call,
    without_drafts=True,
    batches=True,
)
