"""Structured evaluations at the edge of what is allowed, and far beyond it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from draftproof.simulator import FAMILIES, Delayed, TooLarge
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.laws.structured import size as size_module
from draftproof.simulator.laws.structured.size import steps, structured_work
from draftproof.verifiers import make


def test_steps_that_are_just_allowed_are_not_what_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    scheme = Delayed(1, 0, 2)
    instance = FAMILIES["perturbed"].instance(3, 2, np.random.default_rng(0))
    monkeypatch.setattr(size_module, "STEPS", {True: steps(make("block"), scheme, 3), False: np.inf})
    with pytest.raises(TooLarge, match=r"this needs about \d\S* MiB, more than"):
        structured_work(make("block"), instance.target, instance.draft, scheme, RATIONAL, 1)


def test_calls_beyond_every_float_are_many_not_an_error() -> None:
    threshold: Any = make("threshold")

    class AnyOrder:
        card = replace(threshold.card, exchangeable=True)
        verify, structure = threshold.verify, threshold.structure

    assert steps(AnyOrder(), Delayed(400, 0, 1), 50_000) > 1e300
