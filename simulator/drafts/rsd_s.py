"""Stochastic beam search: at every level `K` different prefixes, drawn without replacement from the draft's paths.

The trees of RSD-S [jeon2024recursive], verified there with `rejection_without_replacement`. The paper perturbs the log
probabilities of the prefixes of a level with Gumbel noise and keeps the `K` largest; the perturbed value of a prefix is
the largest among those of its children. That is a race: a prefix of mass `m` arrives after an exponential time of
rate `m`, together with the first of its children, and a level keeps the first `K` arrivals. As exponential times have
no memory, the arrivals of a level given those of the level above are choices between masses, without any noise:
1. The prefixes of the level above arrive in their order, and each brings a child drawn from its row.
2. The next to arrive is another child of those that are there, or the next prefix: in proportion to the masses that
   are left of each of them and to the mass of all prefixes of the level above that are not there yet.

Siblings are in the order of arrival. Whether there is a further one depends on the tokens of those before it, so given
their number they are not drawn without replacement; each is drawn from what is left if it is drafted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from draftproof.simulator.drafts._adapting import Adapting, number
from draftproof.simulator.drafts._beams import Beam
from draftproof.simulator.drafts._levels import prefetch
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Coin, Context, Draws, TokenProcess, Vector


@dataclass(frozen=True)
class StochasticBeam(Adapting):
    """`K` different prefixes at each of `L` levels; all of them where the draft has fewer.

    A prefix none of whose children is kept stays in the tree as a leaf.
    Raises `InvalidInput` unless `K >= 1` and `L >= 0`.
    """

    K: int = 2
    L: int = 2

    name: ClassVar[str] = "rsd_s"
    verified_with: ClassVar[str] = "rejection_without_replacement"
    draws: ClassVar[Draws] = Draws.SIBLINGS_FROM_Q
    positive: ClassVar[tuple[str, ...]] = ("K",)
    shrunk: ClassVar[tuple[str, ...]] = ("L", "K")

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls(2, 2)), (2, cls(3, 2)), (3, cls(2, 2)), (3, cls(3, 2)), (2, cls(2, 3))

    @property
    def depth(self) -> int:
        """`L`, the length of the longest path."""
        return self.L

    @property
    def nodes(self) -> int:
        """Largest number of drafted tokens, `K L`."""
        return self.K * self.L

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """Draft one tree, level by level."""
        drafted: dict[Context, tuple[int, ...]] = {}
        beam: Beam = [((), 1)]
        missing: list[Any] = [1, 0]
        for _ in range(self.L):
            prefetch(draft, [context for context, _ in beam])
            beam, missing = self._level(draft, coin, beam, missing)
            for (*parent, token), _ in beam:
                drafted[tuple(parent)] = (*drafted.get(tuple(parent), ()), token)
        return DraftTree(drafted)

    def _level(self, draft: TokenProcess, coin: Coin, beam: Beam, missing: list[Any]) -> tuple[Beam, list[Any]]:
        """The first `K` children of a beam to arrive, in order.

        missing: for `i = 0, 1, ..` the mass of all prefixes of the level that are not among the first `i`: sums of
        masses, so that nothing is lost in floats where they are small.
        """
        rows: list[Vector] = []  # of the prefixes that are there, without the children that are
        left: list[Any] = []  # their masses
        below: Beam = []
        missing_below: list[Any] = [1]
        while len(below) < self.K:
            others = [missing[len(rows)]] if len(rows) < len(beam) else []
            if not any(mass > 0 for mass in (*left, *others)):
                break
            place = coin.choose([*left, *others]) if left else 0
            context, mass = beam[place]
            if place == len(rows):
                rows.append(draft.row(context))
                left.append(0)
            token = coin.choose(rows[place])
            below.append(((*context, token), mass * number(draft.row(context)[token])))
            rows[place] = rows[place] * 1
            rows[place][token] = rows[place][token] * 0
            left[place] = mass * number(rows[place].sum())
            missing_below.append(sum(left) + missing[len(rows)])
        return below, missing_below
