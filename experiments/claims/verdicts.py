"""The verdict on a claim from its rows: status, evidence, and the commands that show a refutation."""

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
from draftproof.experiments.claims.work import FALSE_VARIANT, FIGURES, SEARCH, TRUE_VARIANT
from draftproof.simulator.instances.instance import Instance

Row = Mapping[str, Any]
#: The folder of claims; its instances that refute claims; and the recorded verdicts that the page of claims shows.
CLAIMS = Path(__file__).parent
INSTANCES, RECORDED = CLAIMS / "instances", CLAIMS / "measured.json"


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim.

    instances: the number of exact instances to which it applies, of these families and shapes. commands: that show a
    refutation, with `INSTANCE` for the instance and `HERE` for the folder of claims. defects: reasons why its test
    proves nothing.
    """

    claim: Claim
    status: str
    evidence: str
    instances: int = 0
    families: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    instance: Instance | None = None
    commands: tuple[Command, ...] = ()
    false_variant: str = ""
    true_variant: str = ""
    defects: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def as_expected(self) -> bool:
        """Whether it has the expected status, by a test without defects."""
        return self.status == self.claim.expected and not self.defects


@dataclass
class _Rows:
    """The rows of one claim, by the part of the claim that they test."""

    rows: Sequence[Row]
    by: dict[str, Row] = field(init=False)

    def __post_init__(self) -> None:
        self.by = {row["what"]: row for row in self.rows}

    @property
    def tested(self) -> list[Row]:
        """The rows about the claim itself, without its variants."""
        return [row for row in self.rows if row["what"] not in (FALSE_VARIANT, TRUE_VARIANT)]

    def joined(self, key: str) -> tuple[str, ...]:
        """All families or shapes, each once."""
        return tuple(dict.fromkeys(item for row in self.tested for item in row[key]))


def verdict(claim: Claim, rows: Sequence[Row]) -> Verdict:
    """The verdict from the rows of a claim."""
    if isinstance(claim, Open):
        return Verdict(claim, OPEN, claim.why)
    parts = _Rows(rows)
    seconds = round(sum(row["seconds"] for row in rows), 1)
    if isinstance(claim, Measured):
        return _measured(claim, parts, seconds)
    assert isinstance(claim, Exact)
    failed = next((row["failed"] for row in parts.tested if row["failed"]), None)
    false, true = parts.by[FALSE_VARIANT], parts.by.get(TRUE_VARIANT)
    count = sum(row["instances"] for row in parts.tested)
    families, shapes = parts.joined("families"), parts.joined("shapes")
    holds = Verdict(
        claim, HOLDS if count else OPEN, "", count, families, shapes,
        false_variant=(
            f"{claim.false_variant.words}: refuted at instance {false['instances']}" if false["failed"] else ""
        ),
        true_variant=f"{claim.true_variant.words}: holds on {true['instances']}" if true and claim.true_variant else "",
        defects=_defects(count, false, true, parts), seconds=seconds,
    )  # fmt: skip
    if failed is None:
        evidence = f"on {count:,} exact instances ({', '.join(families)}; {'; '.join(shapes)})"
        return replace(holds, evidence=_noted(evidence, claim.note))
    return replace(
        holds, status=REFUTED, evidence=_noted(failed["text"].replace(f"{HERE}/", ""), claim.note),
        instance=Instance.from_dict(failed["instance"]),
        commands=tuple(tuple(words) for words in failed["commands"]),
    )  # fmt: skip


def _noted(evidence: str, note: str) -> str:
    return f"{evidence}. {note}" if note else evidence


def _defects(count: int, false: Row, true: Row | None, parts: _Rows) -> tuple[str, ...]:
    """The reasons why a test proves nothing: it never fails, or always, or applies nowhere."""
    searched = SEARCH in parts.by
    return tuple(
        words
        for words, wrong in (
            ("it applies to no instance", not count),
            ("its test does not refute the false variant", not false["failed"]),
            ("its test refutes the true variant", searched and bool(true and true["failed"])),
            ("the true variant applies to no instance", searched and not (true and true["instances"])),
        )
        if wrong
    )


def _measured(claim: Measured, parts: _Rows, seconds: float) -> Verdict:
    row, false_variant = parts.by[FIGURES], parts.by[FALSE_VARIANT]
    evidence = f"{'as claimed' if row['shown'] else 'not as claimed'}: {row['text']}"
    defects = ("its figures show the false variant, too",) if false_variant["shown"] else ()
    families = tuple(row["families"])
    text = "" if false_variant["shown"] else f"{claim.false_variant.words}: not shown"
    return Verdict(
        claim, MEASURED, _noted(evidence, claim.note), row["instances"], families, false_variant=text, defects=defects,
        seconds=seconds,
    )  # fmt: skip
