"""The verdict on a claim from its rows: status, evidence, and the commands that show a refutation."""

from collections.abc import Mapping, Sequence
from typing import Any

from draftproof.experiments.claims.ledger import HOLDS, MEASURED, OPEN, REFUTED, Claim, papers
from draftproof.experiments.claims.work import FALSE_VARIANT, OWN, TRUE_VARIANT
from draftproof.simulator.instances.instance import Instance

Row = Mapping[str, Any]


def verdict(claim: Claim, rows: Sequence[Row]) -> dict[str, Any]:
    """The verdict from the rows of a claim, as a row.

    instances: the number of exact instances to which it applies, of these families and shapes. refuting: the instance
    that refutes it; commands: that show this, with the place of its file. defects: reasons why its test proves nothing.
    as_expected: whether it has the recorded status, by a test without defects.
    """
    by = {row["what"]: row for row in rows}
    own, false, true = (by.get(what, {}) for what in (OWN, FALSE_VARIANT, TRUE_VARIANT))
    status, evidence = OPEN, ""
    if claim.status != OPEN:
        status, evidence = _figures(own) if claim.status == MEASURED else _tested(own)
    failed, defects = own.get("failed"), _defects(own, false, true) if own else []
    return {
        "id": claim.id,
        "source": claim.paper,
        "paper": papers().get(claim.key),
        "statement": claim.statement,
        "status": status,
        "evidence": ". ".join(filter(None, (evidence, claim.note))),
        "instances": own.get("instances", 0),
        "families": own.get("families", []),
        "shapes": own.get("shapes", []),
        "refuting": Instance.from_dict(failed["instance"]) if failed else None,
        "commands": failed["commands"] if failed else [],
        "false_variant": _false(claim, false) if false else None,
        "true_variant": f"{claim.true.says}: holds on {true['instances']}" if true and claim.true else None,
        "defects": defects,
        "as_expected": status == claim.status and not defects,
        "seconds": round(sum(row["seconds"] for row in rows), 1),
    }


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


def _false(claim: Claim, row: Row) -> str | None:
    if not _refutes(row):
        return None
    return f"{claim.false.says}: " + (f"refuted at instance {row['instances']}" if "failed" in row else "not shown")


def _defects(own: Row, false: Row, true: Row) -> list[str]:
    """The reasons why a test proves nothing: it never fails, or always, or applies nowhere."""
    found = (
        ("it applies to no instance", not own["instances"]),
        ("its test does not refute the false variant", not _refutes(false)),
        ("its test refutes the true variant", bool(true) and bool(true["failed"])),
        ("the true variant applies to no instance", bool(true) and not true["instances"]),
    )
    return [words for words, wrong in found if wrong]
