"""Two path orders mixed: the greedy branch with probability `a`, else the first one, then block verification.

New here. On a delayed tree with `K` i.i.d. branches:
1. Independently of the drafts, with probability `a` use the greedy order of `gbv`, else take the first path.
2. The chosen path has the prefix law `r(c) = a r_gbv(c) + (1 - a) q(c)`: a mixture of path laws, not of token rows.
3. Run block verification on that path with `r(c, y)/r(c)` in place of `q`.

Lossless for every fixed `a`. It loses little where one of the orders loses much: `gbv` where `p` is close to `q`,
`block` where the branches differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import hold_fractions
from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Vector, Verdict
from draftproof.simulator.structures import OnePath, Selection
from draftproof.verifiers._paths import (
    Drawn,
    at_rejection,
    child_weights,
    conditional,
    count_iid_branches,
    verify_drawn,
)
from draftproof.verifiers.gbv import greedy_masses, greedy_path, greedy_root, greedy_step


@dataclass(frozen=True)
class MixedOrder:
    """See the module. a: weight of the greedy order, a fraction in [0, 1]; anything else raises `InvalidInput`."""

    a: Fraction = Fraction(1, 2)

    card: ClassVar[Card] = Card(
        name="mixed_order",
        title="Block verification of a mixture of two path orders",
        source=None,
        needs=Draws.INDEPENDENT_PATHS,
        parameters={"a": "weight of the greedy order in [0, 1]"},
    )

    def __post_init__(self) -> None:
        hold_fractions(self)
        if not 0 <= self.a <= 1:
            raise InvalidInput(f"mixed_order: a = {self.a} must lie between 0 and 1")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the chosen branch and draw a correction token."""
        greedy, first = self.a.numerator, self.a.denominator - self.a.numerator  # whole numbers keep exact runs exact
        paths = count_iid_branches(root)
        path = first_path(root) if coin.choose([greedy, first]) else greedy_path(root)
        laws = []
        first_mass: Any = 1  # q(c) along the path
        for node, child, (total, drawn) in zip(path, path[1:], greedy_masses(path, paths), strict=False):
            whole = greedy * total + first * first_mass
            child_mass = first_mass * node.draft[child.context[-1]]
            mass = conditional(greedy * drawn.mass + first * child_mass, whole)
            laws.append(Drawn(mass, partial(_mixed, greedy, drawn, first * first_mass, node.draft, whole)))
            first_mass = child_mass
        return verify_drawn(path, laws, coin)

    @property
    def structure(self) -> OnePath:
        return OnePath(child_weights, at_rejection, Selection(_select_root, partial(_select, self.a)))


def _mixed(greedy: int, drawn: Drawn, first_mass: Any, draft: Vector, whole: Any) -> Vector:
    """Step 2 for all tokens after a prefix."""
    law = greedy * drawn.row()
    law += first_mass * draft
    return conditional(law, whole)


def _select_root(like: Vector) -> tuple[Any, ...]:
    """See `Selection`: the state of the greedy order, and `q(c)`."""
    return (*greedy_root(like), like)


def _select(a: Fraction, state: Any, p: Vector, q: Vector, paths: int) -> tuple[Vector, tuple[Vector, ...]]:
    """See `Selection`: step 2 for many prefixes at once."""
    greedy, first = a.numerator, a.denominator - a.numerator
    *order, first_mass = state
    total, selected, children = greedy_step((order[0], order[1], order[2]), p, q, paths)
    mixed = greedy * total + first * first_mass
    one = 1 / (mixed + (mixed <= 0))  # columns are multiplied first, rows of V numbers as little as possible
    step = first_mass * q
    return greedy * one * selected + first * one * step, (*children, step)
