"""`draftproof matrix`: every verifier on every draft scheme, computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

import verifiers
from experiments.shared.names import NamedVerifier
from experiments.shared.output import number_fields
from experiments.shared.progress import bar
from simulator.drafts import SCHEMES
from simulator.verdicts.compatibility import Cell, compatibility
from simulator.verdicts.conformance import CASES

_MARKS = {"lossless": ("lossless", "green"), "witness": ("witness", "red"), "not defined": ("-", "dim")}


def compute(chosen: Sequence[NamedVerifier], count: int) -> list[Cell]:
    """All cells, row by row, with a bar."""
    cases = sum(len(CASES[scheme]) for scheme in SCHEMES)
    with bar("cases", cases * len(chosen)) as tick:
        return [compatibility(named.verifier, scheme, count, tick) for named in chosen for scheme in SCHEMES]


def agrees(cell: Cell, named: NamedVerifier) -> bool:
    """Whether the card says what the cell shows."""
    return (cell.scheme in named.verifier.card.lossless_for) == (cell.status == "lossless")


def cell_fields(cell: Cell, named: NamedVerifier) -> dict[str, Any]:
    """A cell as programs read it, with the witness in full."""
    fields: dict[str, Any] = {
        "verifier": named.label,
        "scheme": cell.scheme,
        "status": cell.status,
        "instances": cell.instances,
        "declared": cell.scheme in named.verifier.card.lossless_for,
        "witness": None,
    }
    if cell.witness is not None:
        place = cell.witness.violation
        fields["witness"] = {
            "scheme": cell.witness.instance.as_dict()["scheme"],
            "context": list(place.context),
            "token": place.token,
            **number_fields("expected", place.expected),
            **number_fields("found", place.found),
            "instance": cell.witness.instance.as_dict(),
        }
    return fields


def show(console: Console, chosen: Sequence[NamedVerifier], cells: Sequence[Cell]) -> None:
    """The matrix, one line a verifier; a cell whose card says otherwise is marked."""
    table = Table(title="Verifier x draft scheme", title_justify="left", caption_justify="left")
    table.add_column("verifier", no_wrap=True)
    for scheme in SCHEMES:
        table.add_column(scheme)
    proved = sum(cell.instances for cell in cells)
    for row, named in enumerate(chosen):
        line = [Text(named.label)]
        for cell in cells[row * len(SCHEMES) : (row + 1) * len(SCHEMES)]:
            word, style = _MARKS[cell.status]
            count = f" {cell.instances}" if cell.status == "lossless" else ""
            if cell.status == "witness" and cell.undefined:
                count = ", -"  # it refuses some trees of the scheme
            line.append(Text(word + count + ("" if agrees(cell, named) else " (card says otherwise)"), style=style))
        table.add_row(*line)
    table.caption = f"lossless n: proved on n instances ({proved:,} in all); witness: refuted; -: not defined there."
    left_out = [name for name in verifiers.REGISTRY if name not in verifiers.STANDALONE]
    table.caption += f" Not here: {', '.join(left_out)} (planned for one instance)."
    console.print(table)
