"""`draftproof prove --vocab any`: one verifier at one scheme, for every vocabulary size and all p and q."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from draftproof.experiments.cli.prove.at_one_size import (
    ABOUT,
    CODES,
    relation_result,
    relation_row,
    theorem_result,
    theorem_row,
    try_points,
)
from draftproof.experiments.cli.prove.request import Request, assert_provable
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.result import Column, Result, Table
from draftproof.experiments.shared.output import write_whole
from draftproof.experiments.shared.progress import bar, counted, named_errors, remark
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.theorems.any_vocabulary import depth
from draftproof.simulator.theorems.any_vocabulary.certificate import NotWritten, certificate_of
from draftproof.simulator.theorems.any_vocabulary.sums import Account
from draftproof.simulator.theorems.any_vocabulary.theorem import Step, Theorem
from draftproof.simulator.theorems.proof.judging import DOMINATES, EQUALS, LOSSLESS
from draftproof.verifiers.layer_transport import LayerTransport

#: Vocabulary sizes at which a witness is looked for, smallest first: of a verifier before the proof, of a relation
#: that is not proved.
TRIED, TRIED_AFTER = (2, 3, 4), (2, 3)
#: What every theorem for every V assumes, and what a proof for every length assumes of the code.
SUPPORT = "p and q have full support"
ALIKE = (
    "verify treats all nodes alike, by one score, also those further below, and sees of a subtree of several layers no "
    "more than of one: whether it is rejected"
)
#: Most seconds in which a witness against a relation is looked for at one vocabulary size.
SEARCHED = 60.0
_CLAIM = {
    LOSSLESS: "LOSSLESS",
    EQUALS: "HAS THE LAW OF {other}",
    DOMINATES: "KEEPS EVERY DRAFTED PREFIX AT LEAST AS OFTEN AS {other}",
}


_ROW = (*ABOUT, Column("seconds"))
_STEPS = (
    Column("step"),
    Column("proved"),
    Column("cases", "count"),
    Column("failed", "count"),
    Column("runs", "count", "runs of the code"),
    Column("equations", "count", "functions compared"),
    Column("solver_questions", "count", "questions to z3"),
)
#: The most characters of the reason why a step is not shown.
REASON = 300


@dataclass
class EverySize:
    """The answer for every V.

    listed: every step with the hypothesis of the induction that it proves and its number of branches; "" and 0 for
    those of the theorem itself, one for each length of the named context.
    """

    theorem: Theorem
    named: NamedVerifier
    other: NamedVerifier | None
    listed: list[tuple[str, int, Step]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def steps(self) -> list[Step]:
        """The steps of the theorem itself."""
        return [step for name, _, step in self.listed if not name]

    @property
    def proved(self) -> bool:
        """Whether every step is."""
        return all(step.proved for step in self.steps)

    @property
    def claim(self) -> str:
        """What is shown, for every V."""
        shown = _CLAIM[self.theorem.kind].format(other=self.other.label if self.other else "")
        return f"{shown} for every p and q with full support and every V, at {self.theorem.scheme}"


def every_size_result(
    request: Request,
    kind: str,
    other: NamedVerifier | None,
    every_length: bool,
    certificate: str | None,
    witness_file: str | None,
) -> Result:
    """Prove it, or refute it at the smallest vocabulary size. certificate, witness_file: the files for them."""
    if every_length and other is not None:
        raise InvalidInput("every_length is about losslessness; leave equals and dominates out")
    theorem = theorem_of(request, kind, other)  # what it cannot be about is refused before the work
    if every_length:
        hypotheses_of(theorem)
    for size in TRIED if other is None else ():
        points = try_points(request, size)
        if points is not None and not points["holds"]:
            smallest = replace(request, vocab_size=size)
            return theorem_result(smallest, theorem_row(smallest), None, witness_file)
    proof = run(request, kind, other, every_length, records=certificate is not None)
    if proof.proved and certificate is not None:
        remark("the proof is written as sums and products, which takes as long again, or several times as long")
        write_whole(certificate, json.dumps(certificate_for(proof), separators=(",", ":")) + "\n")
    if other is not None and not proof.proved:
        return refuted_relation(request, kind, other, witness_file) or _result(proof, every_length)
    return _result(proof, every_length)


def refuted_relation(request: Request, kind: str, other: NamedVerifier, witness_file: str | None) -> Result | None:
    """A relation with a witness at the smallest vocabulary size; None if none was found."""
    for size in TRIED_AFTER:
        remark(f"not proved; a witness is looked for at V = {size}, for about {SEARCHED:.0f} s at most")
        smallest = replace(request, vocab_size=size)
        try:
            row = relation_row(smallest, kind, other, seconds=SEARCHED)
        except TooLarge as error:
            remark(f"no witness was found: {error}")
            return None
        if row["verdict"] == "refuted":
            return relation_result(smallest, other, row, witness_file)
    remark("no witness was found: neither proved nor refuted")
    return None


def run(
    request: Request,
    kind: str,
    other: NamedVerifier | None,
    every_length: bool = False,
    records: bool = False,
) -> EverySize:
    """Try to prove a theorem. Raises `InvalidInput` for what it cannot be about, `NotFollowed` with a line of code.

    records: keep every sum, for a certificate.
    """
    assert_provable([request.named, *([] if other is None else [other])])
    proof = EverySize(theorem_of(request, kind, other), request.named, other)
    start = time.process_time()
    account = Account()

    def note(current: Account) -> None:
        nonlocal account
        account = current

    def detail() -> str:
        return f"{account.runs:,} runs of the code, {account.cases:,} cases"

    step = proof.theorem.step
    wanted: list[depth.Hypothesis] = [("", 0, partial(step, length, note, records)) for length in proof.theorem.depths]
    wanted += hypotheses_of(proof.theorem) if every_length else []
    label = f"{request.named.label}, every V, {request.scheme}"
    try:
        with named_errors(request.named.label), bar(label, len(wanted), detail=detail) as tick:
            for name, branches, proved in wanted:
                proof.listed.append((name, branches, proved()))
                tick(1)
    except RecursionError as error:
        raise TooLarge(f"{request.scheme} is too large for this; take fewer or shorter branches") from error
    proof.seconds = time.process_time() - start
    return proof


def hypotheses_of(theorem: Theorem) -> list[depth.Hypothesis]:
    """What an induction over the depth needs, with its proofs; raises `InvalidInput` for trees that are not delayed."""
    if not isinstance(theorem.scheme, Delayed):
        raise InvalidInput(f"every_length is about delayed trees, not {theorem.scheme}")
    return depth.hypotheses(theorem.verifier, theorem.scheme.K)


def theorem_of(request: Request, kind: str, other: NamedVerifier | None) -> Theorem:
    """The theorem about these verifiers; raises `InvalidInput` for a selection, which has no law by classes."""
    scheme, verifier = request.scheme, request.named.verifier
    if isinstance(verifier, LayerTransport) and isinstance(scheme, Delayed) and scheme.K > 1:
        raise InvalidInput(
            f"{request.named.label} with 2 or more branches is not proved for every V; take vocab 2 or 3, with free "
            "solver"
        )
    return Theorem(kind, scheme, verifier, None if other is None else other.verifier)


def certificate_for(proof: EverySize) -> dict[str, Any]:
    """The certificate of a theorem that was proved; raises `InvalidInput` where it has none."""
    about = {
        "verifier": proof.named.identity,
        "other": None if proof.other is None else proof.other.identity,
        "vocab_size": "any",
        "scheme": proof.theorem.scheme.as_dict(),
        "assumed": [SUPPORT],
    }
    try:
        return certificate_of(proof.theorem, proof.steps, about)
    except NotWritten as error:
        raise InvalidInput(
            f"{proof.named.label} is proved, but without a certificate: {error}; take a smaller tree, or leave the "
            "certificate out"
        ) from None


def _result(proof: EverySize, every_length: bool) -> Result:
    """What a theorem for every vocabulary size shows. every_length: whether an induction was asked for, too."""
    complete = all(step.proved for *_, step in proof.listed)
    claim = proof.claim if proof.theorem.kind == LOSSLESS else f"PROVED: {proof.claim}"
    row = {
        "verifier": proof.named.label,
        "identity": proof.named.identity,
        "other": None if proof.other is None else proof.other.label,
        "relation": None if proof.other is None else proof.theorem.kind,
        "vocab_size": "any",
        "scheme": str(proof.theorem.scheme),
        "assumed": [SUPPORT, *([ALIKE] if every_length else [])],
        "proved": proof.proved,
        "every_length": complete if every_length else None,
        "seconds": round(proof.seconds, 3),
        "versions": versions(),
        "verdict": claim if proof.proved else f"NOT PROVED: {proof.claim}",
    }
    steps, notes = [], []
    for hypothesis, branches, step in proof.listed:
        title = f"after {counted(len(step.context), 'token')}"
        if hypothesis:
            title = f"{branches} branch{'es' * (branches > 1)}: {hypothesis}"
        steps.append(
            {
                "step": title,
                "depth": None if hypothesis else len(step.context),
                "hypothesis": hypothesis or None,
                "branches": branches or None,
                "proved": "yes" if step.proved else "not shown" if step.reason else "no",
                "cases": len(step.cases),
                "failed": len(step.failed) or None,
                "runs": step.account.runs,
                "inner_cases": step.account.cases,
                "equations": step.account.equations,
                "solver_questions": step.asked,
                "reason": step.reason or None,
            }
        )
        if step.reason:
            reason = step.reason if len(step.reason) <= REASON else f"{step.reason[:REASON]} ..."
            notes.append(f"{title}: {reason}")
    if notes:
        notes.append("p0, q0, p1, ..: p and q of the context, of the token after it and of drafted tokens, or sums")
    if every_length:
        scope = "for" if complete else "NOT PROVED, as a step is not shown: for"
        notes.append(f"{scope} every depth, if {ALIKE}. Read that in the code: it is NOT proved.")
    tables = [Table.whole(_ROW, [row]), Table.whole(_STEPS, steps, name="steps", title="steps")]
    title = f"{proof.named.label} on {proof.theorem.scheme}, every vocabulary size"
    return Result(title, tables, notes, CODES["proved" if complete else "open"])
