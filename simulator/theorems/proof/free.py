"""Free numbers of a theorem: parameters of a verifier, or what the solver that it calls returns, any value in [0, 1].

A theorem for every result of a solver does not depend on the solver. The names are those of variables in formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.numbers import exact_fraction
from draftproof.simulator.protocol import Card, Coin, Context, DraftNode, DraftScheme, Vector, Verdict, Verifier
from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, ZERO
from draftproof.simulator.theorems.proof.numbers import Number, Run
from draftproof.simulator.theorems.proof.theorem import Subject

#: The values of free numbers by name.
Values = Mapping[str, Any]


@dataclass(frozen=True)
class AsFraction:
    """A number with the interface of a `Fraction`: it is its own numerator."""

    numerator: Any
    denominator: int = 1


@dataclass(frozen=True)
class Solver:
    """A function of free numbers that stands in place of a solver.

    names: those of the free numbers at a context, for a vocabulary size and a number of paths. choose: what the solver
    returns, of the values by name, the context and the arguments of the solver.
    """

    names: Callable[[Context, int, int], list[str]]
    choose: Callable[..., Any]


class WithSolver:
    """A verifier whose solver is replaced by functions of the context; see `Verifier`."""

    def __init__(self, verifier: Any, solver: Solver, values: Values) -> None:
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


def _nodes(node: DraftNode) -> list[DraftNode]:
    return [node, *(below for token in dict.fromkeys(node.children) for below in _nodes(node.child(token)))]


def assumed_nonnegative(number: Any) -> bool:
    """Restrict the theorem to where a number is at least 0, and return True; at a point, whether it is there."""
    if isinstance(number, Number):
        number.of_run.assume(-number, NEGATIVE | ZERO)
        return True
    return bool(number >= 0)


def with_parameters(verifier: Verifier, free: Sequence[str]) -> Subject:
    """The verifier with these of its parameters free."""

    def made(values: Sequence[Any], convert: Callable[[Any], Any]) -> Verifier:
        changed = copy(verifier)
        for key, value in zip(free, values, strict=True):
            object.__setattr__(changed, key, convert(value))
        return changed

    def formal(run: Run) -> Verifier:
        return made([run.variable(run.ring.names.index(key)) for key in free], AsFraction)

    return Subject(verifier.card.name, formal, lambda values: made(values, exact_fraction), tuple(free))


def with_solver(verifier: Verifier, solver: Solver, size: int, scheme: DraftScheme) -> Subject:
    """The verifier with free numbers in place of its solver, for a vocabulary size."""
    paths = getattr(scheme, "K", 1)
    contexts: list[Context] = [()]
    for context in contexts:  # grows while it is walked
        if len(context) < scheme.depth - 1:
            contexts += [(*context, token) for token in range(size)]
    names = tuple(name for context in contexts for name in solver.names(context, size, paths))
    return with_values(verifier.card.name, names, lambda values: WithSolver(verifier, solver, values))


def with_values(name: str, names: tuple[str, ...], build: Callable[[Values], Verifier]) -> Subject:
    """The subject that `build` makes from a free number for each of `names`. name: of the verifier."""

    def formal(run: Run) -> Verifier:
        return build({free: run.variable(run.ring.names.index(free)) for free in names})

    def at(values: Sequence[Any]) -> Verifier:
        return build(dict(zip(names, map(RATIONAL.number, values), strict=True)))

    return Subject(name, formal, at, names)
