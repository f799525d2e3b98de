"""Importance-weighted tournament: the drafts play against each other, then the winner is verified against the target.

[khisti2025multi], the two-step scheme with truncated programs. At each node with drafts `X1..Xk` from `q`:
1. The current winner has law `r`, at first `q`. Against the next draft it is decided by weights `w_ij + w_ji = 1`
   (token `i` beats token `j` with probability `w_ij`): `r'(i) = r_i q_i + sum_{j != i} w_ij (r_i q_j + r_j q_i)`.
2. The weights of a round maximise `sum min(p, r')`, a linear program; where `p = r = q` they are all 1/2, which
   is an optimum.
3. Accept the last winner with probability `min(1, p/r)`, else draw from normalised `(p - r)+`.

Lossless for any weights, as long as `r` is the law that they induce. So the weights of the solver are rounded to
multiples of 1/1024 first and `r` is computed from what was rounded: the output is exact whatever the solver returned.

For more than 32 tokens the tournament is one of classes of tokens of like `p/q`, and weights are found by exchanges.
Two tokens meet with the weights of their classes, one half within a class. Then the winner of class `j` has the law
`q rho_j` at every round, and the class masses play the tournament as if classes were tokens.
4. At first the class of the larger `p/q` always beats the other one.
5. From the best class to the worst: where a class has less than its target mass, better classes that have more than
   theirs, the best first, lose some of their wins against it.
6. Weights are rounded to multiples of `1/DENOMINATOR`, and the law follows from what was rounded.

Shapes: `V` tokens, `J` classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.residual import acceptance, is_tensor, positive_part, residual
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import layers, minimum, one_hot, stacked, stacked_layers
from draftproof.verifiers._classes import CLASSES, OneDraft, by_classes, classes_of, one_class, table
from draftproof.verifiers._programs import DECIMALS, check_numbers, memoised, posed
from draftproof.verifiers._top_down import walk

#: Weights are multiples of one over this number.
DENOMINATOR = 1024
#: For each round the whole numbers `DENOMINATOR w_ij`, shape `(V, V)`, and the winner's new law, shape `(V,)`.
Rounds: TypeAlias = Sequence[tuple[Any, Vector]]


@memoised
def tournament(p: Vector, q: Vector, k: int) -> Rounds:
    """The rounds of a tournament between `k` drafts, one for each draft after the first.

    Raises `TooLarge` above some 500 drafted tokens.
    The diagonal, a token against itself, is one half, since `play` counts it twice.
    """
    rounds = []
    winner = q
    if k > 1:
        drafted = int((q > 0).sum())
        check_numbers("the program of a tournament", len(q) * (drafted * (drafted - 1) / 2 + len(q)), q)
    for _ in range(k - 1):
        units = _weights(_rounded(p), _rounded(winner), _rounded(q))
        winner = play(units, winner, q)
        rounds.append((units, winner))
    return rounds


def play(units: Any, winner: Vector, challenger: Vector) -> Vector:
    """One round: the (possibly incomplete) law of the new winner."""
    pair_mass = winner[:, None] * challenger[None, :]
    return (as_type_of(units, winner) * (pair_mass + pair_mass.T)).sum(1) / DENOMINATOR


def as_type_of(units: Any, q: Vector) -> Any:
    """Whole numbers in the type of `q`, to multiply its entries."""
    if is_tensor(q):
        return q.new_tensor(units.tolist())
    return units.astype(q.dtype)


def _rounded(row: Vector) -> tuple[float, ...]:
    return tuple(round(float(value), DECIMALS) for value in row.tolist())


@lru_cache(maxsize=65536)
def _weights(p: tuple[float, ...], r: tuple[float, ...], q: tuple[float, ...]) -> Any:
    """The weights of one round in units of `1/DENOMINATOR`, shape `(V, V)`."""
    size = len(p)
    units = np.full((size, size), DENOMINATOR // 2)
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size) if r[i] * q[j] + r[j] * q[i] > 0]
    if p == r == q or not pairs:  # halves keep the law; where `r` is not `q` they do not
        return units
    # variables: w_ij for the pairs, then t_i <= min(p_i, r'_i); maximise sum t
    gain = np.zeros((size, len(pairs) + size))
    base = np.array([r[i] * q[i] for i in range(size)])
    for column, (i, j) in enumerate(pairs):
        pair_mass = r[i] * q[j] + r[j] * q[i]
        gain[i, column] = -pair_mass  # t_i - w_ij pair_mass <= ...
        gain[j, column] = pair_mass  # t_j - (1 - w_ij) pair_mass <= ...
        base[j] += pair_mass
    gain[:, len(pairs) :] = np.eye(size)
    bounds = [(0.0, 1.0)] * len(pairs) + [(0.0, value) for value in p]
    objective = np.concatenate([np.zeros(len(pairs)), -np.ones(size)])
    solved = scipy.optimize.linprog(objective, A_ub=gain, b_ub=base, bounds=bounds, method="highs")
    if solved.x is None:
        return units  # any weights are lossless
    for column, (i, j) in enumerate(pairs):
        units[i, j] = round(DENOMINATOR * min(1.0, max(0.0, float(solved.x[column]))))
        units[j, i] = DENOMINATOR - units[i, j]
    return units


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


#: Classes of a node, and how many there are in an octave (a factor of two) of `p/q`.
FINE, AN_OCTAVE = 64, 4


@dataclass(frozen=True)
class ClassRounds(OneDraft):
    """The draft taken is the last winner. units: for every round the whole numbers `DENOMINATOR w`, shape `(J, J)`."""

    units: tuple[Any, ...]

    def chances(self, drafted: Sequence[int]) -> list[Any]:
        """For each of the drafts, in their order, the probability that it wins."""
        places, chances = classes_of(self.node, drafted), [self.node.q[0] * 0 + 1]
        for challenger, units in enumerate(self.units, start=1):
            stays = [
                chance * int(units[places[i], places[challenger]]) / DENOMINATOR
                if drafted[i] != drafted[challenger]
                else chance
                for i, chance in enumerate(chances)
            ]
            chances = [*stays, sum(chance - left for chance, left in zip(chances, stays, strict=True))]
        return chances


def class_rounds(p: Vector, q: Vector, k: int) -> ClassRounds:
    """The rounds of `k` drafts."""
    node = by_classes(p, q, classes=FINE, an_octave=AN_OCTAVE) if k > 1 else one_class(p, q)
    winner, rounds = node.q, []
    for _ in range(k - 1):
        masses = (posed(part) for part in (node.p, winner, node.q))
        rounds.append(class_weights(*masses))
        winner = play(rounds[-1], winner, node.q)
    return ClassRounds(node, winner / (node.q + (node.q <= 0)), tuple(rounds))


def class_weights(p: Any, r: Any, q: Any) -> Any:
    """Steps 4 to 6 in floats: whole numbers `DENOMINATOR w`, shape `(J, J)`; classes by rising `p/q`.

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
    passed = minimum(p, law) / (law + (law <= 0))
    lost = (1 - passed) * (law > 0)
    rejected = (q * lost) @ own - own * (q * lost)[:, None]  # of the other tokens of each class
    share = rejected / (others + (others <= 0)) * (others > 0)
    rest = residual(p, law)
    return layers([won * passed + rest * (won * lost + (other * share).sum(-1)) for won, other in states])


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
