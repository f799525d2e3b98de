"""The verdict on a claim from its rows: status, evidence, and the commands that show a refutation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from draftproof.experiments.claims.ledger import HOLDS, MEASURED, OPEN, REFUTED, Claim
from draftproof.experiments.claims.work import FALSE_VARIANT, OWN, TRUE_VARIANT
from draftproof.simulator.instances.instance import Instance

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim.

    instances: the number of exact instances to which it applies, of these families and shapes. commands: that show a
    refutation, with the place of the instance. defects: reasons why its test proves nothing.
    """

    claim: Claim
    status: str
    evidence: str
    instances: int = 0
    families: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    instance: Instance | None = None
    commands: tuple[tuple[str, ...], ...] = ()
    false_variant: str = ""
    true_variant: str = ""
    defects: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def as_expected(self) -> bool:
        """Whether it has the recorded status, by a test without defects."""
        return self.status == self.claim.status and not self.defects


def verdict(claim: Claim, rows: Sequence[Row]) -> Verdict:
    """The verdict from the rows of a claim."""
    if claim.status == OPEN:
        return Verdict(claim, OPEN, claim.note)
    by = {row["what"]: row for row in rows}
    own, false, true = by[OWN], by[FALSE_VARIANT], by.get(TRUE_VARIANT)
    status, evidence = _figures(own) if claim.status == MEASURED else _tested(own)
    failed = own.get("failed")
    return Verdict(
        claim, status, f"{evidence}. {claim.note}" if claim.note else evidence, own["instances"],
        tuple(own["families"]), tuple(own.get("shapes", ())),
        Instance.from_dict(failed["instance"]) if failed else None,
        tuple(tuple(words) for words in failed["commands"]) if failed else (),
        _false(claim, false),
        f"{claim.true.says}: holds on {true['instances']}" if true and claim.true else "",
        _defects(own, false, true), round(sum(row["seconds"] for row in rows), 1),
    )  # fmt: skip


def _figures(row: Row) -> tuple[str, str]:
    return MEASURED, f"{'as claimed' if row['shown'] else 'not as claimed'}: {row['text']}"


def _tested(row: Row) -> tuple[str, str]:
    if row["failed"]:
        return REFUTED, row["failed"]["text"]
    evidence = f"on {row['instances']:,} exact instances ({', '.join(row['families'])}; {'; '.join(row['shapes'])})"
    return (HOLDS if row["instances"] else OPEN), evidence


def _refutes(row: Row) -> bool:
    """Whether a test refutes its variant."""
    return bool(row["failed"]) if "failed" in row else not row["shown"]


def _false(claim: Claim, row: Row) -> str:
    if not _refutes(row):
        return ""
    return f"{claim.false.says}: " + (f"refuted at instance {row['instances']}" if "failed" in row else "not shown")


def _defects(own: Row, false: Row, true: Row | None) -> tuple[str, ...]:
    """The reasons why a test proves nothing: it never fails, or always, or applies nowhere."""
    found = (
        ("it applies to no instance", not own["instances"]),
        ("its test does not refute the false variant", not _refutes(false)),
        ("its test refutes the true variant", true is not None and bool(true["failed"])),
        ("the true variant applies to no instance", true is not None and not true["instances"]),
    )
    return tuple(words for words, wrong in found if wrong)
