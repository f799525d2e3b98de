"""Multi-step speculative sampling: try the children in random order, shrinking the target each time.

[miao2024specinfer], algorithm 2. At each node with drafts `X1..Xk`:
1. Pick one of the remaining drafts uniformly; accept it with probability `min(1, p/q)`.
2. On rejection set `p` to normalised `(p - q)+` and drop that one occurrence.
3. When none is left draw from `p`.

The token has law `p` when the drafts are independent: a round accepts the mass `min(p, q)` of its current target. Where
drafts have laws of their own, as `DraftNode.laws` tells, that of the draft stands for `q`, and those of the flattest
law are tried first, see `verifiers._remaining`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import (
    acceptances,
    layers,
    minimum,
    normalised,
    one_hot,
    residuals,
    sums,
    times,
    token_by_token,
)
from draftproof.verifiers._remaining import Remaining, flattest_first
from draftproof.verifiers._top_down import acceptance_rate, laws_of, walk


@dataclass(frozen=True)
class SpecInfer:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="specinfer",
        title="Multi-step speculative sampling (SpecInfer)",
        source=Source("miao2024specinfer", "algorithm 2"),
        needs=Draws.INDEPENDENT_BRANCHES,
        exchangeable=True,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _next_token, laws_of)

    acceptance_rate = acceptance_rate

    @property
    def structure(self) -> TopDown:
        return TopDown(branch=branch, child_law=child_law, last_step=last_step)


def branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    """Law of the next token given the drafts, shape `(n.., V)`: a recursion over the drafts that are left."""
    targets = [p]
    for _ in drafted:
        targets.append(residuals(targets[-1], q))
    known: dict[tuple[int, ...], Vector] = {(): targets[-1]}

    def law(left: tuple[int, ...]) -> Vector:
        if left not in known:
            target = targets[len(drafted) - len(left)]
            total: Any = 0
            for place, token in enumerate(left):
                accepted = acceptances(target, q, token)
                rest = law(left[:place] + left[place + 1 :])
                total = total + accepted * one_hot(p, token) + (1 - accepted) * rest
            known[left] = total / len(left)
        return known[left]

    return law(tuple(sorted(drafted)))


def child_law(p: Vector, q: Vector, k: int) -> Any:
    """Joint law of the next token and the number of `k` i.i.d. drafts that equal it, shape `(k + 1, n.., V)`.

    With `M_j = R_1 .. R_(j-1)` the draft of round `j` is accepted with mass `M_j min(p_j, q)`, and each of the
    `k - j` later ones equals it with probability `q`. A rejected draft has lost all its mass, so it never does.
    """
    p, q = token_by_token(p), token_by_token(q)
    others = 1 - q
    missed: Any = 1
    by_count: list[Any] = []  # accepted so far, by the number of drafts beside that one
    for _ in range(k):
        accepted = minimum(p, q)
        fewest, *more = times(by_count, others, q) if by_count else [0]
        by_count = [fewest + missed * accepted, *more]
        missed = missed * sums(q - accepted)
        p = normalised(p - accepted, p)
    return layers([missed * p, *by_count])


def last_step(p: Vector, q: Vector, masses: Mapping[int, Any]) -> tuple[Vector, Vector]:
    """See `TopDown`; a round is the same for all numbers of drafts that reach it."""
    p, q = token_by_token(p), token_by_token(q)
    missed: Any = 1
    stopped: Any = 0
    taken: Any = 0
    for drafts in range(1, max(masses) + 1):
        accepted = minimum(p, q)
        trying = sum(mass for k, mass in masses.items() if k >= drafts)
        taken = taken + missed * trying * accepted
        missed = missed * sums(q - accepted)
        p = normalised(p - accepted, p)
        if drafts in masses:
            stopped = stopped + missed * masses[drafts] * p
    return stopped, taken


def _next_token(p: Vector, laws: tuple[Vector, ...], drafted: tuple[int, ...], coin: Coin) -> int:
    left, drafts = Remaining(p), flattest_first(drafted, laws)
    while drafts:
        q = drafts[0][1]
        alike = [place for place, (_, law) in enumerate(drafts) if law is q]
        token, _ = drafts.pop(alike[coin.choose([1] * len(alike))])
        if coin.flip(left.acceptance(q, token)):
            return token
        left.reject(q)
    return left.draw(coin)
