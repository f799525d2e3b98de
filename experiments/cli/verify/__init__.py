"""`draftproof verify`: is what a certificate says true? The file says what it is about and how it is checked."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import console_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import cut, printable
from draftproof.simulator.instances.instance import Instance


def verify(
    file: Annotated[str, typer.Argument(help="A file that --certificate of prove or bound wrote.")],
    code: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE.py:NAME]...", help="Verifiers and scheme of your own that a theorem is about."),
    ] = None,
    instance: Annotated[
        str | None, typer.Option(help="Instance file with the rows that a bound or frontier must be about.")
    ] = None,
    max_trees: Annotated[int, typer.Option(min=1, help="Refuse a theorem about more draft trees.")] = 100_000,
    json_target: opt.JsonTarget = None,
) -> int:
    """Check a certificate, a theorem without a search and a bound without a solver. Exit 0: valid; 1: rejected.

    Theorems for every vocabulary size are checked by their sums alone, and then proved again and compared.
    """
    check_files((file, instance), {"--json": json_target})
    found = checked_file(file, code or [], instance, max_trees)
    lines = found.pop("lines")
    verdict = ("VALID", "bold green") if found["valid"] else ("REJECTED", "bold red")
    console = console_for(json_target)
    console.print(Text(f"{printable(file)}: ").append(*verdict), soft_wrap=True)
    for line in lines if found["valid"] else [found["reason"]]:
        console.print(f"  {line}", soft_wrap=True)
    write_json(json_target, found)
    return 0 if found["valid"] else 1


def checked_file(
    file: str, code: Sequence[str] = (), instance: str | None = None, max_trees: int = 100_000
) -> dict[str, Any]:
    """Whether a certificate holds, as fields for JSON and the lines of a valid one; raises `InvalidInput` for no such.

    code: user-defined code that the command names. instance: the file of the one that a bound must be about.
    """
    from draftproof.experiments.cli.verify import bounds, theorems
    from draftproof.lp_analysis.checker import read_certificate

    fields = read_certificate(file)
    stated = str(fields.get("format")) if isinstance(fields, dict) else ""
    if stated in bounds.KINDS:
        if code:
            raise InvalidInput(f"{cut(file)} is a {stated}: it is about its rows, not about code; leave {code[0]} out")
        found = bounds.KINDS[stated](fields, Instance.load(instance) if instance else None)
    elif stated in theorems.KINDS:
        if instance is not None:
            raise InvalidInput(f"{cut(file)} is a {stated}: it is about all p and q; leave --instance out")
        found = theorems.KINDS[stated](fields, code, max_trees)
    else:
        known = ", ".join(map(repr, [*bounds.KINDS, *theorems.KINDS]))
        raise InvalidInput(f"{cut(file)} is no certificate: its format is {cut(repr(stated))}; known: {known}")
    return {"certificate": file, "format": stated, **found}
