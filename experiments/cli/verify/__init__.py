"""`draftproof.verify` and `draftproof verify`: is what a certificate says true? The file says how it is checked."""

from collections.abc import Sequence
from typing import Any

from draftproof.experiments.result import Column, Result, Table
from draftproof.experiments.shared.progress import named_errors
from draftproof.simulator.errors import InvalidInput, cut, printable
from draftproof.simulator.instances.instance import Instance

#: What people read of a row; programs get its other fields, too.
_ROW = (
    Column("verdict", "verdict"),
    Column("format"),
    Column("scheme"),
    Column("vocab_size", "count", "V"),
    Column("states", "count"),
    Column("digest", title="rows"),
    Column("lower", "exact", "attained"),
    Column("upper", "exact", "at most"),
    Column("gap", "exact"),
)


def verify(
    file: str,
    code: str | Sequence[str] | None = None,
    /,
    *,
    instance: str | None = None,
    max_trees: int = 100_000,
) -> Result:
    """Check a certificate, a theorem without a search and a bound without a solver. Exit 0: valid; 1: rejected.

    Theorems for every vocabulary size are checked by their sums alone, and then proved again and compared.

    Args:
        file: A file that `prove` or `bound` wrote with certificate.
        code: FILE.py:NAME of verifiers and of the scheme of your own that a theorem is about.
        instance: Instance file with the rows that a bound must be about.
        max_trees: Refuse a theorem about more draft trees.
    """
    from draftproof.experiments.cli.verify import bounds, theorems
    from draftproof.lp_analysis.certificates import LONG_RUN_FORMAT
    from draftproof.lp_analysis.checker import read_certificate

    named = [code] if isinstance(code, str) else list(code or ())
    fields = read_certificate(file)
    stated = str(fields.get("format")) if isinstance(fields, dict) else ""
    if stated in bounds.KINDS:
        if named:
            raise InvalidInput(f"{cut(file)} is a {stated}: it is about its rows, not about code; leave {named[0]} out")
        if instance is not None and stated == LONG_RUN_FORMAT:
            raise InvalidInput("a long run is about the rows in its file, after every state; leave the instance out")
        about_rows = Instance.load(instance) if instance else None
        with named_errors(cut(file)):
            try:
                checked = {"valid": True, **bounds.KINDS[stated](fields, about_rows)}
            except InvalidInput as error:
                checked = {"valid": False, "reason": str(error)}
    elif stated in theorems.KINDS:
        if instance is not None:
            raise InvalidInput(f"{cut(file)} is a {stated}: it is about all p and q; leave the instance out")
        about = theorems.code_of(fields)
        if foreign := [spec for spec in named if spec not in about]:
            raise InvalidInput(f"{cut(file)} is not about {foreign[0]}; leave it out")
        with named_errors(cut(file)):
            checked = theorems.KINDS[stated](fields, named, max_trees)
    else:
        known = ", ".join(map(repr, [*bounds.KINDS, *theorems.KINDS]))
        raise InvalidInput(f"{cut(file)} is no certificate: its format is {cut(repr(stated))}; known: {known}")
    return _result(file, stated, checked)


def _result(file: str, stated: str, said: dict[str, Any]) -> Result:
    """The result of a check. found: its fields, and as `notes` what people read of a valid certificate."""
    valid, notes = said["valid"], said.pop("notes", [])
    row = {"verdict": "VALID" if valid else "REJECTED", "certificate": file, "format": stated, **said}
    return Result(printable(file), [Table.whole(_ROW, [row])], notes if valid else [said["reason"]], 0 if valid else 1)
