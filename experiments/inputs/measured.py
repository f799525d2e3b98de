"""Schemes that are planned from a measurement: the tree of `sequoia` for the pair that is asked about."""

from __future__ import annotations

from collections.abc import Iterable

from draftproof.experiments.inputs.sources import Problem
from draftproof.simulator.arithmetic import RATIONAL, arithmetic_of
from draftproof.simulator.drafts import Sequoia
from draftproof.simulator.instances.case import Case
from draftproof.simulator.protocol import DraftScheme
from draftproof.verifiers.sequoia import acceptance_vector


def planned(scheme: DraftScheme, problem: Problem) -> DraftScheme:
    """The scheme with its tree, measured on the roots of the problem; any other scheme as it is."""
    return planned_on(scheme, problem.roots(scheme.depth, RATIONAL)) if _is_open(scheme) else scheme


def planned_on(scheme: DraftScheme, cases: Iterable[Case]) -> DraftScheme:
    """The same for weighted pairs of processes: the acceptance vector is their weighted mean."""
    if not (isinstance(scheme, Sequoia) and _is_open(scheme)):
        return scheme
    vectors = []
    for case in cases:
        vector = acceptance_vector(case.target, case.draft, scheme.depth, scheme.nodes)
        weight = arithmetic_of(case.target.row(())).number(case.weight)
        vectors.append([share * weight for share in vector])
    return Sequoia.planned([sum(shares) for shares in zip(*vectors, strict=True)], scheme.nodes, scheme.depth)


def _is_open(scheme: DraftScheme) -> bool:
    return isinstance(scheme, Sequoia) and not scheme.tree and scheme.nodes > 0 and scheme.depth > 0
