"""Certificates: an instance, a shape, both bounds and what proves them, as one file that needs no solver to check.

File format (JSON): `instance` (rows and draft scheme, as in instance files), `digest` (hash of the rows), `prices`
(for depths `1..L`, one number a node), either `plan` (`weights`, `orders`) or `law` (one mass a path), and `lower`,
`upper`, `gap`. All numbers are exact, as text. `checker` recomputes everything from the rows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from lp_analysis.decompose import repaired
from lp_analysis.nodes import conditional, efficiency, from_leaves, prefix_masses, reach
from lp_analysis.optimum import PRICE_UNIT, Optimum
from lp_analysis.prices import price_bound
from simulator.arithmetic import RATIONAL, as_python
from simulator.errors import InvalidInput
from simulator.instance import Instance
from simulator.schemes import Delayed

FORMAT = "draftproof bound 1"


def certificate(instance: Instance, found: Optimum) -> dict[str, Any]:
    """The certificate of an optimum as plain data. Raises `InvalidInput` if it is about another instance."""
    plan = found.plan
    rows = instance.converted(RATIONAL, plan.depth)
    masses = prefix_masses(rows.draft.tables, plan.depth)
    lower = as_python(efficiency(reach(plan.selection(rows.draft.tables), rows.target.tables)))
    prices = [RATIONAL.vector(values) for values in found.prices]
    upper = as_python(price_bound(prices, rows.target.tables, masses, plan.K, plan.L1))
    if (lower, upper) != (found.lower, found.upper):
        raise InvalidInput(
            f"bounds {found.lower} and {found.upper} belong to another instance; this one gives {lower} and {upper}"
        )
    proof = {"plan": {key: value for key, value in plan.as_dict().items() if key in ("weights", "orders")}}
    return _fields(rows, (plan.K, plan.L1, plan.L2), found.prices, proof, (found.lower, found.upper))


def law_certificate(
    instance: Instance, K: int, L1: int, L2: int, prices: Sequence[Any], law: Sequence[float]
) -> dict[str, Any]:
    """The certificate from floats alone: prices by depth `0..L` and a selection law on the `V**L` paths.

    Both are rounded to rationals; the law is moved towards `q` until it is a selection law, exactly.
    """
    depth = L1 + L2
    rows = instance.converted(RATIONAL, depth)
    masses = prefix_masses(rows.draft.tables, depth)
    exact = [tuple(Fraction(round(float(value) * PRICE_UNIT), PRICE_UNIT) for value in values) for values in prices]
    upper = price_bound([RATIONAL.vector(values) for values in exact], rows.target.tables, masses, K, L1)
    paths = conditional(masses, L1)
    wanted = RATIONAL.vector([Fraction(float(value)) for value in law]).reshape(paths.shape)
    parts = [repaired(r, q, K) * t for r, q, t in zip(wanted, paths, masses[L1], strict=True)]
    leaves = np.concatenate(parts)
    lower = efficiency(reach(from_leaves(leaves, rows.vocab_size, depth), rows.target.tables))
    proof = {"law": _texts(leaves)}
    return _fields(rows, (K, L1, L2), exact, proof, (as_python(lower), as_python(upper)))


def _fields(rows: Instance, shape: tuple[int, int, int], prices: Any, proof: Any, bounds: Any) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "instance": Instance(rows.target, rows.draft, Delayed(*shape)).as_dict(),
        "digest": rows.digest(),
        "prices": [_texts(values) for values in prices[1:]],
        **proof,
        "lower": str(bounds[0]),
        "upper": str(bounds[1]),
        "gap": str(bounds[1] - bounds[0]),
    }


def _texts(values: Any) -> list[str]:
    return [str(as_python(value)) for value in values]


def dumps(fields: dict[str, Any]) -> str:
    """The text of a certificate file, one line a key."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in fields.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def save(fields: dict[str, Any], path: str | Path) -> None:
    """Write a certificate file."""
    Path(path).write_text(dumps(fields), encoding="utf-8")
