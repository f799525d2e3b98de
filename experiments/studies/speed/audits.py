"""Audits of other people's functions beside the enumeration of the same algorithm as a verifier of ours."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from draftproof.experiments.studies.speed.measuring import Row, Sizes, named, seconds_of
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.audit import make_audit
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.verifiers import make


def chain(tokens: Sequence[int], q: Sequence[Any], p: Sequence[Any]) -> tuple[Any, int]:
    """Token-by-token speculative sampling as a project without draftproof writes it."""
    for place, token in enumerate(tokens):
        if random.random() * q[place][token] >= p[place][token]:
            rest = [max(a - b, 0) for a, b in zip(p[place], q[place], strict=True)]
            return place, random.choices(range(len(rest)), weights=rest)[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]


def audit_rows(sizes: Sizes) -> Iterator[Row]:
    """A chain in plain Python, and that of transformers where it is installed."""
    V, length = (2, 1) if sizes.quick else (3, 4)
    scheme = Delayed(1, 0, length)
    instance = FAMILIES["dirichlet"].instance(V, length, np.random.default_rng(0))
    floats = instance.converted(FLOAT64, length)
    ours = seconds_of(partial(enumerate_law, make("naive"), floats.target, floats.draft, scheme))
    for interface, function in functions():
        audit = make_audit(function, interface)
        seconds = seconds_of(partial(audit.judge, instance, scheme))
        calls = audit.runs(instance, scheme)
        note = f"about {calls:,.0f} calls, {calls / seconds:,.0f} a second"
        problem = f"audit, {interface}: {named(audit.name, V, scheme)}"
        yield Row("audits", problem, seconds, "enumeration of naive", ours, note=note)


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions with their interfaces."""
    yield "chain", chain
    if find_spec("torch") and find_spec("transformers"):
        from transformers.generation import utils

        yield "transformers", utils._speculative_sampling
