"""Where instances come from: an instance file, a member of a synthetic family, or a text with its root contexts.

Families and texts can be sampled at a temperature: rows of both models to the power `1/T`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np

from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, Arithmetic, arithmetic_of
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.families import family_named
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.ngram import TextPair
from draftproof.simulator.instances.processes import MarkovProcess, TableProcess, rationalise, table_entries
from draftproof.simulator.protocol import TokenProcess

#: Instances of a family are exact up to so many table entries; beyond, a float64 run draws them as floats at once.
EXACT_ENTRIES = 200_000


class Problem(Protocol):
    """Where instances come from. `source` holds everything that defines them, for rows and their `strong_id`."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def source(self) -> dict[str, Any]: ...

    @property
    def flag(self) -> str:
        """The option that chose it."""
        ...

    def roots(self, depth: int, arithmetic: Arithmetic) -> list[Case]:
        """The weighted roots for trees of this depth, weights summing to 1; exact unless only floats fit."""
        ...

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class FileProblem:
    """One instance file."""

    path: str
    instance: Instance

    flag: ClassVar[str] = "--instance"

    @property
    def vocab_size(self) -> int:
        return self.instance.vocab_size

    @property
    def source(self) -> dict[str, Any]:
        """See `Problem`: the hash of the rows, so that a renamed file is the same problem."""
        return {"instance": self.instance.digest()}

    def roots(self, depth: int, arithmetic: Arithmetic) -> list[Case]:
        exact = self.instance.target.arithmetic.exact
        cut = self.instance.converted(RATIONAL if exact else arithmetic, depth)
        return [Case(self.path, cut.target, cut.draft)]

    def __str__(self) -> str:
        return f"instance {self.path}, V = {self.vocab_size}"


@dataclass(frozen=True)
class FamilyProblem:
    """A member of a synthetic family; the rows of a shallow tree are the first rows of a deeper one."""

    family: str
    vocab_size: int
    seed: int
    denominator: int
    parameters: Mapping[str, float] = field(default_factory=dict)

    flag: ClassVar[str] = "--family"

    @property
    def source(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "vocab_size": self.vocab_size,
            "seed": self.seed,
            "denominator": self.denominator,
            **self.parameters,
        }

    def roots(self, depth: int, arithmetic: Arithmetic) -> list[Case]:
        return [self.member(self.seed, depth, arithmetic)]

    def member(self, seed: int, depth: int, arithmetic: Arithmetic) -> Case:
        """The instance of any seed."""
        family = family_named(self.family)
        numbers = RATIONAL if table_entries(self.vocab_size, depth) <= EXACT_ENTRIES else arithmetic
        made = family.instance(
            self.vocab_size, depth, np.random.default_rng(seed), self.denominator, numbers, **self.parameters
        )
        return Case(f"seed {seed}", made.target, made.draft)

    def __str__(self) -> str:
        given = "".join(f", {key} = {value:g}" for key, value in self.parameters.items())
        return f"family {self.family}{given}, V = {self.vocab_size}, seed {self.seed}"


@dataclass(frozen=True)
class TextProblem:
    """An n-gram pair from a text, at its most frequent root contexts or at one given."""

    name: str
    pair: TextPair
    root: str | None = None
    count: int = 8

    flag: ClassVar[str] = "--text"

    @property
    def vocab_size(self) -> int:
        return self.pair.vocab_size

    @property
    def source(self) -> dict[str, Any]:
        """See `Problem`: the text stands there by its hash."""
        return {
            "text": self.name,
            "text_hash": self.pair.digest,
            "vocab_size": self.vocab_size,
            "target_order": self.pair.target_order,
            "draft_order": self.pair.draft_order,
            "denominator": self.pair.denominator,
            "root": self.root if self.root is not None else f"{self.count} most frequent",
        }

    def roots(self, depth: int, arithmetic: Arithmetic) -> list[Case]:
        if self.root is not None:
            contexts = [(self.pair.root_of(self.root), Fraction(1))]
        else:
            contexts = self.pair.frequent_roots(self.count)
        return [Case(self.pair.show(context), *self.pair.processes(context), weight) for context, weight in contexts]

    def __str__(self) -> str:
        return (
            f"text {self.name} (sha256 {self.pair.digest}), V = {self.vocab_size}, "
            f"order-{self.pair.target_order} target, order-{self.pair.draft_order} draft, "
            + (f"root {self.root!r}" if self.root is not None else f"{self.count} most frequent roots")
        )


@dataclass(frozen=True)
class SampledProblem:
    """A family or a text at a temperature of both models, at least 0: its rows to the power `1/temperature`.

    They are multiples of one over the problem's own denominator again. At 0 all mass is on the largest entry, on the
    lowest token where several are.
    """

    problem: FamilyProblem | TextProblem
    temperature: float

    @property
    def flag(self) -> str:
        return "--sampling"

    @property
    def vocab_size(self) -> int:
        return self.problem.vocab_size

    @property
    def source(self) -> dict[str, Any]:
        return {**self.problem.source, "sampling": {"temperature": self.temperature}}

    def roots(self, depth: int, arithmetic: Arithmetic) -> list[Case]:
        return [
            replace(case, target=self._sampled(case.target), draft=self._sampled(case.draft))
            for case in self.problem.roots(depth, arithmetic)
        ]

    def _sampled(self, process: TokenProcess) -> TokenProcess:
        if isinstance(process, MarkovProcess):
            return MarkovProcess(self._rows(process.states), process.root, process.name)
        assert isinstance(process, TableProcess)
        return TableProcess([self._rows(table) for table in process.tables], process.name)

    def _rows(self, rows: Any) -> Any:
        own = self.problem
        grain = own.denominator if isinstance(own, FamilyProblem) else own.pair.denominator
        return rationalise(tempered(FLOAT64.vector(rows), self.temperature), grain, arithmetic_of(rows))

    def __str__(self) -> str:
        return f"{self.problem}, temperature {self.temperature:g}"


def tempered(rows: Any, temperature: float) -> Any:
    """Rows of floats, shape `(n, V)`, at a temperature of at least 0."""
    largest = rows.max(axis=1, keepdims=True)
    if temperature == 0:
        return np.eye(rows.shape[1])[rows.argmax(axis=1)]
    powers = (rows / largest) ** (1 / temperature)
    return powers / powers.sum(axis=1, keepdims=True)


def sampled(problem: Problem, temperature: float) -> Problem:
    """The problem at a temperature; itself at 1. Raises `InvalidInput` for an instance file, which is as it is."""
    if temperature == 1:
        return problem
    if not isinstance(problem, (FamilyProblem, TextProblem)):
        raise InvalidInput(f"--sampling has no effect on {problem.flag}; leave it out")
    return SampledProblem(problem, temperature)
