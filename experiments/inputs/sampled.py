"""A problem whose tokens are drawn at a temperature: rows of both models to the power `1/T`, for families and texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from draftproof.experiments.inputs.sources import FamilyProblem, Problem, TextProblem
from draftproof.simulator.arithmetic import FLOAT64, Arithmetic, arithmetic_of
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import MarkovProcess, TableProcess, rationalise
from draftproof.simulator.protocol import TokenProcess


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
