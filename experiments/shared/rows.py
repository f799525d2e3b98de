"""Rows of results: each knows its origin, so that runs can be resumed, merged and plotted later."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from experiments.shared.output import number_fields, write_whole
from simulator.errors import InvalidInput
from simulator.laws.law import moments


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


def strong_id(fields: dict[str, Any]) -> str:
    """Hash of everything that defines a problem: equal exactly when the rows would be equal."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:24]


def mixture(weights: list[Fraction], values: list[Fraction | float]) -> Fraction | float:
    """The weighted mean; exact if all values are."""
    if all(isinstance(value, Fraction) for value in values):
        return sum((w * v for w, v in zip(weights, values, strict=True)), Fraction(0))
    return sum(float(w) * float(v) for w, v in zip(weights, values, strict=True))


def largest(values: Sequence[Fraction | float | None]) -> Fraction | float | None:
    """The largest value, None if one of them is not known or there is none."""
    known = [value for value in values if value is not None]
    return max(known, default=None) if len(known) == len(values) else None


def accepted_length(distribution: list[Fraction | float]) -> dict[str, Any]:
    """Mean of `tau + 1`, variance of `tau` and its distribution, as row fields."""
    mean, variance = moments(distribution)
    return {
        **number_fields("block_efficiency", mean),
        **number_fields("variance", variance),
        "depth_distribution": [float(mass) for mass in distribution],
    }


class RowFile:
    """A file of rows, one JSON object a line, appended to as they are computed.

    A last row cut short by a crash is dropped; anything else that is no row raises `InvalidInput`.
    """

    def __init__(self, path: str | None) -> None:
        self._path = Path(path) if path else None
        self.rows: dict[str, dict[str, Any]] = {row["strong_id"]: row for row in self._read()}

    def add(self, row: dict[str, Any]) -> None:
        """Keep a row, on disk at once if there is a file."""
        self.rows[row["strong_id"]] = row
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def _read(self) -> Iterator[dict[str, Any]]:
        if self._path is None or not self._path.exists():
            return
        try:
            *lines, rest = self._path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError):
            raise InvalidInput(f"{self._path} is no file of rows; choose another file") from None
        rows = [self._row(number, line) for number, line in enumerate(lines, start=1) if line]
        if rest:
            if not rest.startswith("{"):
                self._refuse(len(lines) + 1)
            write_whole(self._path, "".join(line + "\n" for line in lines))  # the last write was cut short
        yield from rows

    def _row(self, number: int, line: str) -> dict[str, Any]:
        try:
            row = json.loads(line)
        except ValueError:
            self._refuse(number)
        if not (isinstance(row, dict) and isinstance(row.get("strong_id"), str)):
            self._refuse(number)
        fields: dict[str, Any] = row
        return fields

    def _refuse(self, number: int) -> NoReturn:
        raise InvalidInput(f"{self._path} line {number} is no row of results; choose another file") from None
