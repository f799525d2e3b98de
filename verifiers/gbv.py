"""Greedy multi-path block verification: take the branch with the largest ratios `p/q`, then verify it as a block.

[thomas2026greedy]. On a delayed tree with `K` i.i.d. branches:
1. Rank the tokens at every node by `p/q`, among equals the larger token number higher.
2. Of the branches take the path that is best in lexicographic order. With `A` the mass of the paths ranked below the
   prefix `c` and `x = q(c)`, both given the trunk, its law is `r(c) = (A + x)^K - A^K`; on the trunk it is `q`.
3. Run block verification on that path with `r(c, y)/r(c)` in place of `q`.

Lossless, since block verification is lossless for whatever law its path has. It does not dominate `block`: where
`p = q` the best of several branches is no longer distributed like `p`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.structures import OnePath, Selection
from draftproof.verifiers._greedy_order import greedy_laws, greedy_path, greedy_root, greedy_step
from draftproof.verifiers._paths import count_iid_branches, verify_drawn
from draftproof.verifiers._weights import at_rejection, child_weights


@dataclass(frozen=True)
class GreedyBlock:
    """See the module. Raises `UnsupportedTree` unless the branches are i.i.d."""

    card: ClassVar[Card] = Card(
        name="gbv",
        title="Greedy multi-path block verification",
        source=Source("thomas2026greedy", "greedy multi-path block verification"),
        needs=Draws.INDEPENDENT_PATHS,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the best branch and draw a correction token."""
        paths = count_iid_branches(root)
        path = greedy_path(root)
        return verify_drawn(path, greedy_laws(path, paths), coin)

    @property
    def structure(self) -> OnePath:
        return OnePath(child_weights, at_rejection, Selection(greedy_root, _select))


def _select(state: Any, p: Vector, q: Vector, paths: int) -> tuple[Vector, tuple[Vector, ...]]:
    """See `Selection`: step 2 for many prefixes at once."""
    total, selected, children = greedy_step(state, p, q, paths)
    return selected / (total + (total <= 0)), children
