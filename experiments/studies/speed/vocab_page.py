"""The table of the section `vocab`, from its JSON: `python -m draftproof.experiments.studies.speed.vocab_page FILE`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

#: How `vocab_rows` words its problems.
PROBLEM = re.compile(r"(?P<verifier>\w+), (?P<kind>\w+): V=(?P<size>\d+) (?P<scheme>.*)")


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Markdown: a line a verifier, for each vocabulary and kind of rows the time of a block and its share of a pass."""
    cells: dict[str, dict[tuple[int, str], str]] = {}
    schemes: dict[str, str] = {}
    for row in rows:
        if found := PROBLEM.fullmatch(row["problem"]):
            verifier, column = found["verifier"], (int(found["size"]), found["kind"])
            share = f" ({100 * row['ratio']:.2g} %)" if row["goal"] is not None else ""
            cells.setdefault(verifier, {})[column] = f"{1000 * row['measured']:.2g} ms{share}"
            schemes[verifier] = found["scheme"]
    columns = sorted({column for line in cells.values() for column in line})
    heads = [f"V = {size:,}, {kind}" for size, kind in columns]
    lines = [f"| verifier | drafts | {' | '.join(heads)} |", "|---" * (len(columns) + 2) + "|"]
    for verifier, line in cells.items():
        found_cells = [line.get(column, "") for column in columns]
        lines.append(f"| `{verifier}` | {schemes[verifier]} | {' | '.join(found_cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write(table(json.load(file)["rows"]))
