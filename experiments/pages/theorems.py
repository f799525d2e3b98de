"""The page of theorems: `python -m experiments.pages.theorems [ROWS.jsonl]` proves them and writes the page.

Rows are kept in a file, so that a run that was stopped goes on where it was. Seconds are of the processor, one core.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.commands.prove.relating import relate_two
from experiments.commands.prove.work import Request, conduct
from experiments.shared.names import find_verifier
from experiments.shared.output import write_whole
from experiments.shared.progress import remark
from experiments.shared.rows import RowFile, strong_id
from simulator.drafts import Adaptive, Delayed, Greedy, TopK, Topology, WithoutReplacement, scheme_from_dict
from simulator.protocol import DraftScheme
from simulator.theorems.relations import DOMINATES, EQUALS

PAGE = Path(__file__).parents[2] / "simulator" / "theorems" / "README.md"
#: Draft trees of the largest shape.
MOST = 1_000

PATH, LONG = Delayed(1, 0, 2), Delayed(1, 0, 3)
PAIR, DEEP, TRUNK, TRIPLE = Delayed(2, 0, 1), Delayed(2, 0, 2), Delayed(2, 1, 1), Delayed(3, 0, 2)


@dataclass(frozen=True)
class Claim:
    """One theorem to be tried: `verifier` is lossless, or stands in `kind` to `other`."""

    verifier: str
    vocab_size: int
    scheme: DraftScheme
    free: tuple[str, ...] = ()
    zeros: bool = False
    kind: str = ""
    other: str = ""

    def fields(self) -> dict[str, Any]:
        """Everything that defines it."""
        return {
            "verifier": self.verifier,
            "vocab_size": self.vocab_size,
            "scheme": self.scheme.as_dict(),
            "free": list(self.free),
            "zeros": self.zeros,
            "kind": self.kind,
            "other": self.other,
        }


SINGLE = ("naive", "block", "tree_monte_carlo")
SEVERAL = ("nss", "naive_tree", "specinfer", "traversal", "gbv")
#: Verifiers on schemes other than delayed trees.
OTHER_SCHEMES: tuple[tuple[str, DraftScheme], ...] = (
    *((name, WithoutReplacement(2, 0, 2)) for name in ("nss", "naive", "naive_tree", "traversal")),
    ("rejection_without_replacement", WithoutReplacement(2, 0, 2)),
    ("nss", TopK(2, 0, 1)),
    ("greedy_multi_draft", Greedy(2, 0, 1)),
    ("traversal", Topology((2, 1, 0, 0))),
    ("block", Adaptive(1, 0, 2)),
)
RELATIONS = (
    (EQUALS, "tree_monte_carlo", "block", PATH),
    (EQUALS, "traversal", "block", PATH),
    (EQUALS, "gbv", "block", PATH),
    (EQUALS, "specinfer", "naive", PATH),
    (EQUALS, "naive_tree", "naive", PATH),
    (DOMINATES, "block", "naive", PATH),
    (DOMINATES, "block", "naive", LONG),
    (DOMINATES, "naive_tree", "naive", DEEP),
    (DOMINATES, "traversal", "block", DEEP),
    (DOMINATES, "traversal", "naive_tree", DEEP),
    (DOMINATES, "traversal", "specinfer", DEEP),
    (DOMINATES, "specinfer", "naive_tree", PAIR),
    (DOMINATES, "gbv", "block", PAIR),
)


def claims() -> Iterator[Claim]:
    """All theorems of the page, small shapes first."""
    yield from small_claims()
    for kind, one, other, scheme in RELATIONS:
        yield Claim(one, 2, scheme, kind=kind, other=other)
    yield from large_claims()


def small_claims() -> Iterator[Claim]:
    """Lossless at two tokens."""
    for name in (*SINGLE, *SEVERAL):
        yield Claim(name, 2, PATH)
    for scheme in (PAIR, TRUNK, DEEP):
        for name in SEVERAL:
            yield Claim(name, 2, scheme)
    for name in ("khisti", "spectr", "path_transport"):
        yield Claim(name, 2, PAIR, ("solver",))
    for scheme in (PAIR, TRUNK):
        yield Claim("mixed_order", 2, scheme, ("a",))
    for name, other in OTHER_SCHEMES:
        yield Claim(name, 2, other)
    for name in SINGLE:
        yield Claim(name, 2, PATH, zeros=True)
    for name in ("traversal", "specinfer"):
        yield Claim(name, 2, PAIR, zeros=True)


def large_claims() -> Iterator[Claim]:
    """What takes longer: three tokens, three paths, long paths, free numbers in deep trees."""
    for name in SEVERAL:
        yield Claim(name, 3, PAIR)
    for name in ("khisti", "spectr"):
        yield Claim(name, 3, PAIR, ("solver",))
    for name in ("nss", "naive_tree"):
        yield Claim(name, 3, PAIR, zeros=True)
    yield Claim("khisti", 2, DEEP, ("solver",))
    yield Claim("rejection_without_replacement", 3, WithoutReplacement(2, 0, 1))
    yield Claim("block", 2, LONG)
    for name in ("nss", "naive_tree", "specinfer", "traversal"):
        yield Claim(name, 2, TRIPLE)
    for name in ("spectr", "path_transport"):
        yield Claim(name, 2, DEEP, ("solver",))
    yield Claim("naive", 3, PATH)
    yield Claim("block", 3, PATH)
    yield Claim("tree_monte_carlo", 2, LONG)
    for free in ((), ("a",)):
        yield Claim("mixed_order", 2, DEEP, free)
    yield Claim("mixed_order", 3, PAIR, ("a",))
    for name in ("nss", "naive_tree", "specinfer", "traversal"):
        yield Claim(name, 3, DEEP)
    yield Claim("tree_monte_carlo", 2, LONG, kind=EQUALS, other="block")
    yield Claim("block", 3, PATH, kind=DOMINATES, other="naive")


def row_of(claim: Claim) -> dict[str, Any]:
    """What was found about a claim."""
    request = Request(find_verifier(claim.verifier), claim.vocab_size, claim.scheme, claim.zeros, claim.free, MOST)
    start = time.process_time()
    answer = relate_two(request, claim.kind, find_verifier(claim.other)) if claim.kind else conduct(request)
    found = answer.as_json()
    kept = {key: found.get(key) for key in ("verdict", "verdict_cells", "cells", "degree", "same_law", "open_cells")}
    return {
        **claim.fields(),
        **kept,
        "cpu_seconds": round(time.process_time() - start, 1),
        "strong_id": strong_id(claim.fields()),
    }


def lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The page."""
    yield "# Theorems\n\nMade by `python -m experiments.pages.theorems`.\n"
    yield (
        "Each line is about **every** target p and draft q at its shape, ties included, with full support or, where\n"
        "it says so, with zeros. `solver` free: for every value that the solver inside may choose. Cells: of the\n"
        "verdicts on the draft trees, and of the balances. `open`: not proved and not refuted.\n"
    )
    yield "\n## Lossless\n"
    yield "| verifier | V | scheme | free | zeros | verdict | cells of verdicts | of balances | degree | CPU s |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        if not row["kind"]:
            yield (
                f"| {row['verifier']} | {row['vocab_size']} | {scheme_from_dict(row['scheme'])} | "
                f"{', '.join(row['free'])} | {'yes' if row['zeros'] else ''} | {row['verdict']} | "
                f"{row['verdict_cells']} | {row['cells']} | {row['degree']} | {row['cpu_seconds']} |"
            )
    yield "\n## Relations of block efficiency\n"
    yield "| | V | scheme | verdict | cells | CPU s |\n|---|---|---|---|---|---|"
    related = [row for row in rows if row["kind"]]
    for row in related:
        verdict = row["verdict"] + (", same law" if row["same_law"] else "")
        yield (
            f"| {row['verifier']} {row['kind']} {row['other']} | {row['vocab_size']} | "
            f"{scheme_from_dict(row['scheme'])} | {verdict} | {row['cells']} | {row['cpu_seconds']} |"
        )
    yield "\n## Conjectures\n\nProved at every shape tried, and so perhaps at all:\n"
    pairs = dict.fromkeys((row["verifier"], row["kind"], row["other"]) for row in related)
    for pair in pairs:
        verdicts = [row["verdict"] for row in related if (row["verifier"], row["kind"], row["other"]) == pair]
        if set(verdicts) == {"proved"}:
            yield f"- {' '.join(pair)} ({len(verdicts)} shape{'s' if len(verdicts) > 1 else ''})"


def main(path: str) -> None:
    """Prove what is not in the file of rows yet, then write the page."""
    file = RowFile(path)
    for claim in claims():
        if strong_id(claim.fields()) not in file.rows:
            row = row_of(claim)
            file.add(row)
            remark(f"{row['verdict']}: {claim} ({row['cpu_seconds']} s)")
            write_page(file)
    write_page(file)


def write_page(file: RowFile) -> None:
    """The page from the rows there are."""
    known = (strong_id(claim.fields()) for claim in claims())
    write_whole(PAGE, "\n".join(lines([file.rows[key] for key in known if key in file.rows])) + "\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "theorems.jsonl")
