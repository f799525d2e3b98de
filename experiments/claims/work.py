"""Computes a claim of the ledger: the row with its verdict, from its own test and those of its variants."""

import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from draftproof.experiments.claims.ledger import (
    HOLDS,
    MEASURED,
    OPEN,
    REFUTED,
    Claim,
    Test,
    claim_named,
    papers,
)
from draftproof.experiments.grid.rows import row_id, versions
from draftproof.experiments.grid.run import Question
from draftproof.simulator.errors import DraftproofError
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme

Row = Mapping[str, Any]
#: Seconds that a claim takes, roughly; one that shrinks a refuting instance takes longer.
USUAL, SHRINKING = 1.0, 9.0


def question_of(claim: Claim) -> Question[str]:
    """What the row of a claim answers."""
    return Question(row_id("claim", subject=claim.id), claim.id, SHRINKING if claim.status == REFUTED else USUAL)


def compute(name: str) -> dict[str, Any]:
    """The row of a claim.

    instances: the number of exact instances to which it applies, of these families and shapes. refuting: the instance
    that refutes it; commands: that show this, with the place of its file. defects: reasons why its test proves nothing.
    as_expected: whether it has the recorded status, by a test without defects.
    """
    started, claim = time.perf_counter(), claim_named(name)
    tests = {} if claim.status == OPEN else {"own": claim.test, "false": claim.false, "true": claim.true}
    shrunk = None if claim.unshrunk else "own"  # any instance that refutes a variant will do
    rows = {what: _row(claim, test, what == shrunk) for what, test in tests.items() if test is not None}
    own, false, true = (rows.get(what, {}) for what in ("own", "false", "true"))
    status, evidence = (_figures if claim.status == MEASURED else _tested)(own) if own else (OPEN, "")
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
        "refuting": failed["instance"] if failed else None,
        "commands": failed["commands"] if failed else [],
        "false_variant": _false(claim, false) if false else None,
        "true_variant": f"{claim.true.says}: holds on {true['instances']}" if true and claim.true else None,
        "defects": defects,
        "as_expected": status == claim.status and not defects,
        "versions": versions(),
        "seconds": round(time.perf_counter() - started, 3),
    }


def _row(claim: Claim, test: Test, shrink: bool) -> dict[str, Any]:
    return asdict(test.figures()) if claim.status == MEASURED else _on_instances(claim, test, shrink)


def _on_instances(claim: Claim, test: Test, shrink: bool) -> dict[str, Any]:
    """The applicable instances with their families and shapes, up to the first failure; and that one, shrunk."""
    applicable, families, shapes = 0, dict[str, None](), dict[str, None]()
    failed = None
    for (size, scheme), instance in test.instances():
        outcome = test.evaluate(instance, scheme)
        if outcome.applies:
            applicable += 1
            families[instance.about["family"]] = None
            shapes[f"V = {size}, {scheme}"] = None
        if not outcome.holds:
            failed = _failure(claim, test, instance, scheme, shrink)
            break
    return {"instances": applicable, "families": list(families), "shapes": list(shapes), "failed": failed}


def _failure(claim: Claim, test: Test, instance: Instance, scheme: DraftScheme, shrink: bool) -> dict[str, Any]:
    if shrink:
        from draftproof.simulator.verdicts.search import smallest  # Hypothesis takes a while to import

        instance, scheme = smallest(lambda smaller, tree: _fails(test, smaller, tree), instance, scheme)
    outcome = test.evaluate(instance, scheme)
    about = {"claim": claim.id, "says": claim.statement, "found": outcome.text}
    refuting = replace(instance, scheme=scheme, about=about).as_dict()
    return {"text": outcome.text, "commands": list(map(list, outcome.commands)), "instance": refuting}


def _fails(test: Test, instance: Instance, scheme: DraftScheme) -> bool:
    if not scheme.nodes:  # statements are about schemes that draft something
        return False
    try:
        outcome = test.evaluate(instance, scheme)
    except (DraftproofError, AssertionError):  # a verifier may refuse a smaller tree, which refutes nothing
        return False
    return not outcome.holds


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
    reasons = (
        ("it applies to no instance", not own["instances"]),
        ("its test does not refute the false variant", not _refutes(false)),
        ("its test refutes the true variant", bool(true) and bool(true["failed"])),
        ("the true variant applies to no instance", bool(true) and not true["instances"]),
    )
    return [words for words, wrong in reasons if wrong]
