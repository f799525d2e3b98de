"""Layers of nodes with their draft probabilities, from which deterministic trees are made."""

from __future__ import annotations

from typing import Any, TypeAlias

from draftproof.simulator.drafts._adapting import largest, number
from draftproof.simulator.drafts._levels import prefetch
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Context, TokenProcess
from draftproof.simulator.vectors import top_tokens

#: Nodes, each with the product of the draft probabilities on its path.
Beam: TypeAlias = list[tuple[Context, Any]]


def expanded(draft: TokenProcess, beam: Beam, width: int, above: Any = 0) -> Beam:
    """The `width` most probable children of every node of the beam, those only that are larger than `above`."""
    grown: Beam = []
    prefetch(draft, [context for context, _ in beam])
    for context, value in beam:
        row = draft.row(context)
        children = ((token, value * number(row[token])) for token in top_tokens(row, width))
        grown += [((*context, token), mass) for token, mass in children if mass > above]
    return grown


def tree_of(beam: Beam, nodes: int) -> DraftTree:
    """The tree of the `nodes` most probable nodes of a list in which parents stand before their children."""
    drafted: dict[Context, tuple[int, ...]] = {}
    chosen = largest([value for _, value in beam], nodes) if beam else []
    for place in chosen:
        *parent, token = beam[place][0]
        drafted[tuple(parent)] = (*drafted.get(tuple(parent), ()), token)
    return DraftTree(drafted)
