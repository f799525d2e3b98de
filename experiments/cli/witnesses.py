"""Witnesses as files, as fields for programs and as tables for people."""

import hashlib
import re
import shlex
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from draftproof.experiments.shared.output import EXACT_DIGITS, distinguishable, number_fields, short, write_whole
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.drafts import UserScheme
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import printable
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.law import Violation
from draftproof.simulator.protocol import Context, DraftScheme
from draftproof.simulator.verdicts.witness import Witness


def witness_path(verifier: str, instance: Instance) -> Path:
    """A name made from the content, so that no other witness is ever overwritten."""
    digest = hashlib.sha256(instance.dumps().encode()).hexdigest()[:8]
    return Path(f"witness-{re.sub(r'[^A-Za-z0-9_.-]+', '_', verifier)}-{digest}.json")


def witness_fields(witness: Witness, file: str | None) -> dict[str, Any]:
    """The witness as programs read it."""
    return {
        "file": file,
        **violation_fields(witness.violation),
        "shrunk": witness.shrunk,
        "vocab_size": witness.instance.vocab_size,
        "instance": witness.instance.as_dict(),
    }


def violation_fields(violation: Violation) -> dict[str, Any]:
    """A violated balance as programs read it."""
    return {
        "context": list(violation.context),
        "token": violation.token,
        **number_fields("expected", violation.expected),
        **number_fields("found", violation.found),
        **number_fields("deviation", violation.deviation),
    }


def scheme_flag(scheme: DraftScheme | None) -> str:
    """The option that names a user-defined scheme; an instance file names any other scheme itself."""
    return f" --scheme {shlex.quote(scheme.as_dict()['file'])}" if isinstance(scheme, UserScheme) else ""


def save_witness(witness: Witness, path: str | None) -> str | None:
    """Write the witness as an instance file and return its name; None if the default name cannot be written."""
    target = Path(path) if path else witness_path(witness.verifier, witness.instance)
    try:
        write_whole(target, witness.instance.dumps())
    except InvalidInput as error:
        if path:
            raise
        remark(f"the witness was not saved: {error}, or give --witness FILE")
        return None
    return str(target)


def show_witness(console: Console, witness: Witness, file: str | None, spec: str, saved: bool) -> None:
    """The instance, row by row, and the violated balance."""
    instance, violation = witness.instance, witness.violation
    size = "shrunk" if witness.shrunk else "not shrunk"
    console.print(f"witness ({size}): V = {instance.vocab_size}, {instance.scheme}")
    _show_rows(console, instance, violation.context)
    wanted, found, gap = (
        short(value, EXACT_DIGITS) for value in (violation.expected, violation.found, violation.deviation)
    )
    wanted, found = distinguishable(wanted, found, violation.expected, violation.found)
    console.print(
        f"  after context {violation.context}, token {violation.token} must have mass D(c) p(y|c) = {wanted}; "
        f"the block gives it {found} (deviation {gap})",
    )
    if saved:
        _say_again(console, instance, file, spec)


def _show_rows(console: Console, instance: Instance, marked: Context | None) -> None:
    table = Table(show_edge=False, pad_edge=False)
    fields = instance.as_dict()
    columns = {name: fields[key] for name, key in instance.columns.items()}
    for heading in ("context", *columns):
        table.add_column(heading)
    for context in fields["target"]:
        mark = " <-" if marked is not None and context == ",".join(map(str, marked)) else ""
        table.add_row(f"({context}){mark}", *("  ".join(rows.get(context, ())) for rows in columns.values()))
    console.print(Padding(table, (0, 0, 0, 2)))


def _say_again(console: Console, instance: Instance, file: str | None, spec: str) -> None:
    again = f"draftproof check {shlex.quote(spec)} --world {file}{scheme_flag(instance.scheme)}"
    console.print(printable(f"  saved as {file}; see it again: {again}"), soft_wrap=True)
