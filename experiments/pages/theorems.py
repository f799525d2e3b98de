"""The page of theorems: `python -m draftproof.experiments.pages.theorems [ROWS.db]` proves them and writes the page.

Rows are kept in a store, so that a run that was stopped goes on where it was. A row is known by the code that it rests
on and ends with a digest of it: a row of other code is proved again, and `--check` names the rows of the page that were
proved by code that has changed since. Seconds are of the processor, one core. `--announced ROWS.db` prints what was
said of the time to go while rows were proved, beside what came true.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from draftproof.experiments.cli.prove.relating import Related, relate_two
from draftproof.experiments.cli.prove.work import Report, Request, conduct
from draftproof.experiments.grid.store import Store, stored_rows
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.pages.theorem_claims import Claim, claims
from draftproof.experiments.shared.output import write_whole
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.drafts import scheme_from_dict
from draftproof.simulator.verdicts.lossless import check

#: What the page says of free numbers and of closed forms.
FREE = (
    "`solver` stands for the weights of khisti's tournaments, spectr's rho wherever it is allowed, the mixtures of\n"
    "path_transport. In the layer verifiers it is the whole selection: whatever is drafted below a layer, one of the\n"
    "drafted pairs is selected with any probabilities (in `layer_transport`, at most one), which covers every race,\n"
    "its weights and its blocks; with `weights` the sums over those are followed as well. `typical` is lossless where\n"
    "nothing passes: with `solver` free its row is about every epsilon and delta that are no smaller, and any\n"
    "`exp(-H)` between the harmonic and the arithmetic mean of p. `relaxed`, at two tokens and one draft, is lossless\n"
    "for w = 1 and for no smaller w: where p and q differ its balance has the factor 1 - w, and one without w\n"
    "(`pytest tests/experiments/cli/test_prove_parameters.py`).\n",
    "Closed forms are proved equal for all p and q by `pytest tests/simulator/theorems/test_relations.py`, at the two\n"
    "or three tokens and the shapes there: acceptance and branching laws of one node of nss, naive_tree, specinfer\n"
    "and, at two tokens, khisti, acceptance of spectr given rho, the reach of block on one path. They are derived\n"
    "here from the steps of each algorithm, since appendices C and D of arXiv 2602.16994, which have such forms, were\n"
    "not at hand: that they are the published ones is not checked.\n",
)
#: A forecast counts as right within this factor.
FACTOR = 3
PAGE = Path(__file__).parents[2] / "simulator" / "theorems" / "README.md"


def row_of(claim: Claim) -> dict[str, Any]:
    """What was found about a claim."""
    request = claim.request()
    start = time.process_time()
    answer = relate_two(request, claim.kind, find_verifier(claim.other)) if claim.kind else conduct(request)
    found = answer.as_json()
    kept = {key: found.get(key) for key in ("verdict", "verdict_cells", "cells", "degree", "same_law", "open_cells")}
    return {
        **claim.fields(),
        **kept,
        "certified": found.get("certified"),
        "solved": found.get("solved"),
        "confirmed": confirmed(request, answer),
        "code": claim.code,
        "announced": found["announced"],
        "cpu_seconds": round(time.process_time() - start, 1),
        "strong_id": claim.strong_id,
    }


def confirmed(request: Request, answer: Report | Related) -> str | None:
    """What a check finds at the point of a refutation, where the answer is one."""
    if isinstance(answer, Related):
        failed = answer.relation.counterexample
        if failed is None:
            return None
        pair = (request.named.verifier, answer.other.verifier)
        given = failed.instance.target, failed.instance.draft, request.scheme
        values = tuple(check(each, *given, engine="enumerate").block_efficiency for each in pair)
        return f"{values[0]} against {values[1]}" if values == failed.values else "not confirmed"
    found = answer.proof.refutation
    if found is None:
        return None
    at = answer.proof.subject.at(found.point[len(found.point) - len(answer.proof.shape.parameters) :])
    verdict = check(at, found.instance.target, found.instance.draft, request.scheme, engine="enumerate")
    same = verdict.violation == found.violation
    return f"{found.violation.found} for {found.violation.expected}" if same else "not confirmed"


def lines(rows: list[dict[str, Any]], waiting: Sequence[Claim] = ()) -> Iterator[str]:
    """The page. waiting: claims without a row of the code as it is now."""
    yield "# Theorems\n\nMade by `python -m draftproof.experiments.pages.theorems`.\n"
    yield (
        "Each line is about **every** target p and draft q at its shape, ties included, with full support or, where\n"
        "it says so, with zeros. `solver` free: for every value that the solver inside may choose. Cells: of the\n"
        "verdicts on the draft trees, and of the balances. That a cell is empty, where its signs do not say so, is\n"
        "the word of the solver z3. `open`: not proved and not refuted. Code: a digest of all the code that the row\n"
        "rests on; `python -m draftproof.experiments.pages.theorems --check` names rows of other code.\n"
    )
    yield (
        "The verifier that runs is what is followed. Its numbers look like rationals and know + - * /, whole powers\n"
        "and comparisons, with fractions, decimals and floats too, which stand for the exact numbers that they are;\n"
        "every other use of them (made a float or text, as a key) is refused. So is, in code that is\n"
        "neither ours nor installed, what is known to tell two runs apart beside the tree and the coin: chance, time,\n"
        "files, the interpreter, what is found changed after a call. Such a refusal cannot be caught, and what is\n"
        "proved is compared with enumeration in rationals at random points. All this guards against mistakes, not\n"
        "against code written to break out of Python.\n"
    )
    yield from FREE
    yield "\n## Lossless\n"
    yield "| verifier | V | scheme | free | zeros | verdict | cells of verdicts | of balances | degree | CPU s | code |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        if not row["kind"] and row["verdict"] != "refuted":
            yield (
                f"| {row['verifier']} | {row['vocab_size']} | {scheme_from_dict(row['scheme'])} | "
                f"{', '.join(row['free'])} | {'yes' if row['zeros'] else ''} | {row['verdict']} | "
                f"{row['verdict_cells']} | {row['cells']} | {row['degree']} | {row['cpu_seconds']} | {row['code']} |"
            )
    yield (
        "\n## Lossy\n\nEach is refuted at a point, and `check` finds there, in rationals, this probability of the next "
        "token for the one that is owed.\n"
    )
    yield "| verifier | V | scheme | free | verdict | found | CPU s | code |\n|---|---|---|---|---|---|---|---|"
    for row in rows:
        if not row["kind"] and row["verdict"] == "refuted":
            yield (
                f"| {row['verifier']} | {row['vocab_size']} | {scheme_from_dict(row['scheme'])} | "
                f"{', '.join(row['free'])} | refuted | {row['confirmed']} | {row['cpu_seconds']} | {row['code']} |"
            )
    yield "\n## Relations of block efficiency\n"
    yield (
        "On cells `by products` one is shown never to fall below the other by multiplication only, on cells `by z3` by "
        "the solver; on the others both are equal. Refuted: at an instance with these two block efficiencies.\n"
    )
    yield "| | V | scheme | verdict | cells | by products | by z3 | CPU s | code |"
    yield "|---|---|---|---|---|---|---|---|---|"
    related = [row for row in rows if row["kind"]]
    for row in related:
        verdict = row["verdict"] + (", same law" if row["same_law"] else "")
        verdict += f", {row['confirmed']}" if row["confirmed"] else ""
        yield (
            f"| {row['verifier']} {row['kind']} {row['other']} | {row['vocab_size']} | "
            f"{scheme_from_dict(row['scheme'])} | {verdict} | {row['cells']} | "
            f"{row['certified']} | {row['solved']} | {row['cpu_seconds']} | {row['code']} |"
        )
    yield "\n## Not refuted\n\nRelations proved at every shape of the table; nothing is said about other shapes:\n"
    pairs = dict.fromkeys((row["verifier"], row["kind"], row["other"]) for row in related)
    for pair in pairs:
        verdicts = [row["verdict"] for row in related if (row["verifier"], row["kind"], row["other"]) == pair]
        if set(verdicts) == {"proved"}:
            yield f"- {' '.join(pair)} ({len(verdicts)} shape{'s' if len(verdicts) > 1 else ''})"
    if waiting:
        yield "\n## Waiting\n\nTried too, but not yet with the code as it is now; nothing is said about them:\n"
    for claim in waiting:
        free = f", {', '.join(claim.free)} free" if claim.free else ""
        name = f"{claim.verifier} {claim.kind} {claim.other}".strip()
        yield f"- {name}, V = {claim.vocab_size}, {claim.scheme}{free}{', with zeros' if claim.zeros else ''}"


def main(path: str) -> None:
    """Prove what is not in the store of rows yet, then write the page."""
    file = Store(path, any_code=True)  # a row is known by the code that it rests on
    for claim in claims():
        if claim.strong_id not in file:
            row = row_of(claim)
            file.add(row)
            remark(f"{row['verdict']}: {claim} ({row['cpu_seconds']} s)")
            write_page(file)
    write_page(file)


def write_page(file: Store) -> None:
    """The page from the rows there are."""
    known = {claim.strong_id: claim for claim in claims()}
    rows = [file[key] for key in known if key in file]
    waiting = [claim for key, claim in known.items() if key not in file]
    write_whole(PAGE, "\n".join(lines(rows, waiting)) + "\n")


def announced(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """What was said of the time to go, in seconds of the clock, beside what came true."""
    within = total = 0
    for row in rows:
        for said in row.get("announced") or ():
            quotient = said["seconds"] / max(said["took"], 1e-9)
            total += 1
            within += 1 / FACTOR <= quotient <= FACTOR
            about = f"{row['verifier']} {row['kind']} {row['other']}".strip()
            yield (
                f"{about}, V = {row['vocab_size']}, {scheme_from_dict(row['scheme'])}: "
                f"{said['steps']} {said['kind']}s, "
                f"said {said['seconds']:.1f} s, took {said['took']:.1f} s, quotient {quotient:.2f}"
            )
    yield f"{within} of {total} within a factor of {FACTOR}"


def stale(page: str) -> list[Claim]:
    """Claims without a row of the code as it is now. page: its text."""
    missing = []
    for claim in claims():
        name = f"{claim.verifier} {claim.kind} {claim.other}".strip()
        start, end = f"| {name} | {claim.vocab_size} | {claim.scheme} | ", f" | {claim.code} |"
        free = f"{start}{', '.join(claim.free)} | "
        starts = (start,) if claim.kind else (f"{free}{'yes' if claim.zeros else ''} | ", f"{free}refuted | ")
        if not any(line.startswith(starts) and line.endswith(end) for line in page.splitlines()):
            missing.append(claim)
    return missing


def report() -> int:
    """Name the rows that are stale; exit code 1 if there are any."""
    missing = stale(PAGE.read_text(encoding="utf-8"))
    for claim in missing:
        remark(f"not of this code: {claim}")
    remark(f"{len(missing)} of {len(list(claims()))} rows are stale")
    return 1 if missing else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(report())
    if sys.argv[1:2] == ["--announced"]:
        print("\n".join(announced(stored_rows(sys.argv[2]))))
        sys.exit()
    main(sys.argv[1] if len(sys.argv) > 1 else "theorems.db")
