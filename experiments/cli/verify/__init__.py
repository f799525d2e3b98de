"""`draftproof.verify` and `draftproof verify`: is what a certificate says true? The file says how it is checked."""

from collections.abc import Sequence
from typing import Any

from draftproof.experiments.result import Column, Result, Table
from draftproof.experiments.shared.progress import named_errors
from draftproof.simulator.errors import InvalidInput, cut, printable
from draftproof.simulator.instances.instance import Instance


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
    from draftproof.lp_analysis.checker import read_certificate

    named = [code] if isinstance(code, str) else list(code or ())
    fields = read_certificate(file)
    stated = str(fields.get("format")) if isinstance(fields, dict) else ""
    if stated in bounds.KINDS:
        if named:
            raise InvalidInput(f"{cut(file)} is a {stated}: it is about its rows, not about code; leave {named[0]} out")
        about_rows = Instance.load(instance) if instance else None
        with named_errors(cut(file)):
            found = bounds.KINDS[stated](fields, about_rows)
    elif stated in theorems.KINDS:
        if instance is not None:
            raise InvalidInput(f"{cut(file)} is a {stated}: it is about all p and q; leave the instance out")
        about = theorems.code_of(fields)
        if foreign := [each for each in named if each not in about]:
            raise InvalidInput(f"{cut(file)} is not about {foreign[0]}; leave it out")
        with named_errors(cut(file)):
            found = theorems.KINDS[stated](fields, named, max_trees)
    else:
        known = ", ".join(map(repr, [*bounds.KINDS, *theorems.KINDS]))
        raise InvalidInput(f"{cut(file)} is no certificate: its format is {cut(repr(stated))}; known: {known}")
    return _result(file, stated, found)


def _result(file: str, stated: str, found: dict[str, Any]) -> Result:
    """The result of a check. found: its fields, and as `lines` what people read of a valid certificate."""
    valid, lines = found["valid"], found.pop("lines")
    row = {"verdict": "VALID" if valid else "REJECTED", "certificate": file, "format": stated, **found}
    table = Table.whole([Column("verdict", "verdict"), Column("format")], [row])
    return Result(printable(file), [table], lines if valid else [found["reason"]], 0 if valid else 1)
