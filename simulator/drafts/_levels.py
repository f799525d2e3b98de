"""Trees that grow level by level, whose rows a language model computes in one pass for each level."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Context, TokenProcess


def grown(depth: int, draft: TokenProcess, children: Callable[[Context], tuple[int, ...]]) -> DraftTree:
    """A tree whose nodes above `depth` get their children, level by level.

    children: the drafted tokens of a node, by its row of `draft`.
    """
    drafted: dict[Context, tuple[int, ...]] = {}
    level: list[Context] = [()]
    for _ in range(depth):
        prefetch(draft, level)
        for context in level:
            drafted[context] = children(context)
        level = [(*context, token) for context in level for token in dict.fromkeys(drafted[context])]
    return DraftTree(drafted)


def prefetch(draft: TokenProcess, contexts: Sequence[Context]) -> None:
    """Name the contexts whose rows are needed next, before any token is drawn there.

    A process may have a method `prefetch(contexts)`, with which a language model computes a layer of a tree in one
    pass. It changes no tree.
    """
    method = getattr(draft, "prefetch", None)
    if method is not None:
        method(contexts)
