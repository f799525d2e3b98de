"""Fields of rows: their id, versions of libraries, and averages over roots."""

import hashlib
import json
import platform
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from typing import Any

from draftproof.experiments.shared.output import number_fields
from draftproof.simulator.laws.metrics import moments
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import Check


def versions() -> dict[str, str]:
    """Versions of everything that can change a number."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    return {
        "draftproof": version("draftproof"),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "python-flint": version("python-flint"),
    }


def row_id(
    question: str, world: Any = None, scheme: DraftScheme | None = None, subject: Any = None, **settings: Any
) -> str:
    """The `strong_id` of a row: who asks the same question about the same things with the same settings gets that row.

    world: what identifies it. subject: what identifies that which is asked about, such as a verifier. None: the
    question is about no particular one. settings: those that are None are as if they were not there.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    shape = None if scheme is None else scheme.as_dict()
    about = {"question": question, "subject": subject, "world": world, "scheme": shape}
    return strong_id({**about, "settings": given, "version": versions()["draftproof"]})


def strong_id(fields: dict[str, Any]) -> str:
    """A hash of the fields that define a row: two rows with the same id have the same results."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:24]


def mixture(weights: list[Fraction], values: list[Fraction | float]) -> Fraction | float:
    """The weighted mean; exact if all values are."""
    if all(isinstance(value, Fraction) for value in values):
        return sum((w * v for w, v in zip(weights, values, strict=True)), Fraction(0))
    return sum(float(w) * float(v) for w, v in zip(weights, values, strict=True))


def largest(values: Sequence[Fraction | float | None]) -> Fraction | float | None:
    """The largest value; None if one of them is None, or there is none."""
    known = [value for value in values if value is not None]
    return max(known, default=None) if len(known) == len(values) else None


def law_fields(weights: list[Fraction], checks: Sequence[Check]) -> dict[str, Any]:
    """A law that is known at instances: means by their weights, of sum 1, the largest violations, and what it rests on.

    `depth_distribution_exact` is there where it is exact.
    """
    laws = [check.metrics.depth_distribution for check in checks]
    average = [mixture(weights, list(masses)) for masses in zip(*laws, strict=True)]
    return {
        **accepted_length(average),
        **({"depth_distribution_exact": list(map(str, average))} if isinstance(average[0], Fraction) else {}),
        "lossless": all(check.lossless for check in checks),
        "assumed": any(check.assumed for check in checks),
        "rounding_decides": any(check.rounding_decides for check in checks),
        **number_fields("max_deviation", max(check.max_deviation for check in checks)),
        **number_fields("total_variation", largest([check.total_variation for check in checks])),
    }


def accepted_length(distribution: list[Fraction | float]) -> dict[str, Any]:
    """Mean of `tau + 1`, variance of `tau` and its distribution, as row fields."""
    mean, variance = moments(distribution)
    return {
        **number_fields("block_efficiency", mean),
        **number_fields("variance", variance),
        "depth_distribution": [float(mass) for mass in distribution],
    }
