"""Tables of the most probable tokens alone, for vocabularies whose full tables would not fit.

At every context the `m` tokens with the largest `(p + q) / 2` are kept, in falling order, and all others become one
rest token, number `m`; so the vocabulary has `m + 1` tokens, whose meaning changes from context to context. After the
rest token target and draft have nothing in common: the target puts everything on token 0, the draft on the rest.

What is lost: verifiers see one rest token where there were many, and no block is accepted beyond it. Neither of the two
is bounded here; the mass outside says how often they can matter. So block efficiencies of these tables are estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.models.pair.pair import BATCH_ENTRIES, Pair
from experiments.models.pair.warp import Warp
from experiments.models.predicted.tables import check_size, continued_rows
from simulator.errors import InvalidInput
from simulator.instances.processes import TableProcess


@dataclass(frozen=True)
class Truncated:
    """Target tables to depth `L`, draft tables to `L - 1`, and what stands outside them.

    tokens: for each depth the kept tokens of the pair's vocabulary, shape `((m + 1)**d, m)`, -1 after a rest token.
    outside_target, outside_draft: by depth `1..L`, the probability that one of the first `d` tokens drawn from the
    model was not kept.
    """

    target: TableProcess
    draft: TableProcess
    tokens: tuple[Any, ...]
    outside_target: tuple[float, ...]
    outside_draft: tuple[float, ...]


def truncated_tables(pair: Pair, warp: Warp, root: Sequence[int], depth: int, kept: int) -> Truncated:
    """The tables of the `kept` most probable tokens at each context of at most `depth` tokens after the root.

    Raises `InvalidInput` for a depth below 1 or a number of tokens that the vocabulary does not have, and `TooLarge`.
    """
    if depth < 1 or not 1 <= kept < pair.vocab_size:
        raise InvalidInput(
            f"{kept} kept tokens to depth {depth}: keep 1 to {pair.vocab_size - 1} tokens, to a depth of at least 1"
        )
    check_size(kept + 1, depth)
    targets, drafts, tokens = [], [], []
    contexts, inside = np.zeros((1, 0), dtype=np.int64), np.ones(1, dtype=bool)
    for length in range(depth + 1):
        p, q, chosen = _level(pair, warp, root, contexts, inside, kept)
        targets.append(p)
        drafts.append(q)
        tokens.append(chosen)
        if length < depth:
            contexts, inside = _extended(contexts, inside, chosen)
    return Truncated(
        TableProcess(targets, "target"),
        TableProcess(drafts[:-1], "draft"),
        tuple(tokens),
        _outside(targets[:-1]),
        _outside(drafts[:-1]),
    )


def _level(pair: Pair, warp: Warp, root: Sequence[int], contexts: Any, inside: Any, kept: int) -> tuple[Any, Any, Any]:
    """The rows of both models at all contexts of one length, and the tokens that were kept there."""
    count = len(contexts)
    tables = np.zeros((2, count, kept + 1))
    tables[0, ~inside, 0] = tables[1, ~inside, kept] = 1
    chosen = np.full((count, kept), -1, dtype=np.int64)
    batch = max(1, BATCH_ENTRIES // pair.vocab_size)
    places = np.flatnonzero(inside)
    for first in range(0, len(places), batch):
        some = places[first : first + batch]
        rows = [continued_rows(pair, which, warp, root, contexts[some]) for which in ("target", "draft")]
        ranked = np.argsort(-(rows[0] + rows[1]), axis=1, kind="stable")
        chosen[some] = ranked[:, :kept]
        for table, row in zip(tables, rows, strict=True):
            ordered = np.take_along_axis(row, ranked, axis=1)
            # The rest is summed by itself: one minus the others would lose its digits, or fall below 0.
            table[some] = np.column_stack([ordered[:, :kept], ordered[:, kept:].sum(axis=1)])
    tables /= tables.sum(axis=2, keepdims=True)
    return tables[0], tables[1], chosen


def _extended(contexts: Any, inside: Any, chosen: Any) -> tuple[Any, Any]:
    """Every context with each token after it, in lexicographic order; what follows a rest token is not inside."""
    count, kept = chosen.shape
    after = np.column_stack([chosen, np.full(count, -1)])
    longer = np.column_stack([np.repeat(contexts, kept + 1, axis=0), after.reshape(-1)])
    return longer, np.repeat(inside, kept + 1) & (after.reshape(-1) >= 0)


def _outside(tables: Sequence[Any]) -> tuple[float, ...]:
    """By depth, the probability that a rest token was among the first tokens."""
    alive, lost, found = np.ones(1), 0.0, []
    for table in tables:
        step = alive[:, None] * table
        lost += float(step[:, -1].sum())
        step[:, -1] = 0
        alive = step.reshape(-1)
        found.append(lost)
    return tuple(found)
