"""The tables of the page of theorems: what `theorems.toml` lists is proved by `prove`, one row each.

Rows are stored, so that a stopped run can be resumed. The page names the commit that proved them and says nothing of
later code. Seconds are processor seconds.
"""

import subprocess
import time
import tomllib
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from draftproof.experiments.cli.prove import prove
from draftproof.experiments.grid.rows import strong_id
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.schemes import find_scheme
from draftproof.experiments.pages.transcripts import with_table
from draftproof.experiments.result import Column, Table
from draftproof.experiments.shared.code import ROOT
from draftproof.experiments.shared.output import write_whole
from draftproof.experiments.shared.progress import remark

PAGE = ROOT / "docs" / "theory" / "theorems.md"
LIST = Path(__file__).with_name("theorems.toml")
#: Verdicts by exit code of `prove`, and of theorems that have no row.
VERDICTS, WAITING = {0: "proved", 1: "refuted", 3: "open"}, "waiting"

_THEOREM, _SIZE, _SCHEME = Column("theorem", "command"), Column("V", "count"), Column("scheme")
_VERDICT, _SECONDS = Column("verdict", "verdict"), Column("cpu_seconds", title="CPU s")
_FREE, _ZEROS, _CELLS = Column("free"), Column("zeros"), Column("verdict_cells", "count", "cells of verdicts")
#: The columns of each table of the page, by its name.
TABLES: Mapping[str, Sequence[Column]] = {
    "lossless": (
        _THEOREM, _SIZE, _SCHEME, _FREE, _ZEROS, _VERDICT, _CELLS, Column("cells", "count", "of balances"),
        Column("degree", "count"), _SECONDS,
    ),
    "every size": (
        _THEOREM, _SCHEME, _VERDICT, Column("cases", "count"), Column("runs", "count"),
        Column("equations", "count", "functions"), Column("solver_questions", "count", "questions"), _SECONDS,
    ),
    "lossy": (_THEOREM, _SIZE, _SCHEME, _FREE, _VERDICT, Column("found"), _SECONDS),
    "relations": (
        _THEOREM, _SIZE, _SCHEME, _VERDICT, Column("found"), Column("cells", "count"),
        Column("certified", "count", "by products"), Column("solved", "count", "by z3"), _SECONDS,
    ),
}  # fmt: skip


def claims() -> Iterator[dict[str, Any]]:
    """The arguments of `prove` for every theorem of the list."""
    for entry in tomllib.loads(LIST.read_text(encoding="utf-8"))["theorem"]:
        schemes, verifiers = entry.pop("schemes"), entry.pop("verifiers")
        for scheme, verifier in product(schemes, verifiers):
            yield {"verifier": verifier, "scheme": scheme, **entry}


def about(claim: Mapping[str, Any]) -> dict[str, Any]:
    """The cells that name a theorem, and where it stands while it has no row."""
    relation = next((kind for kind in ("equals", "dominates") if kind in claim), None)
    words = [relation, claim[relation]] if relation else ["every length"] if "every_length" in claim else []
    of_every_size = claim["vocab"] == "any"
    return {
        "table": "every size" if of_every_size else "relations" if relation else "lossless",
        "theorem": " ".join([claim["verifier"], *words]),
        "V": claim["vocab"],
        "scheme": str(find_scheme(claim["scheme"])),
        "free": ", ".join(claim.get("free", ())),
        "zeros": "yes" if claim.get("zeros") else "",
        "verdict": WAITING,
    }


def row_of(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Prove a theorem; returns its row."""
    start = time.process_time()
    arguments = {name: value for name, value in claim.items() if name != "verifier"}
    result = prove(claim["verifier"], **arguments, jobs=1)
    seconds = round(time.process_time() - start, 1)
    steps = [step for table in result.tables if table.name == "steps" for step in table.records()]
    sums = {name: sum(step[name] for step in steps) for name in ("cases", "runs", "equations", "solver_questions")}
    row = {**result.row, **(sums if steps else {}), **about(claim)}
    row |= {"verdict": VERDICTS[result.verdict], "cpu_seconds": seconds, "strong_id": strong_id(dict(claim))}
    for table in result.tables:
        if table.name == "witness":
            row["found"] = _found(table.records()[0])
    if row["table"] == "lossless" and row["verdict"] == "refuted":
        row["table"] = "lossy"
    if row.get("same_law"):
        row["verdict"] += ", same law"
    shown = {column.name for columns in TABLES.values() for column in columns}
    return {name: value for name, value in row.items() if name in (*shown, "table", "strong_id")}


def _found(witness: Mapping[str, Any]) -> str:
    """The numbers that refute: two block efficiencies, or the mass of a token and what is owed."""
    if "block_efficiency" in witness:
        return " against ".join(map(str, witness["block_efficiency"]))
    return f"{witness['found']} for {witness['expected']}"


def filled(page: str, rows: Sequence[Mapping[str, Any]], commit: str) -> str:
    """The page with these rows in its tables. commit: what proved them."""
    for name, columns in TABLES.items():
        table = Table.of(columns, [row for row in rows if row["table"] == name])
        page = with_table(page, name, f"\n{table.markdown()}\n\n")
    return with_table(page, "commit", f"Proved by the code of commit {commit}.\n")


def write(given: Namespace) -> int:
    """Prove the theorems that `given.store` does not have; the page is written after each. Returns 0."""
    file = Store(given.store or "theorems.db")
    for claim in claims():
        if strong_id(claim) not in file:
            row = row_of(claim)
            file.add(row)
            remark(f"{row['verdict']}: {row['theorem']}, V = {row['V']}, {row['scheme']} ({row['cpu_seconds']} s)")
            _write_page(file)
    _write_page(file)
    return 0


def _write_page(file: Store) -> None:
    rows = [file.get(strong_id(claim)) or about(claim) for claim in claims()]
    git = ["git", "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]
    commit = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    write_whole(PAGE, filled(PAGE.read_text(encoding="utf-8"), rows, commit))
