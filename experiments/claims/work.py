"""Computes the claims of the ledger: the test of each claim and its variants give one stored row each."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from draftproof.experiments.claims.ledger import (
    MEASURED,
    OPEN,
    REFUTED,
    Claim,
    Test,
    claim_named,
)
from draftproof.experiments.grid.rows import row_id, versions
from draftproof.experiments.grid.run import Question
from draftproof.simulator.errors import DraftproofError
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme

#: The tests of a claim: its own, that of the false and of the true variant.
OWN, FALSE_VARIANT, TRUE_VARIANT = "claim", "false variant", "true variant"
#: Seconds that a test takes, roughly; those that shrink a refuting instance take longer.
USUAL, SHRINKING = 0.5, 8.0


@dataclass(frozen=True)
class Part:
    """One row of the ledger. what: one of the tests above."""

    claim: str
    what: str

    @property
    def strong_id(self) -> str:
        """The id of its row."""
        return row_id("claim", subject=self.claim, what=self.what)


def parts_of(claim: Claim) -> list[Part]:
    """The parts of a claim."""
    if claim.status == OPEN:
        return []
    return [Part(claim.id, what) for what in (OWN, FALSE_VARIANT, *([TRUE_VARIANT] if claim.true else []))]


def compute(part: Part) -> dict[str, Any]:
    """The row of a part."""
    started = time.perf_counter()
    claim = claim_named(part.claim)
    test = {OWN: claim.test, FALSE_VARIANT: claim.false, TRUE_VARIANT: claim.true}[part.what]
    assert test is not None
    result = asdict(test.figures()) if claim.status == MEASURED else _tested(claim, test, part)
    fields = {**asdict(part), **result, "versions": versions()}
    return {**fields, "seconds": round(time.perf_counter() - started, 3)}


def _tested(claim: Claim, test: Test, part: Part) -> dict[str, Any]:
    """The applicable instances with their families and shapes, up to the first failure; and that one, shrunk."""
    applicable, families, shapes = 0, dict[str, None](), dict[str, None]()
    failed = None
    for (size, scheme), instance in test.cases.instances():
        outcome = test.evaluate(instance, scheme)
        if outcome.applies:
            applicable += 1
            families[instance.about["family"]] = None
            shapes[f"V = {size}, {scheme}"] = None
        if not outcome.holds:
            shrink = part.what == OWN and not claim.unshrunk  # any instance that refutes a variant will do
            failed = _failure(claim, test, instance, scheme, shrink)
            break
    return {"instances": applicable, "families": list(families), "shapes": list(shapes), "failed": failed}


def _failure(claim: Claim, test: Test, instance: Instance, scheme: DraftScheme, shrink: bool) -> dict[str, Any]:
    if shrink:
        from draftproof.simulator.verdicts.search import smallest  # Hypothesis takes a while to import

        instance, scheme = smallest(lambda smaller, tree: _fails(test, smaller, tree), instance, scheme)
    outcome = test.evaluate(instance, scheme)
    about = {"claim": claim.id, "says": claim.statement, "found": outcome.text}
    kept = replace(instance, scheme=scheme, about=about).as_dict()
    return {"text": outcome.text, "commands": [list(each.words) for each in outcome.commands], "instance": kept}


def _fails(test: Test, instance: Instance, scheme: DraftScheme) -> bool:
    if not scheme.nodes:  # statements are about schemes that draft something
        return False
    try:
        outcome = test.evaluate(instance, scheme)
    except (DraftproofError, AssertionError):  # a verifier may refuse a smaller tree, which refutes nothing
        return False
    return not outcome.holds


def questions_of(claims: Sequence[Claim]) -> list[Question[Part]]:
    """What the rows of claims answer."""
    return [Question(part.strong_id, part, _seconds(claim, part)) for claim in claims for part in parts_of(claim)]


def _seconds(claim: Claim, part: Part) -> float:
    return SHRINKING if claim.status == REFUTED and part.what == OWN else USUAL
