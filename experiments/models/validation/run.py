"""`draftproof validate` from its options to its report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

import torch
from rich.console import Console

from draftproof.experiments.models.loop.supported import check_pair
from draftproof.experiments.models.pair.devices import model_versions
from draftproof.experiments.models.pair.opened import Opened, open_pair
from draftproof.experiments.models.pair.roots import roots_of
from draftproof.experiments.models.pair.warp import Warp
from draftproof.experiments.models.validation import validation as work
from draftproof.experiments.models.validation import views
from draftproof.experiments.models.validation.cells import GOAL, Budget
from draftproof.experiments.models.validation.contest import contestants, device_name, setting
from draftproof.experiments.models.validation.validation import Contest
from draftproof.experiments.shared.names import NamedVerifier, find_verifier
from draftproof.experiments.shared.output import write_json, write_whole
from draftproof.experiments.shared.progress import remark
from draftproof.experiments.shared.rows import RowFile
from draftproof.experiments.shared.schemes import shape_name
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import DraftScheme

__all__ = ["Amount", "open_pair"]

VERIFIERS = ("nss", "naive", "specinfer", "spectr", "block", "traversal", "gbv", "path_transport")
#: One path, branches at once, branches late, and a delayed tree.
SHAPES = (Delayed(1, 0, 3), Delayed(2, 0, 2), Delayed(3, 1, 1), Delayed(2, 1, 2))


@dataclass(frozen=True)
class Amount:
    """How much is run, where it is said."""

    roots: int | None = None
    blocks: int | None = None
    law_runs: int | None = None
    quick: bool = False

    @property
    def budget(self) -> Budget:
        """Of each cell."""
        return Budget(0.05 if self.quick else GOAL, self.blocks)


def parse_replaced(given: Sequence[str]) -> dict[str, NamedVerifier]:
    """`NAME=OTHER` as what runs in place of what; raises `InvalidInput`."""
    found = {}
    for text in given:
        name, equals, other = text.partition("=")
        if not (equals and name and other):
            raise InvalidInput(
                f"--replace {text!r}: write NAME=OTHER, as in --replace naive=relaxed or naive=FILE.py:NAME"
            )
        if name in found:
            raise InvalidInput(f"--replace names {name} twice; give it once")
        found[name] = find_verifier(other)
    return found


def make_contest(
    opened: Opened,
    named: Sequence[NamedVerifier],
    replaced: dict[str, NamedVerifier],
    schemes: Sequence[DraftScheme],
    warp: Warp,
    amount: Amount,
    seed: int,
    vectors: str,
) -> Contest:
    """What will be validated; raises `InvalidInput`, before any work, for models that cannot be read as trees."""
    check_pair(opened.pair)
    count = amount.roots or (2 if amount.quick else 4)
    made = setting(opened.pair, warp, roots_of(opened.held_out, count), seed, vectors)
    contest = Contest(made, tuple(contestants(named, replaced)), tuple(schemes), amount.budget)
    runs = amount.law_runs or (1_000 if amount.quick else contest.law_runs)
    return replace(contest, law_runs=runs)


def run(
    console: Console, opened: Opened, contest: Contest, resume: str | None, started: float, lossy: Sequence[str] = ()
) -> dict[str, Any]:
    """Everything, printed part by part; the report as plain data. lossy: verifiers that are known to be."""
    kept, report = RowFile(resume), {**about(opened, contest), "known_lossy": list(lossy)}
    views.show_pair(console, report)
    remark(f"tables of p and q after {len(contest.setting.roots)} roots")
    tables = work.tables_of(contest)
    contest, report["planned"] = work.planned_contest(contest, tables)
    report["left_out"] = [{"verifier": each.label, "shape": shape_name(scheme)} for each, scheme in contest.left_out]
    for line in [*report["planned"], *views.left_out_lines(report["left_out"])]:
        console.print(line, soft_wrap=True)
    remark("tree attention, caches, greedy text")
    report["same"] = work.same_anyway(contest)
    for line in views.check_lines(report["same"]):
        console.print(line, soft_wrap=True)
    remark(f"law of the first tokens, up to {contest.law_runs:,} runs a verifier")
    report["power"] = work.law_power(contest, tables)
    report["law"] = work.law_rows(contest, tables, kept)
    console.print(views.law_table(report["law"]))
    console.print(views.power_lines(report["power"], len(report["law"])), soft_wrap=True)
    remark(f"predicted against measured, {len(contest.pairs)} cells")
    report["rows"] = work.cell_rows(contest, tables, kept)
    report["table"] = work.table_fields(report["rows"])
    console.print(views.cell_table(report["rows"], report["table"]))
    console.print(views.table_lines(report["rows"], report["table"]), soft_wrap=True)
    report["consistent"] = not failures(report)
    report["seconds"] = round(time.perf_counter() - started, 1)
    return report


def about(opened: Opened, contest: Contest) -> dict[str, Any]:
    """Which pair, text and machine."""
    pair = opened.pair
    return {
        "target": pair.names[0],
        "draft": pair.names[1],
        "V": pair.vocab_size,
        "text": opened.corpus.name,
        "text_hash": opened.corpus.digest,
        "bits_per_character": opened.quality,
        "sample": opened.sample,
        "warp": contest.setting.warp.as_dict(),
        "sampling": str(contest.setting.warp),
        "roots": [pair.decode(root) for root in contest.setting.roots],
        "device": device_name(pair.device),
        "threads": torch.get_num_threads(),
        "dtype": contest.setting.fields["dtype"],
        "pair": contest.setting.digest,
        "versions": model_versions(),
    }


def failures(report: dict[str, Any]) -> list[str]:
    """What was not as it should be, in words; a verifier that is known to be lossy may be."""
    known, same = report.get("known_lossy", []), report["same"]
    names = {"tree_attention": "tree attention", "caches": "caches"}
    found = [said for name, said in names.items() if not same[name]["passed"]]
    if any(each["verifier"] not in known for each in same.get("greedy", {}).get("differ", ())):
        found.append("greedy text")
    found += [
        f"the law of {row['verifier']}" for row in report["law"] if row["refuted"] and row["verifier"] not in known
    ]
    found += [f"{each['verifier']} on ({each['shape']})" for each in report["table"]["failed"]]
    lossy = [row["verifier"] for row in report["rows"] if row.get("lossless") is False and row["verifier"] not in known]
    found += [
        f"{name} is not lossless on the tables (--lossy {quote(name)} says it is known)"
        for name in dict.fromkeys(lossy)
    ]
    if not report["table"]["passed"] and not report["table"]["failed"]:
        found.append("the table as a whole")
    return found


def deliver(
    console: Console, report: dict[str, Any], json_target: str | None, markdown_file: str | None, plot_file: str | None
) -> int:
    """The files that were asked for, and the exit code."""
    wrong = failures(report)
    said = f"NOT as predicted: {', '.join(wrong)}" if wrong else "all as predicted"
    console.print(f"{said}; {report['seconds']:.0f} s", soft_wrap=True)
    write_json(json_target, report)
    if markdown_file:
        write_whole(markdown_file, views.markdown(report["rows"], report["table"]))
    if plot_file:
        write_whole(plot_file, views.figure(report["rows"], views.caption(report)))
        console.print(f"picture: {plot_file}")
    return 1 if wrong else 0


def say_interrupted(resume: str | None) -> None:
    """After Ctrl-C."""
    where = f"; rows so far are kept in {resume}" if resume else "; --resume FILE would keep rows"
    remark(f"interrupted{where}; no other file was written")
