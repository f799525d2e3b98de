"""The best tree that is fixed by the rows: the most probable contexts.

On a deterministic tree the most that a lossless verifier attains is `1 + sum of p(c)` over its nodes below the
root (theorem 6 in the README of `lp_analysis`). `p` does not grow along a path, so the `nodes` most probable contexts
are a tree, and no tree of as many nodes has a larger sum. With the draft's rows in place of the target's the same
search is OPT-Tree's.
"""

from collections.abc import Iterable
from typing import Any

from draftproof.simulator.protocol import Context, TokenProcess


def most_probable(process: TokenProcess, nodes: int, depth: int) -> list[tuple[Context, Any]]:
    """The `nodes` most probable contexts of length 1 to `depth` with their probabilities, the most probable first.

    Ties go to the shorter one, then to smaller tokens. Contexts of probability 0 are left out.
    """
    chosen: list[tuple[Context, Any]] = []
    waiting: dict[Context, Any] = {(): process.row(()).sum()}
    while waiting and len(chosen) <= nodes:
        context = min(waiting, key=lambda each: (-waiting[each], len(each), each))
        mass = waiting.pop(context)
        chosen.append((context, mass))
        if len(context) < depth:
            row = process.row(context)
            waiting |= {(*context, token): mass * part for token, part in enumerate(row) if part > 0}
    return chosen[1:]


def set_efficiency(target: TokenProcess, contexts: Iterable[Context]) -> Any:
    """The largest block efficiency on the deterministic tree of these contexts: `1 + sum of p(c)`."""
    total = target.row(()).sum()
    for context in contexts:
        mass = target.row(()).sum()
        for length, token in enumerate(context):
            mass = mass * target.row(context[:length])[token]
        total = total + mass
    return total
