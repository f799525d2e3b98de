"""From the text of a command line to cuts of a batch, and from a source of instances to its requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from types import MappingProxyType
from typing import Any

from draftproof.experiments.inputs.sources import FamilyProblem, FileProblem, Problem, TextProblem
from draftproof.experiments.inputs.verifiers import from_file, loaded, parse_assignments
from draftproof.simulator.arithmetic import RATIONAL, parse_fraction
from draftproof.simulator.batches.batch import Batch, Cut
from draftproof.simulator.batches.best import Best, Fixed
from draftproof.simulator.batches.cuts import CUTS
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import TokenProcess

#: Cuts that are computed for one batch.
PLANNED: Mapping[str, Callable[[Batch], Cut]] = MappingProxyType({"fixed": Fixed, "optimum": Best})
#: Every cut by name.
ALL_CUTS: Mapping[str, Any] = MappingProxyType({**CUTS, **PLANNED})
#: The cuts where none is named.
USUAL = (
    *("equal", "fixed", "threshold", "greedy:by=row", "greedy:by=acceptance", "greedy:by=updated", "greedy:by=token"),
    "optimum",
)


def find_cut(spec: str, batch: Batch) -> Cut:
    """`NAME`, `NAME:key=value,..` or `FILE.py:NAME`; raises `InvalidInput` for anything else."""
    if from_file(spec):
        return _from_file(spec)
    name, _, rest = spec.partition(":")
    given = parse_assignments(rest, name, spec)
    if name in PLANNED:
        if given:
            raise InvalidInput(f"{spec!r}: cut {name} is computed for the batch; it takes no parameters")
        return PLANNED[name](batch)
    if name not in CUTS:
        raise InvalidInput(f"unknown cut {name!r}; known: {', '.join(ALL_CUTS)}, or FILE.py:NAME for your own")
    known = signature(CUTS[name]).parameters
    if wrong := sorted(set(given) - set(known)):
        raise InvalidInput(f"cut {name} has no parameter {wrong[0]!r}; its parameters: {', '.join(known) or 'none'}")
    made: Cut = CUTS[name](**{key: _value(text, known[key].default) for key, text in given.items()})
    return made


def _from_file(spec: str) -> Cut:
    entry, parameters = loaded(spec, "cut")
    made = entry(**parameters) if isinstance(entry, type) else entry
    if not callable(made) or (parameters and made is entry):
        raise InvalidInput(
            f"{spec} is no cut; give a function of the drafts and the budget, or a class of such objects"
        )
    cut: Cut = made
    return cut


def _value(text: str, default: Any) -> Any:
    """The text as what the default is."""
    if isinstance(default, str):
        return text
    number = parse_fraction(text)
    if isinstance(default, int):
        if number.denominator != 1:
            raise InvalidInput(f"{text} is no whole number; give one")
        return int(number)
    return number


def requests_of(problem: Problem, count: int, depth: int) -> list[tuple[TokenProcess, TokenProcess]]:
    """Target and draft of `count` requests: seeds of a family, frequent roots of a text, or one instance for each.

    Raises `InvalidInput` for a text of fewer roots.
    """
    if isinstance(problem, FamilyProblem):
        cases = [problem.member(problem.seed + number, depth, RATIONAL) for number in range(count)]
    elif isinstance(problem, FileProblem):
        cases = problem.roots(depth, RATIONAL) * count
    else:
        assert isinstance(problem, TextProblem)
        cases = problem.roots(depth, RATIONAL)
        if problem.root is not None:
            cases = cases * count
        if len(cases) < count:
            raise InvalidInput(f"{problem} gives {len(cases)} requests, not {count}; raise --roots or lower --requests")
    return [(case.target, case.draft) for case in cases[:count]]


def named_cuts(specs: Sequence[str], batch: Batch) -> list[tuple[str, Cut]]:
    """Each cut once, with its text."""
    return [(spec, find_cut(spec, batch)) for spec in dict.fromkeys(specs)]
