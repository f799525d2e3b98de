"""Rows that are asked for together: what a process that computes them in passes wants to know beforehand."""

from __future__ import annotations

from collections.abc import Sequence

from draftproof.simulator.protocol import Context, TokenProcess


def prefetch(draft: TokenProcess, contexts: Sequence[Context]) -> None:
    """Name the contexts whose rows come next, before any token is drawn there.

    A process may offer `prefetch(contexts)`: a language model that reads trees then reads a layer in one pass. Tables
    offer none and need none; whether it is offered changes no tree.
    """
    told = getattr(draft, "prefetch", None)
    if told is not None:
        told(contexts)
