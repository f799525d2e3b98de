"""Witnesses as files, and as tables: the violated balance, and the rows of the instance."""

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.result import Column, Table, hidden
from draftproof.experiments.shared.output import number_fields
from draftproof.simulator.drafts import UserScheme
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.law import Violation
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.witness import Witness

#: Columns of the table of witnesses.
WITNESS = (
    Column("verifier"),
    Column("vocab_size", "count", "V"),
    Column("scheme"),
    Column("context"),
    Column("token"),
    Column("expected", "exact", "must have probability"),
    Column("found", "exact", "has probability"),
    Column("deviation", "exact"),
    Column("shrunk"),
    Column("file"),
    Column("again", "command", "see it again"),
)
#: The title of the table.
WITNESSED = "witness: the probability that the context is accepted and the token follows"


def witness_path(verifier: str, instance: Instance) -> Path:
    """A name made from the content, so that no other witness is ever overwritten."""
    digest = hashlib.sha256(instance.dumps().encode()).hexdigest()[:8]
    return Path(f"witness-{re.sub(r'[^A-Za-z0-9_.-]+', '_', verifier)}-{digest}.json")


def violation_fields(violation: Violation) -> dict[str, Any]:
    """A violated balance as programs read it."""
    return {
        "context": list(violation.context),
        "token": violation.token,
        **number_fields("expected", violation.expected),
        **number_fields("found", violation.found),
        **number_fields("deviation", violation.deviation),
    }


def witness_fields(witness: Witness) -> dict[str, Any]:
    """The row of a witness, without its file and the command that shows it, as a store keeps it."""
    size, scheme = witness.instance.vocab_size, str(witness.instance.scheme)
    about = {"verifier": witness.verifier, "vocab_size": size, "scheme": scheme, "shrunk": witness.shrunk}
    return about | violation_fields(witness.violation)


def witness_tables(witness: Witness, file: str | None, again: str | None) -> list[Table]:
    """The violated balance equation, and the rows of the instance.

    file: where it is saved; again: the command that shows it; None where there is none.
    """
    row = witness_fields(witness) | {"file": file, "again": again}
    table = Table.of(WITNESS, [row], title=WITNESSED, name="witness")
    return [table, instance_table(instance_rows(witness.instance, witness.violation.context))]


def instance_rows(instance: Instance, marked: Sequence[int] | None) -> list[dict[str, Any]]:
    """The rows of an instance, one for each context; marked: the context that gets an arrow.

    Rows after the last drafted token are left out where they are all alike and none is marked.
    """
    fields, rows = instance.as_dict(), []
    arrow = None if marked is None else ",".join(map(str, marked))
    last = [context for context in fields["target"] if context not in fields["draft"]]
    alike = len({tuple(fields["target"][context]) for context in last}) == 1 and arrow not in last
    for context in fields["target"]:
        if alike and context in last:
            continue
        mark = " <-" if context == arrow else ""
        cells = {key: "  ".join(fields[key].get(context, ())) for key in instance.columns.values()}
        rows.append({"scheme": str(instance.scheme), "context": f"({context}){mark}", **cells})
    return rows


def instance_table(rows: Sequence[Mapping[str, Any]], shown: bool = True) -> Table:
    """The table of `instance_rows`."""
    told = [Column("told", title="told q")] if any("told" in row for row in rows) else []
    columns = [Column("context"), Column("target", title="target p"), Column("draft", title="draft q"), *told]
    return Table.of([*hidden("verifier", "scheme"), *columns], rows, name="instance", shown=shown)


def scheme_flag(scheme: DraftScheme | None) -> str | None:
    """The option that names a scheme of a file; "" for others, which an instance file names, None for an object."""
    if not isinstance(scheme, UserScheme):
        return ""
    file = scheme.as_dict().get("file")
    return None if file is None else f" --scheme {shlex.quote(file)}"


def check_again(named: NamedVerifier, flag: str | None, file: str) -> str | None:
    """The command that checks the instance of a file again; None for objects, which no command can name.

    flag: see `scheme_flag`.
    """
    if flag is None or (named.user_defined and not named.from_file):
        return None
    return f"draftproof check {shlex.quote(named.spec)} --world {shlex.quote(file)}{flag}"
