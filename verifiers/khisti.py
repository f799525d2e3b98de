"""Importance-weighted tournament: the drafts play against each other, then the winner is verified against the target.

[khisti2025multi], the two-step scheme with truncated programs. At each node with drafts `X1..Xk` from `q`:
1. The current winner has law `r`, at first `q`. Against the next draft it is decided by weights `w_ij + w_ji = 1`
   (token `i` beats token `j` with probability `w_ij`): `r'(i) = r_i q_i + sum_{j != i} w_ij (r_i q_j + r_j q_i)`.
2. The weights of a round maximise `sum min(p, r')`, a linear program; where `p = r = q` they are all 1/2, which
   is an optimum.
3. Accept the last winner with probability `min(1, p/r)`, else draw from normalised `(p - r)+`.

Lossless for any weights, as long as `r` is the law that they induce. So the weights of the solver are rounded to
multiples of 1/1024 first and `r` is computed from what was rounded: the output is exact whatever the solver returned.
For more than 32 tokens the tournament is one of classes of like `p/q`, without programs, see
`verifiers._tournament`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.residual import acceptance, positive_part, residual
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import layers, one_hot, stacked, stacked_layers
from draftproof.verifiers._classes import CLASSES
from draftproof.verifiers._programs import check_numbers
from draftproof.verifiers._top_down import walk
from draftproof.verifiers._tournament import DENOMINATOR, Rounds, as_type_of, class_joint_law, class_rounds, tournament


@dataclass(frozen=True)
class Khisti:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="khisti",
        title="Importance-weighted tournament",
        source=Source("khisti2025multi", "importance-weighted sampling, then speculative sampling"),
        needs=Draws.INDEPENDENT_SIBLINGS,
        departs=(
            "The weights of a round are rounded to multiples of 1/1024, which costs a trace of acceptance; more than "
            "32 tokens play by classes of like p/q, with weights found by exchanges; the paper keeps the most probable."
        ),
    )

    #: Step 1; see `tournament`.
    solver: Callable[[Vector, Vector, int], Rounds] = field(default=tournament, repr=False)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, partial(_next_token, self.solver))

    @property
    def structure(self) -> TopDown | None:
        """See `TopDown`; none for another solver."""
        return TopDown(branch=branch, child_law=child_law) if self.solver is tournament else None


def branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    """Law of the next token given the drafts in their order, shape `(n.., V)`."""
    return stacked(lambda target, draft: _branch(target, draft, drafted), p, q)


def child_law(p: Vector, q: Vector, k: int) -> Any:
    """Joint law of the next token and the number of `k` i.i.d. drafts that equal it, shape `(k + 1, n.., V)`.

    For each candidate `y` the law of the winner is carried with the number of drafts so far that equal `y`.
    """
    return stacked_layers(lambda target, draft: _child_law(target, draft, k), p, q)


def in_classes(q: Vector) -> bool:
    """Whether a row is too long for a program of tokens; rows that carry gradients always use that program."""
    return len(q) > CLASSES and not getattr(q, "requires_grad", False)


def _next_token(
    solver: Callable[[Vector, Vector, int], Rounds], p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin
) -> int:
    if in_classes(q):
        return class_rounds(p, q, len(drafted)).next_token(p, q, drafted, coin)
    winner, law = drafted[0], q
    for challenger, (units, after) in zip(drafted[1:], solver(p, q, len(drafted)), strict=True):
        stays = units[winner, challenger]
        if challenger != winner and coin.choose([stays, DENOMINATOR - stays]) == 1:
            winner = challenger
        law = after
    if coin.flip(acceptance(p, law, winner)):
        return winner
    return coin.choose(residual(p, law))


def law_of(rounds: Rounds, q: Vector) -> Vector:
    """Law `r` of the last winner, shape `(V,)`."""
    return rounds[-1][1] if rounds else q


def winner_of(rounds: Rounds, q: Vector, drafted: Sequence[int]) -> Vector:
    """Who wins given the drafts in their order: a probability for every token, shape `(V,)`."""
    winner = one_hot(q, drafted[0])
    for challenger, (units, _) in zip(drafted[1:], rounds, strict=True):
        loses = winner * as_type_of(units[challenger], q) / DENOMINATOR
        loses[challenger] = loses[challenger] * 0
        winner = winner - loses
        winner[challenger] = winner[challenger] + loses.sum()
    return winner


def _child_law(p: Vector, q: Vector, k: int) -> Vector:
    if in_classes(q):
        return class_joint_law(p, q, k)
    check_numbers("the child law of a tournament", (2 * k + 4) * len(q) ** 2, q)
    diagonal = layers([one_hot(q, token) for token in range(len(q))])
    hit = diagonal * q  # row y: a draft that equals y
    miss = q - hit
    states = [miss, hit]  # by the number of drafts equal to y: row y is the law of the winner
    rounds = tournament(p, q, k)
    for units, _ in rounds:
        weights = as_type_of(units, q)
        missed = [_meet(weights, state, miss) for state in states]
        equal = [_meet(weights, state, hit) for state in states]
        states = [missed[0], *(a + b for a, b in zip(missed[1:], equal, strict=False)), equal[-1]]
    law = law_of(rounds, q)
    lost = positive_part(law - p) / (law + (law <= 0))  # rejection probability of a winner
    rest = residual(p, law)
    return layers([(state * diagonal).sum(-1) * (1 - lost) + rest * (state * lost).sum(-1) for state in states])


def _meet(weights: Any, winner: Vector, challenger: Vector) -> Vector:
    """`play` for every row of two arrays of shape `(V, V)`."""
    return (winner * (challenger @ weights.T) + challenger * (winner @ weights.T)) / DENOMINATOR


def _branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    if in_classes(q):
        return class_rounds(p, q, len(drafted)).branch(p, q, drafted)
    rounds = tournament(p, q, len(drafted))
    winner, law = winner_of(rounds, q, drafted), law_of(rounds, q)
    nothing = law <= 0  # as in `acceptance`
    passed = winner * (p - positive_part(p - law) + nothing * (p > 0)) / (law + nothing)
    return passed + (1 - passed.sum()) * residual(p, law)
