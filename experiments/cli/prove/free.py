"""Free numbers of a theorem: parameters of a verifier, or the results of the solver that it calls.

A theorem for every result of a solver does not depend on the solver. The names are those of variables in formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from draftproof.experiments.cli.prove.races import CHOICES, RACES, WEIGHTS, FreeRaces, Racing, free_names
from draftproof.simulator.arithmetic import RATIONAL, exact_fraction
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Card, Coin, Context, DraftNode, DraftScheme, Vector, Verdict, Verifier
from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, ZERO
from draftproof.simulator.theorems.proof.numbers import Number, Run
from draftproof.simulator.theorems.proof.theorem import Subject
from draftproof.verifiers._node_orders import DENOMINATOR, Mixture
from draftproof.verifiers._tournament import DENOMINATOR as UNITS
from draftproof.verifiers._tournament import play

if TYPE_CHECKING:
    from draftproof.experiments.inputs.verifiers import NamedVerifier

#: `--free solver`: everything that the solver of the verifier returns.
SOLVED = "solver"
Values = Mapping[str, Any]


@dataclass(frozen=True)
class AsFraction:
    """A number with the interface of a `Fraction`: it is its own numerator."""

    numerator: Any
    denominator: int = 1


class WithSolver:
    """A verifier whose solver is replaced by functions of the context; see `Verifier`."""

    def __init__(self, verifier: Any, solver: _Solver, values: Values) -> None:
        self._verifier, self._solver, self._values = verifier, solver, values

    @property
    def card(self) -> Card:
        """The card of the verifier."""
        card: Card = self._verifier.card
        return card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """`verify` with the other solver, which is given the context of the row that it is called with."""
        contexts = {id(node.target): node.context for node in _nodes(root)}

        def solver(p: Vector, *rest: Any) -> Any:
            return self._solver.choose(self._values, contexts[id(p)], p, *rest)

        verdict: Verdict = replace(self._verifier, solver=solver).verify(root, coin)
        return verdict


@dataclass(frozen=True)
class _Solver:
    """The names of the free numbers at a context, and the function of them that replaces the solver."""

    names: Callable[[Context, int, int], list[str]]
    choose: Callable[..., Any]


def _nodes(node: DraftNode) -> list[DraftNode]:
    return [node, *(below for token in dict.fromkeys(node.children) for below in _nodes(node.child(token)))]


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
    if isinstance(slack, Number):
        slack.of_run.assume(-slack, NEGATIVE | ZERO)
    elif slack < 0:  # at a point: the smallest `rho` that is always allowed
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
        if isinstance(rest, Number) and len(units) > 1:
            rest.of_run.assume(-rest, NEGATIVE | ZERO)
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
    "typical": _Solver(_levels, _plausible),
    "khisti": _Solver(_weights, _tournament),
    "spectr": _Solver(_shares, _rho),
    "path_transport": _Solver(_orders, _mixtures),
}


def subject_of(named: NamedVerifier, free: Sequence[str], size: int, scheme: DraftScheme) -> Subject:
    """The verifier with these numbers free, each in [0, 1]; raises `InvalidInput` for what it does not have."""
    if not free:
        return Subject.of(named.verifier)
    verifier_name = named.verifier.card.name
    if list(free) == [SOLVED] and verifier_name in _SOLVERS:
        return _with_solver_free(named, _SOLVERS[verifier_name], size, scheme)
    if verifier_name in RACES and list(free) in ([WEIGHTS], [CHOICES]):
        return _with_races_free(named, RACES[verifier_name], free[0], size, scheme)
    special = [SOLVED] if verifier_name in _SOLVERS else [CHOICES, WEIGHTS] if verifier_name in RACES else []
    known = [*named.verifier.card.parameters, *special]
    wrong = next((name for name in free if name not in named.verifier.card.parameters), None)
    if wrong is not None:
        raise InvalidInput(f"--free {wrong}: {verifier_name} can leave free {', '.join(known) or 'nothing'}")

    def with_parameters(values: Sequence[Any], convert: Callable[[Any], Any]) -> Verifier:
        verifier = copy(named.verifier)
        for key, value in zip(free, values, strict=True):
            object.__setattr__(verifier, key, convert(value))
        return verifier

    def formal(run: Run) -> Verifier:
        return with_parameters([run.variable(run.ring.names.index(key)) for key in free], AsFraction)

    return Subject(
        verifier_name,
        formal,
        lambda values: with_parameters(values, exact_fraction),
        tuple(free),
    )


def _with_races_free(named: NamedVerifier, racing: Racing, kind: str, size: int, scheme: DraftScheme) -> Subject:
    return _with_values(
        named, free_names(racing, kind, size, scheme), lambda values: FreeRaces(named.verifier, racing, kind, values)
    )


def _with_solver_free(named: NamedVerifier, solver: _Solver, size: int, scheme: DraftScheme) -> Subject:
    paths = getattr(scheme, "K", 1)
    contexts: list[Context] = [()]
    for context in contexts:  # grows while it is walked
        if len(context) < scheme.depth - 1:
            contexts += [(*context, token) for token in range(size)]
    names = tuple(name for context in contexts for name in solver.names(context, size, paths))

    return _with_values(named, names, lambda values: WithSolver(named.verifier, solver, values))


def _with_values(named: NamedVerifier, names: tuple[str, ...], build: Callable[[Values], Verifier]) -> Subject:
    """The subject that `build` makes from a free number for each name."""

    def formal(run: Run) -> Verifier:
        return build({name: run.variable(run.ring.names.index(name)) for name in names})

    def at(values: Sequence[Any]) -> Verifier:
        return build(dict(zip(names, map(RATIONAL.number, values), strict=True)))

    return Subject(named.verifier.card.name, formal, at, names)
