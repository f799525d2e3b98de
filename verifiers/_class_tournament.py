"""A tournament between drafts by classes of tokens of like `p/q`, whose weights are found by exchanges.

Two tokens meet with the weights of their classes, one half within a class. Then the winner of class `j` has the law
`q rho_j` at every round, and the class masses play the tournament of `verifiers._tournament` as if classes were tokens.
1. At first the class of the larger `p/q` always beats the other one.
2. From the best class to the worst: where a class has less than its target mass, better classes that have more than
   theirs, the best first, lose some of their wins against it.
3. Weights are rounded to multiples of `1/DENOMINATOR`, and the law follows from what was rounded.

Shapes: `V` tokens, `J` classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draftproof.simulator.protocol import Coin, Vector
from draftproof.simulator.vectors import is_tensor, layers, minimum, residual
from draftproof.verifiers._programs import check_numbers
from draftproof.verifiers._ratio_classes import ClassLaw, by_classes, classes_of, one_class, table
from draftproof.verifiers._tournament import DECIMALS, DENOMINATOR, as_type_of, play

#: Classes of a node, and how many there are in an octave (a factor of two) of `p/q`.
FINE, AN_OCTAVE = 64, 4


@dataclass(frozen=True)
class ClassRounds(ClassLaw):
    """The law of the last winner. units: for every round the whole numbers `DENOMINATOR w`, shape `(J, J)`."""

    units: tuple[Any, ...]

    def winner(self, drafted: Sequence[int], coin: Coin) -> int:
        """The place of the draft that wins."""
        places, winner = classes_of(self.node, drafted), 0
        for challenger, units in enumerate(self.units, start=1):
            stays = int(units[places[winner], places[challenger]])
            if drafted[challenger] != drafted[winner] and coin.choose([stays, DENOMINATOR - stays]) == 1:
                winner = challenger
        return winner

    def chances(self, drafted: Sequence[int]) -> dict[int, Any]:
        """The probability of each drafted token to win, given the drafts in their order."""
        place = dict(zip(drafted, classes_of(self.node, drafted), strict=True))
        chances = {drafted[0]: self.node.q[0] * 0 + 1}
        for token, units in zip(drafted[1:], self.units, strict=True):
            beaten = {other: chances[other] * int(units[place[token], place[other]]) / DENOMINATOR for other in chances}
            won = sum((mass for other, mass in beaten.items() if other != token), start=self.node.q[0] * 0)
            stays = {other: chances[other] - (beaten[other] if other != token else 0) for other in chances}
            chances = {**stays, token: stays.get(token, 0) + won}
        return chances


def class_rounds(p: Vector, q: Vector, k: int) -> ClassRounds:
    """The rounds of `k` drafts."""
    node = by_classes(p, q, classes=FINE, an_octave=AN_OCTAVE) if k > 1 else one_class(p, q)
    winner, rounds = node.q, []
    for _ in range(k - 1):
        posed = (part.astype(np.float64).round(DECIMALS) for part in (node.p, winner, node.q))
        rounds.append(class_weights(*posed))
        winner = play(rounds[-1], winner, node.q)
    return ClassRounds(node, winner / (node.q + (node.q <= 0)), tuple(rounds))


def class_weights(p: Any, r: Any, q: Any) -> Any:
    """Steps 1 to 3 in floats: whole numbers `DENOMINATOR w`, shape `(J, J)`; classes by rising `p/q`.

    r: the law of the winner.
    """
    meet = np.outer(r, q) + np.outer(q, r)
    weights = np.tril(np.ones_like(meet), -1) + np.eye(len(p)) / 2
    short = p - (weights * meet).sum(axis=1)
    for i in range(len(p) - 1, -1, -1):
        if short[i] > 0:
            spare = np.minimum(meet[i, i + 1 :], np.maximum(-short[i + 1 :], 0))
            before = spare[::-1].cumsum()[::-1] - spare
            given = np.minimum(spare, np.maximum(short[i] - before, 0))
            short[i] -= given.sum()
            short[i + 1 :] += given
            weights[i, i + 1 :] = given / (meet[i, i + 1 :] + (meet[i, i + 1 :] <= 0))
    upper = np.triu(np.rint(DENOMINATOR * np.clip(weights, 0, 1)).astype(np.int64), 1)
    return upper + np.tril(DENOMINATOR - upper.T, -1) + np.eye(len(p), dtype=np.int64) * (DENOMINATOR // 2)


def class_joint_law(p: Vector, q: Vector, k: int) -> Vector:
    """Joint law of the next token and the number of drafts that equal it, shape `(k + 1, V)`.

    For each token the probability is carried that it has won so far, and that of another token of each class.
    """
    check_numbers("the child law of a tournament", float((2 * k + 4) * FINE * len(q)), q)
    rounds = class_rounds(p, q, k)
    own = (rounds.node.place[:, None] == table(np.arange(len(rounds.rho)), rounds.node.place)) * 1
    own = q.new_tensor(own) if is_tensor(q) else own.astype(q.dtype)
    others = table(rounds.node.q, q) - own * q[:, None]
    states = [(q * 0, others), (q, others * 0)]
    for units in rounds.units:
        beats = as_type_of(units, q)  # [one, other]
        missed = [_missed(state, others, own, beats) for state in states]
        equal = [_equalled(state, q, own, beats) for state in states]
        states = [missed[0], *((a[0] + b[0], a[1] + b[1]) for a, b in zip(missed[1:], equal, strict=False)), equal[-1]]
    law = rounds.law(q)
    kept = minimum(p, law) / (law + (law <= 0))
    lost = (1 - kept) * (law > 0)
    rejected = (q * lost) @ own - own * (q * lost)[:, None]  # of the other tokens of each class
    share = rejected / (others + (others <= 0)) * (others > 0)
    rest = residual(p, law)
    return layers([won * kept + rest * (won * lost + (other * share).sum(-1)) for won, other in states])


def _missed(state: tuple[Any, Any], others: Any, own: Any, beats: Any) -> tuple[Any, Any]:
    """The state after one more draft that is another token."""
    won, other = state
    against = beats @ own.T  # [class, token]: to beat the token
    stays = won * ((own @ beats) * others).sum(-1)
    moves = won[:, None] * others * against.T + other * (others @ beats.T) + others * (other @ beats.T)
    return stays / DENOMINATOR, moves / DENOMINATOR


def _equalled(state: tuple[Any, Any], q: Vector, own: Any, beats: Any) -> tuple[Any, Any]:
    """The state after one more draft that is the token itself."""
    won, other = state
    wins, moves = q * ((own @ beats) * other).sum(-1), other * q[:, None] * (beats @ own.T).T
    return q * won + wins / DENOMINATOR, moves / DENOMINATOR
