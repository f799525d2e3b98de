"""What the rows of a claim say together: its status, the evidence, the command that shows a refutation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from draftproof.experiments.claims.claim import (
    HERE,
    HOLDS,
    MEASURED,
    OPEN,
    REFUTED,
    Claim,
    Command,
    Exact,
    Measured,
    Open,
)
from draftproof.experiments.claims.work import FIGURES, MENDED, SEARCH, TWIN
from draftproof.simulator.instances.instance import Instance

Row = Mapping[str, Any]
#: The folder of the statements, with the instances that refute, and what was found about each when the page was made.
CLAIMS = Path(__file__).parent
INSTANCES, RECORDED = CLAIMS / "instances", CLAIMS / "measured.json"


@dataclass(frozen=True)
class Verdict:
    """What was found about a claim.

    instances: how many exact instances were asked, of these families and shapes. commands: words, with `FILE` for the
    instance and `HERE` for the folder of the statements. defects: why its test proves nothing, if so.
    """

    claim: Claim
    status: str
    evidence: str
    instances: int = 0
    families: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    instance: Instance | None = None
    commands: tuple[Command, ...] = ()
    twin: str = ""
    mended: str = ""
    defects: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def as_expected(self) -> bool:
        """Whether it has the status that it is known to have, by a test that can say no and yes."""
        return self.status == self.claim.expected and not self.defects


@dataclass
class _Rows:
    """The rows of one claim by what they are of."""

    rows: Sequence[Row]
    by: dict[str, Row] = field(init=False)

    def __post_init__(self) -> None:
        self.by = {row["what"]: row for row in self.rows}

    @property
    def tested(self) -> list[Row]:
        """Those about the claim itself."""
        return [row for row in self.rows if row["what"] not in (TWIN, MENDED)]

    def joined(self, key: str) -> tuple[str, ...]:
        """All families or shapes, each once."""
        return tuple(dict.fromkeys(each for row in self.tested for each in row[key]))


def verdict(claim: Claim, rows: Sequence[Row]) -> Verdict:
    """The verdict from all rows of a claim."""
    if isinstance(claim, Open):
        return Verdict(claim, OPEN, claim.why)
    found = _Rows(rows)
    seconds = round(sum(row["seconds"] for row in rows), 1)
    if isinstance(claim, Measured):
        return _measured(claim, found, seconds)
    assert isinstance(claim, Exact)
    failed = next((row["failed"] for row in found.tested if row["failed"]), None)
    twin, mended = found.by[TWIN], found.by.get(MENDED)
    count = sum(row["instances"] for row in found.tested)
    families, shapes = found.joined("families"), found.joined("shapes")
    plain = Verdict(
        claim, HOLDS if count else OPEN, "", count, families, shapes,
        twin=f"{claim.twin.words}: refuted at instance {twin['instances']}" if twin["failed"] else "",
        mended=f"{claim.mended.words}: holds on {mended['instances']}" if mended and claim.mended else "",
        defects=_defects(count, twin, mended, found), seconds=seconds,
    )  # fmt: skip
    if failed is None:
        evidence = f"on {count:,} exact instances ({', '.join(families)}; {'; '.join(shapes)})"
        return replace(plain, evidence=_noted(evidence, claim.note))
    return replace(
        plain, status=REFUTED, evidence=_noted(failed["text"].replace(f"{HERE}/", ""), claim.note),
        instance=Instance.from_dict(failed["instance"]),
        commands=tuple(tuple(words) for words in failed["commands"]),
    )  # fmt: skip


def _noted(evidence: str, note: str) -> str:
    return f"{evidence}. {note}" if note else evidence


def _defects(count: int, twin: Row, mended: Row | None, found: _Rows) -> tuple[str, ...]:
    """A test that never fails proves nothing, nor does one that always does."""
    searched = SEARCH in found.by
    return tuple(
        words
        for words, wrong in (
            ("nothing was asked", not count),
            ("its test lets the false twin pass", not twin["failed"]),
            ("its test refutes the true twin", searched and bool(mended and mended["failed"])),
            ("no instance was asked about the true twin", searched and not (mended and mended["instances"])),
        )
        if wrong
    )


def _measured(claim: Measured, found: _Rows, seconds: float) -> Verdict:
    row, twin = found.by[FIGURES], found.by[TWIN]
    evidence = f"{'as claimed' if row['shown'] else 'not as claimed'}: {row['text']}"
    defects = ("its figures show the false twin, too",) if twin["shown"] else ()
    families = tuple(row["families"])
    told = "" if twin["shown"] else f"{claim.twin.words}: not shown"
    return Verdict(
        claim, MEASURED, _noted(evidence, claim.note), row["instances"], families, twin=told, defects=defects,
        seconds=seconds,
    )  # fmt: skip
