"""Every claim, paper by paper."""

from __future__ import annotations

from functools import cache

from draftproof.experiments.claims import delayed, multipath, trees
from draftproof.experiments.claims.claim import Claim


@cache
def ledger() -> tuple[Claim, ...]:
    """The claims in the order of the page."""
    return (*delayed.claims(), *multipath.claims(), *trees.claims())
