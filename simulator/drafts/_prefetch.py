"""Prefetching of rows, for processes that compute many rows in one pass."""

from __future__ import annotations

from collections.abc import Sequence

from draftproof.simulator.protocol import Context, TokenProcess


def prefetch(draft: TokenProcess, contexts: Sequence[Context]) -> None:
    """Name the contexts whose rows are needed next, before any token is drawn there.

    A process may have a method `prefetch(contexts)`, with which a language model computes a layer of a tree in one
    pass. It changes no tree.
    """
    method = getattr(draft, "prefetch", None)
    if method is not None:
        method(contexts)
