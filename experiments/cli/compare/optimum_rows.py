"""Rows of a comparison beside the optimum of their shape. Functions of rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from draftproof.experiments.grid.rows import strong_id
from draftproof.experiments.shared.output import number_fields


def with_optimum(done: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """`rows` and `bounds` of a comparison, from both in one list.

    Rows get the optimum of their shape, and what a lossless verifier leaves of it at most: the certified gap.
    """
    bounds = [row for row in done if row.get("kind") == "bound"]
    known = {strong_id(bound["scheme"]): bound for bound in bounds}
    rows = [row for row in done if row.get("kind") != "bound"]
    return {"rows": [{**row, **_fields(row, known.get(strong_id(row["scheme"])))} for row in rows], "bounds": bounds}


def _fields(row: dict[str, Any], bound: dict[str, Any] | None) -> dict[str, Any]:
    if bound is None:
        return {key: None for name in ("optimum", "optimum_upper", "gap") for key in (name, f"{name}_float")}
    names = (("optimum", "lower"), ("optimum_upper", "upper"))
    optimum = {f"{name}{end}": bound[f"{side}{end}"] for name, side in names for end in ("", "_float")}
    if bound.get("cut"):  # both sides are worth a look: what lies between is not the solver's
        optimum["at_most_float"] = bound["upper_float"]
    if not row["lossless"]:
        return {**optimum, **number_fields("gap", None)}
    if row["arithmetic"] == "rational":
        return {**optimum, **number_fields("gap", Fraction(bound["upper"]) - Fraction(row["block_efficiency"]))}
    return {**optimum, **number_fields("gap", bound["upper_float"] - row["block_efficiency_float"])}
