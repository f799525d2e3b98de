"""Drafting with a real model: the trees of `B` sequences, each row from a pass that all sequences share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from experiments.models.loop.caches import Remembered
from experiments.models.loop.reading import Reading
from experiments.models.loop.replay import advance, drawing
from experiments.models.loop.rows import RowsOf, TreeRows
from simulator.drafts.trees import DraftTree
from simulator.protocol import Coin, Context, DraftScheme, Vector


@dataclass(frozen=True)
class Drafted:
    """The trees of `B` sequences. rows: for each sequence `q` by context, at least where something was drafted.

    reading: what the draft model read on the way. passes: for each sequence how many passes it had a part in.
    """

    trees: list[DraftTree]
    rows: list[TreeRows]
    reading: Reading
    passes: list[int]


def draft_trees(
    model: Any,
    before: Remembered,
    waiting: Sequence[Sequence[int]],
    scheme: DraftScheme,
    rows_of: RowsOf,
    coins: Sequence[Coin],
) -> Drafted:
    """Draft one tree a sequence: in each pass the model reads what the drawings have come to miss.

    waiting: for each sequence the tokens that the draft model has not read yet; the last one is the root of the tree.
    coins: one for each sequence. A layer that the scheme foresees is one pass. Raises what `drawing` raises.
    """
    known: list[dict[Context, Vector]] = [{} for _ in waiting]
    drawings = [drawing(scheme, rows_of.vocab_size, coin, rows) for coin, rows in zip(coins, known, strict=True)]
    reading, passes = Reading(model, before, waiting), [0] * len(known)
    trees: dict[int, DraftTree] = {}
    while len(trees) < len(drawings):
        wanted = advance(drawings, trees)
        passes = [count + bool(contexts) for count, contexts in zip(passes, wanted, strict=True)]
        if any(wanted):
            vectors = rows_of.vectors(rows_of.numbers(reading.read(wanted)))
            for rows, contexts, portion in zip(known, wanted, vectors, strict=True):
                rows.update(zip(contexts, portion, strict=False))
    return Drafted(
        trees=[trees[sequence] for sequence in range(len(drawings))],
        rows=[TreeRows(rows_of.vocab_size, rows) for rows in known],
        reading=reading,
        passes=passes,
    )
