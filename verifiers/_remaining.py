"""What is left of the target at one node, as drafts are rejected one after the other, and in which order they are.

A node of weight `w` with target `p` has the mass `w p`. A draft from `q` is accepted with mass `min(w p, q)`. Given its
rejection the mass is that of the normalised `(w p - q)+`, with weight `s/(s + 1 - w)`, `s = sum (w p - q)+`. With
`w = 1` that is the residual of token-by-token verification.

Drafts with laws of their own may be judged in any order that depends on the laws alone. The flattest law comes first,
that whose likeliest token is least likely: what it leaves of the target is then on the likely tokens, which the others
draw. The other way round a token that is in several of the laws is often drafted when nothing of it is left.

Laws that are positive at few tokens, as `draftproof.simulator.few` tells, take their part there only: the mass is then
computed at the tokens that are asked for, and the whole row where a token is drawn from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from draftproof.simulator.few import Few, few_tokens
from draftproof.simulator.protocol import Coin, Vector
from draftproof.simulator.vectors import excess, is_tensor, minimum, positive_part, scalar
from draftproof.verifiers._paths import capped

#: Where it is less than one in so many of the weight, `s` is added up: as a difference it would lose digits.
CANCELS = 64


class Remaining:
    """The mass `w p`; rejections change it. weight: `w`, at most 1."""

    def __init__(self, p: Vector, weight: Any = 1) -> None:
        self.weight = weight
        self._row, self._factor = p, weight
        self._taken: list[tuple[Vector, Few, Any]] = []  # a law, where it is positive, and the factor of the mass after

    def acceptance(self, q: Vector, token: int) -> Any:
        """`min(1, w p/q)` of a drafted token; see `capped`."""
        mass = self._factor * scalar(self._row[token])
        for law, _, factor in self._taken:
            taken = scalar(law[token])
            mass = factor * (mass - taken) if mass > taken else 0
        return capped(mass, scalar(q[token]))

    def reject(self, q: Vector) -> bool:
        """A draft from `q` is rejected; False where nothing is left, and the mass stays as it is."""
        few = few_tokens(q)
        if few is not None:
            total = self.weight - scalar(minimum(self._at(few.tokens), few.masses).sum())
            if total * CANCELS > self.weight:
                self.weight = total / (total + (1 - self.weight))
                self._taken.append((q, few, self.weight / total))
                return True
        rest = excess(self._all(), q, self._factor)
        total = scalar(rest.sum())
        if not total > 0:
            return False
        rest /= total
        self.weight = total / (total + (1 - self.weight))  # the brackets keep rounding from cancelling it
        self._row, self._factor, self._taken = rest, self.weight, []
        return True

    def draw(self, coin: Coin) -> int:
        """A token from the normalised mass."""
        return coin.choose(self._all())

    def _at(self, tokens: Any) -> Vector:
        """The mass of some tokens."""
        mass = self._row[tokens]
        if self._factor != 1:
            mass = mass * self._factor
        for law, _, factor in self._taken:
            mass = factor * positive_part(mass - law[tokens])
        return mass

    def _all(self) -> Vector:
        """A row that `_factor` makes the mass."""
        if self._taken:
            self._row = self._row * 1
            for _, (tokens, masses), factor in self._taken:
                self._row[tokens] = positive_part(self._row[tokens] - masses / self._factor)
                self._factor = self._factor * factor
            self._taken = []
        return self._row


def flattest_first(drafted: Sequence[int], laws: Sequence[Vector]) -> list[tuple[int, Vector]]:
    """Drafts with their laws in the order in which they are judged; those of one law stay in their order."""
    drafts = list(zip(drafted, laws, strict=True))
    return drafts if all(law is laws[0] for law in laws) else sorted(drafts, key=lambda draft: _largest(draft[1]))


def _largest(law: Vector) -> Any:
    few = few_tokens(law)
    masses = law if few is None else few.masses
    return scalar(masses.amax() if is_tensor(masses) else masses.max())
