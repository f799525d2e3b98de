"""Drafting with a real model: the trees of `B` sequences, each row from a pass that all sequences share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from draftproof.experiments.models.loop.caches import Remembered
from draftproof.experiments.models.loop.feature_reading import FeatureReading
from draftproof.experiments.models.loop.reading import Reading
from draftproof.experiments.models.loop.replay import advance, drawing
from draftproof.experiments.models.loop.rows import RowsOf, TreeRows
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Coin, Context, DraftScheme, Vector


@dataclass(frozen=True)
class Drafted:
    """The trees of `B` sequences. rows: for each sequence `q` by context, at least where something was drafted.

    reading: what the draft model read on the way. passes: for each sequence how many passes it had a part in.
    """

    trees: list[DraftTree]
    rows: list[TreeRows]
    reading: Reading
    passes: list[int]


@dataclass(frozen=True)
class Begun:
    """What the draft model has read of `B` trees before they are drawn. known: for each sequence rows by context.

    passes: that have been made for them.
    """

    reading: Reading
    known: list[dict[Context, Vector]]
    passes: int = 0

    @classmethod
    def nothing(
        cls,
        model: Any,
        before: Remembered,
        waiting: Sequence[Sequence[int]],
        features: Sequence[torch.Tensor] = (),
    ) -> Begun:
        """waiting: for each sequence the tokens that the model has not read yet; the last is the root of the tree.

        features: for each sequence those before its waiting tokens, where the model reads them.
        """
        reading = FeatureReading(model, before, waiting, features) if features else Reading(model, before, waiting)
        return cls(reading, [{} for _ in waiting])


def draft_trees(begun: Begun, scheme: DraftScheme, rows_of: RowsOf, coins: Sequence[Coin]) -> Drafted:
    """Draft one tree a sequence: in each pass the model reads what the drawings have come to miss.

    coins: one for each sequence. A layer that the scheme foresees is one pass. Raises what `drawing` raises.
    """
    known, reading = begun.known, begun.reading
    drawings = [drawing(scheme, rows_of.vocab_size, coin, rows) for coin, rows in zip(coins, known, strict=True)]
    passes = [begun.passes] * len(known)
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
