"""Synthetic families of instances: random pairs of processes, and corner cases such as zeros and ties.

`V` is the vocabulary size; tables are as in `draftproof.simulator.tables`. Every row of every context is
drawn independently, in float64, then rounded to rationals with one common denominator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import RATIONAL, Arithmetic
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import check_denominator, rationalise
from draftproof.simulator.tables import TableProcess, check_table_size

#: `draw(generator, n, V, **parameters)` returns target and draft rows, each of shape `(n, V)`.
Draw = Callable[..., tuple[Any, Any]]


@dataclass(frozen=True)
class Family:
    """A named way to draw a target row and a draft row for one context.

    parameters: default value of each parameter; all are numbers of at least 0.
    """

    name: str
    title: str
    draw: Draw
    parameters: Mapping[str, float] = field(default_factory=dict)

    def instance(
        self,
        vocab_size: int,
        depth: int,
        generator: np.random.Generator,
        denominator: int = 2**16,
        arithmetic: Arithmetic = RATIONAL,
        **parameters: float,
    ) -> Instance:
        """A random instance for trees of depth `depth`; raises `InvalidInput` on a bad size or parameter.

        arithmetic: FLOAT64 gives the same fractions as floats.
        """
        if vocab_size < 2:
            raise InvalidInput(f"family {self.name} needs a vocabulary of at least 2 tokens, not {vocab_size}")
        check_denominator(denominator, vocab_size)
        check_table_size(vocab_size, depth, arithmetic)
        values = self._values(parameters)
        target, draft = [], []
        for length in range(depth + 1):
            p, q = self.draw(generator, vocab_size**length, vocab_size, **values)
            target.append(rationalise(p, denominator, arithmetic))
            draft.append(rationalise(q, denominator, arithmetic))
        about = {"family": self.name, "denominator": denominator, **values}
        return Instance(TableProcess(target, "target"), TableProcess(draft[: max(depth, 1)], "draft"), about=about)

    def _values(self, parameters: Mapping[str, float]) -> dict[str, float]:
        for name, value in parameters.items():
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise InvalidInput(f"family {self.name} has no parameter {name!r}; its parameters: {known}")
            if not 0 <= value < np.inf:
                raise InvalidInput(f"family {self.name}: {name} = {value} must be a finite number of at least 0")
        return {**self.parameters, **parameters}


def _softmax(logits: Any) -> Any:
    if not np.isfinite(logits).all():
        raise InvalidInput("a parameter of the family makes logits that float64 cannot hold; give one nearer to 1")
    scaled = np.exp(logits - logits.max(axis=1, keepdims=True))
    return scaled / scaled.sum(axis=1, keepdims=True)


def _dirichlet_rows(generator: np.random.Generator, n: int, size: int, alpha: float, family: str = "dirichlet") -> Any:
    if alpha <= 0:
        raise InvalidInput(f"family {family}: alpha = {alpha} must be positive")
    return generator.dirichlet(np.full(size, alpha), size=n)


def _dirichlet(generator: np.random.Generator, n: int, size: int, alpha: float) -> tuple[Any, Any]:
    return _dirichlet_rows(generator, n, size, alpha), _dirichlet_rows(generator, n, size, alpha)


def _perturbed(generator: np.random.Generator, n: int, size: int, s: float) -> tuple[Any, Any]:
    target = _dirichlet_rows(generator, n, size, 1.0)
    noise = generator.standard_normal((n, size))
    with np.errstate(over="ignore"):
        return target, _softmax(np.log(target) + s * noise)


def _temperature(generator: np.random.Generator, n: int, size: int, target: float, draft: float) -> tuple[Any, Any]:
    if target <= 0 or draft <= 0:
        raise InvalidInput(f"family temperature: target = {target} and draft = {draft} must be positive")
    logits = 2 * generator.standard_normal((n, size))
    with np.errstate(over="ignore"):
        return _softmax(logits / target), _softmax(logits / draft)


def _zeros(generator: np.random.Generator, n: int, size: int) -> tuple[Any, Any]:
    def rows() -> Any:
        support = generator.random((n, size)) < 0.5
        support[np.arange(n), generator.integers(size, size=n)] = True
        masses = support * _dirichlet_rows(generator, n, size, 1.0)
        return masses / masses.sum(axis=1, keepdims=True)

    return rows(), rows()


def _ties(generator: np.random.Generator, n: int, size: int) -> tuple[Any, Any]:
    def rows() -> Any:
        units = np.ones((n, size))  # all equal but one, which also takes what rounding leaves
        units[np.arange(n), generator.integers(size, size=n)] = generator.integers(1, 4, size=n)
        return units / units.sum(axis=1, keepdims=True)

    return rows(), rows()


def _point_masses(generator: np.random.Generator, n: int, size: int) -> tuple[Any, Any]:
    return np.eye(size)[generator.integers(size, size=n)], np.eye(size)[generator.integers(size, size=n)]


def _marginals(generator: np.random.Generator, n: int, size: int, alpha: float) -> tuple[Any, Any]:
    target = _dirichlet_rows(generator, n, size, alpha, "marginals")
    return target, _dirichlet_rows(generator, 1, size, alpha).repeat(n, axis=0)


def _equal(generator: np.random.Generator, n: int, size: int) -> tuple[Any, Any]:
    rows = _dirichlet_rows(generator, n, size, 1.0)
    return rows, rows


def _disjoint(generator: np.random.Generator, n: int, size: int) -> tuple[Any, Any]:
    order = generator.permuted(np.tile(np.arange(size), (n, 1)), axis=1)
    for_target = order < generator.integers(1, size, size=(n, 1))
    masses = _dirichlet_rows(generator, n, size, 1.0)
    target, draft = masses * for_target, masses * ~for_target
    return target / target.sum(axis=1, keepdims=True), draft / draft.sum(axis=1, keepdims=True)


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        Family("dirichlet", "target and draft rows independent Dirichlet(alpha)", _dirichlet, {"alpha": 1.0}),
        Family("perturbed", "Dirichlet target, draft perturbed in log space by strength s", _perturbed, {"s": 0.5}),
        Family("temperature", "one set of logits at two temperatures", _temperature, {"target": 1.0, "draft": 1.5}),
        Family(
            "marginals", "as dirichlet, with one draft row for each depth: q is a product", _marginals, {"alpha": 1.0}
        ),
        Family("zeros", "corner case: random supports, many zeros", _zeros),
        Family("ties", "corner case: rows with equal entries", _ties),
        Family("point_masses", "corner case: every row is one token", _point_masses),
        Family("equal", "corner case: q = p", _equal),
        Family("disjoint", "corner case: target and draft share no token", _disjoint),
    )
}

#: The families of corner cases.
CORNER_CASES = ("zeros", "ties", "point_masses", "equal", "disjoint")


def family_named(name: str) -> Family:
    """The family of that name; raises `InvalidInput` for any other."""
    if name not in FAMILIES:
        raise InvalidInput(f"unknown family {name!r}; known: {', '.join(FAMILIES)}")
    return FAMILIES[name]
