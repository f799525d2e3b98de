"""What a theorem of `draftproof prove` may leave free: parameters, what solvers return, races of layer verifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed, Greedy, WithoutReplacement
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Card, Coin, Context, DraftNode, DraftScheme, Vector, Verdict, Verifier
from draftproof.simulator.theorems.proof.free import (
    Solver,
    Values,
    assumed_nonnegative,
    with_parameters,
    with_solver,
    with_values,
)
from draftproof.simulator.theorems.proof.races import (
    CHOICES,
    NULL_OPTION,
    WEIGHTS,
    Drafted,
    Racing,
    Weight,
    drafted_paths,
    free_names,
    names_of,
    weight_name,
)
from draftproof.simulator.theorems.proof.theorem import Subject
from draftproof.verifiers._layers import Scored, Step, sweep
from draftproof.verifiers._race import Race
from draftproof.verifiers._token_orders import DENOMINATOR, Mixture
from draftproof.verifiers.khisti import DENOMINATOR as UNITS
from draftproof.verifiers.khisti import play

#: `--free solver`: everything that the solver of the verifier returns.
SOLVED = "solver"
#: The races of layer verifiers.
RACES = {
    "layer_transport": Racing(True, Delayed),
    "layer_greedy": Racing(False, Greedy),
    "layer_without_replacement": Racing(False, WithoutReplacement),
}


def _text(context: Context) -> str:
    return "".join(map(str, context))


def _pairs(size: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(size) for j in range(i + 1, size)]


def _weights(context: Context, size: int, paths: int) -> list[str]:
    return [f"w{_text(context)}_{turn}_{i}{j}" for turn in range(1, paths) for i, j in _pairs(size)]


def _tournament(values: Values, context: Context, p: Vector, q: Vector, k: int) -> list[tuple[Any, Vector]]:
    rounds, winner = [], q
    for turn in range(1, k):
        units = np.full((len(p), len(p)), UNITS // 2, dtype=object)
        for i, j in _pairs(len(p)):
            units[i, j] = values[f"w{_text(context)}_{turn}_{i}{j}"] * UNITS
            units[j, i] = UNITS - units[i, j]
        winner = play(units, winner, q)
        rounds.append((units, winner))
    return rounds


def _shares(context: Context, size: int, paths: int) -> list[str]:
    return [f"r{_text(context)}_{k}" for k in range(2, paths + 1)]


def _rho(values: Values, context: Context, p: Vector, q: Vector, k: int) -> Any:
    """A `rho` in [1, k] for which the verifier is defined: `1 - (1 - beta)^k <= rho beta`.

    Where `beta > 0` both sides are divided by it: `1 + (1 - beta) + .. + (1 - beta)^(k-1) <= rho`.
    """
    rho = 1 + (k - 1) * values[f"r{_text(context)}_{k}"]
    beta = np.minimum(p / rho, q).sum()
    slack = rho - sum((1 - beta) ** power for power in range(k)) if beta > 0 else rho * 0
    if not assumed_nonnegative(slack):  # at a point: the smallest `rho` that is always allowed
        rho = rho * 0 + k
    return np.array([rho], dtype=object)


def _orders(context: Context, size: int, paths: int) -> list[str]:
    count = len(list(permutations(range(size)))) - 1
    return [f"m{_text(context)}_{k}_{order}" for k in range(2, paths + 1) for order in range(count)]


def _mixtures(values: Values, context: Context, p: Vector, q: Vector, state: Any) -> tuple[Mixture, ...] | None:
    if len(state) <= 2:
        return None
    orders = tuple(permutations(range(len(p))))
    mixtures = []
    for k in range(2, len(state)):
        units = [values[f"m{_text(context)}_{k}_{order}"] * DENOMINATOR for order in range(len(orders) - 1)]
        rest = DENOMINATOR - sum(units)
        if len(units) > 1:
            assumed_nonnegative(rest)
        mixtures.append(Mixture((*units, rest), orders))
    return tuple(mixtures)


def _levels(context: Context, size: int, paths: int) -> list[str]:
    return [*(["e", "d"] if not context else []), f"h{_text(context)}"]


def _plausible(values: Values, context: Context, p: Vector, token: int, epsilon: Fraction, delta: Fraction) -> bool:
    """Typical acceptance with thresholds `epsilon / e` and `delta / d`, where `e`, `d` in [0, 1]; 0 means no threshold.

    `exp(-H)`, the geometric mean of `p` weighted by `p`, is any number from its harmonic mean `1/V` to its arithmetic.
    """
    least = RATIONAL.number(Fraction(1, len(p)))
    level = least + ((p * p).sum() - least) * values[f"h{_text(context)}"]
    by_epsilon = values["e"] * p[token] * epsilon.denominator > epsilon.numerator
    return bool(by_epsilon or values["d"] * p[token] * delta.denominator > level * delta.numerator)


_SOLVERS = {
    "typical": Solver(_levels, _plausible),
    "khisti": Solver(_weights, _tournament),
    "spectr": Solver(_shares, _rho),
    "path_transport": Solver(_orders, _mixtures),
}


def subject_of(verifier: Verifier, free: Sequence[str], size: int, scheme: DraftScheme) -> Subject:
    """The verifier with these numbers free, each in [0, 1]; raises `InvalidInput` for what it does not have."""
    name = verifier.card.name
    if not free:
        return Subject.of(verifier)
    if list(free) == [SOLVED] and name in _SOLVERS:
        return with_solver(verifier, _SOLVERS[name], size, scheme)
    if name in RACES and list(free) in ([WEIGHTS], [CHOICES]):
        racing, kind = RACES[name], free[0]
        names = free_names(racing, kind, size, scheme)
        return with_values(name, names, lambda values: FreeRaces(verifier, racing, kind, values))
    special = [SOLVED] if name in _SOLVERS else [CHOICES, WEIGHTS] if name in RACES else []
    parameters = verifier.card.parameters
    wrong = next((parameter for parameter in free if parameter not in parameters), None)
    if wrong is not None:
        known = ", ".join([*parameters, *special]) or "nothing"
        raise InvalidInput(f"free {wrong}: {name} can leave free {known}")
    return with_parameters(verifier, free)


class FreeRaces:
    """A layer verifier whose races are free numbers; see `Verifier`."""

    def __init__(self, verifier: Any, racing: Racing, kind: str, values: Values) -> None:
        self._verifier, self._racing, self._kind, self._values = verifier, racing, kind, values

    @property
    def card(self) -> Card:
        """The card of the verifier."""
        card: Card = self._verifier.card
        return card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """The verifier's own algorithm with its solver replaced."""
        return sweep(root, coin, partial(self._step, root))

    def _step(self, root: DraftNode, layer: Sequence[Scored]) -> Step:
        beside = names_of(drafted_paths(root, len(layer[0].node.context)))
        tokens = range(len(layer[0].node.target))
        pairs = [[names_of([(*scored.node.context, y)]) for y in tokens] for scored in layer if scored.node.children]
        step: Step = replace(self._verifier, solver=partial(self._race, pairs, beside)).step(layer)
        # a pair that is never selected beside others is in a later block than they are: it has no score then
        return Step({context: score for context, score in step.scores.items() if score > 0}, step.means)

    def _race(self, pairs: list[list[str]], beside: str, owed: Vector, draft: Vector, key: Any) -> Any:
        weights, blocks = np.empty((2, len(pairs), len(pairs[0])), dtype=object)
        for at in np.ndindex(weights.shape):
            pair = pairs[at[0]][at[1]]
            weights[at] = (
                Drafted((pair,), beside, self._values)
                if self._kind == CHOICES
                else Weight((pair,), self._values[weight_name("v", pair, beside)])
            )
            blocks[at] = self._values.get(weight_name("b", pair, beside), 0)
        if not self._racing.blocks:
            return weights
        null_option: Any = Drafted((NULL_OPTION,), beside, self._values)
        if self._kind != CHOICES:
            null_option = Weight((NULL_OPTION,), self._values[weight_name("v", NULL_OPTION, beside)])
        values = blocks.ravel().tolist()
        ranks = [sum(int(other < value) for other in values) for value in values]
        return Race(np.array(ranks).reshape(blocks.shape), weights, max(ranks), null_option)
