"""`draftproof.claims` and `draftproof claims`: tests of what papers claim."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from draftproof.experiments.result import Column, Result, Table, hidden
from draftproof.experiments.shared.output import check_files
from draftproof.experiments.shared.progress import counted
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.instance import Instance


def claims(
    names: str | Sequence[str] | None = None,
    /,
    *,
    resume: str | None = None,
    jobs: int = 1,
    dask: str | None = None,
    folder: str = ".",
) -> Result:
    """Test the claims of papers. Exit 0: each has its recorded status; 1: some have another; 2: bad input.

    Args:
        names: Claims (default: all).
        resume: Store: rows are saved one by one and reused next time.
        jobs: Number of processes.
        dask: Address of a Dask scheduler that computes the rows in their place, as tcp://HOST:PORT.
        folder: Where refuting instances go that do not come along.
    """
    from draftproof.experiments.claims import work
    from draftproof.experiments.claims.ledger import claim_named, ledger
    from draftproof.experiments.grid.machines import Machines
    from draftproof.experiments.grid.run import run
    from draftproof.experiments.grid.store import Store
    from draftproof.experiments.shared.progress import cut_short

    check_files((), {"resume": resume})
    machines = Machines(jobs, dask)
    if not Path(folder).is_dir():
        raise InvalidInput(f"folder {folder} is not a folder; make it first")
    listed = [names] if isinstance(names, str) else names
    chosen = [claim_named(name) for name in dict.fromkeys(listed)] if listed else list(ledger())
    store = Store(resume)
    questions = list(map(work.question_of, chosen))
    try:
        judged = run(questions, store, work.compute, machines=machines, message=counted(len(chosen), "claim"))
    except KeyboardInterrupt:
        cut_short(sum(question.strong_id in store for question in questions), len(questions), "rows", resume)
        raise
    rows, files = [], {}
    for row in judged:
        file = kept_file(row)
        if row["refuting"] is not None and file is None:
            file = str(Path(folder, f"claim-{row['id']}.json"))
            files[file] = Instance.from_dict(row["refuting"]).dumps()
        rows.append(row | {"instance": file, "command": command_of(row, file)})
    one = bool(listed) and len(rows) == 1
    table = Table.of(_columns(one), rows)
    return Result(summary(rows), [table], _notes(rows, one), 0 if all(row["as_expected"] for row in rows) else 1, files)


def _columns(one: bool) -> list[Column]:
    """For people a few columns of many claims, and everything about a single one."""
    always = [Column("id", title="claim"), *map(Column, ("status", "statement", "source", "evidence"))]
    more = [Column(name, shown=one) for name in ("paper", "false_variant", "true_variant")]
    read = hidden("instances", "families", "shapes", "instance", "defects", "as_expected", "seconds")
    return [*always, *more, Column("command", "command", shown=one), *read]


def _notes(rows: Sequence[Mapping[str, Any]], one: bool) -> list[str]:
    """The commands of the refutations of several claims, and the claims that are not as expected."""
    refuted = [str(row["command"]) for row in rows if row["instance"] and not one]
    wrong = [
        f"{row['id']}: {'; '.join(row['defects']) or 'not its recorded status'}"
        for row in rows
        if not row["as_expected"]
    ]
    return [*(["each refutation from the shell:"] if refuted else []), *refuted, *wrong]


def relative_path(path: Path) -> str:
    """The path relative to the current folder if it is below it, else as it is."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def kept_file(judged: Mapping[str, Any]) -> str | None:
    """The file in the repository that has the refuting instance, if there is one."""
    from draftproof.experiments.claims.ledger import INSTANCES

    path, fields = INSTANCES / f"{judged['id']}.json", judged["refuting"]
    same = fields is not None and path.is_file() and path.read_text("utf-8") == Instance.from_dict(fields).dumps()
    return relative_path(path) if same else None


def command_of(judged: Mapping[str, Any], file: str | None) -> str:
    """Shell commands that show a verdict: the refutation, or else the test of the claim. file: of the instance."""
    from draftproof.experiments.claims.ledger import CLAIMS
    from draftproof.experiments.claims.runs import PLANTED
    from draftproof.experiments.claims.statements import INSTANCE

    planted = relative_path(CLAIMS / PLANTED)
    lines = [
        "draftproof " + shlex.join(word.replace(INSTANCE, file or "").replace(PLANTED, planted) for word in words)
        for words in judged["commands"]
    ]
    return " && ".join(lines) if lines else f"draftproof claims {judged['id']}"


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """The number of claims by status."""
    statuses = ", ".join(f"{count} {status}" for status, count in Counter(row["status"] for row in rows).items())
    return f"{counted(len(rows), 'claim')}: {statuses} ({sum(row['instances'] for row in rows):,} instances)"
