"""`draftproof prove --vocab any`: one verifier at one scheme, for every vocabulary size and all p and q."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from draftproof.experiments.cli.prove.request import Request, assert_provable
from draftproof.experiments.cli.prove.work import Related, Report, relate_two, run_proof, try_points
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.inputs.verifiers import NamedVerifier
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
    def about(self) -> dict[str, Any]:
        """What the theorem is about."""
        return {
            "verifier": self.named.identity,
            "other": None if self.other is None else self.other.identity,
            "vocab_size": "any",
            "scheme": self.theorem.scheme.as_dict(),
            "assumed": [SUPPORT],
        }

    @property
    def steps(self) -> list[Step]:
        """The steps of the theorem itself."""
        return [step for name, _, step in self.listed if not name]

    @property
    def proved(self) -> bool:
        """Whether every step is."""
        return all(step.proved for step in self.steps)

    @property
    def of_every_length(self) -> bool | None:
        """Whether the hypotheses of the induction are proved, too; None if that was not asked."""
        return all(step.proved for _, _, step in self.listed) if len(self.listed) > len(self.steps) else None

    @property
    def all_proved(self) -> bool:
        """Whether all that was asked is."""
        return self.proved and self.of_every_length is not False

    @property
    def claim(self) -> str:
        """What is shown, for every V."""
        shown = _CLAIM[self.theorem.kind].format(other=self.other.label if self.other else "")
        return f"{shown} for every p and q with full support and every V, at {self.theorem.scheme}"

    def as_json(self) -> dict[str, Any]:
        """The fields that programs read."""
        return {
            "verifier": self.named.label,
            "identity": self.named.identity,
            "other": None if self.other is None else self.other.label,
            "relation": None if self.other is None else self.theorem.kind,
            "vocab_size": "any",
            "scheme": self.theorem.scheme.as_dict(),
            "assumed": [SUPPORT, *([] if self.of_every_length is None else [ALIKE])],
            "proved": self.proved,
            "every_length": self.of_every_length,
            "seconds": round(self.seconds, 3),
            "versions": versions(),
        }


def prove_every_size(
    request: Request, kind: str, other: NamedVerifier | None, every_length: bool, certificate: str | None
) -> EverySize | Report | Related:
    """Prove it, or refute it at the smallest vocabulary size. certificate: the file for it."""
    if every_length and other is not None:
        raise InvalidInput("every_length is about losslessness; leave equals and dominates out")
    theorem = theorem_of(request, kind, other)  # what it cannot be about is refused before the work
    if every_length:
        hypotheses_of(theorem)
    for size in TRIED if other is None else ():
        points = try_points(request, size)
        if points is not None and not points.holds:
            return run_proof(replace(request, vocab_size=size))
    proof = run(request, kind, other, every_length, records=certificate is not None)
    if proof.proved and certificate is not None:
        remark("the proof is written as sums and products, which takes as long again, or several times as long")
        write_whole(certificate, json.dumps(certificate_for(proof), separators=(",", ":")) + "\n")
    if other is not None and not proof.proved:
        return refuted_relation(request, kind, other) or proof
    return proof


def refuted_relation(request: Request, kind: str, other: NamedVerifier) -> Related | None:
    """A relation with a witness at the smallest vocabulary size; None if none was found."""
    for size in TRIED_AFTER:
        remark(f"not proved; a witness is looked for at V = {size}, for about {SEARCHED:.0f} s at most")
        try:
            related = relate_two(replace(request, vocab_size=size), kind, other, seconds=SEARCHED)
        except TooLarge as error:
            remark(f"no witness was found: {error}")
            return None
        if related.relation.counterexample is not None:
            return related
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
    try:
        return certificate_of(proof.theorem, proof.steps, proof.about)
    except NotWritten as error:
        raise InvalidInput(
            f"{proof.named.label} is proved, but without a certificate: {error}; take a smaller tree, or leave the "
            "certificate out"
        ) from None


def title_of(name: str, branches: int, step: Step) -> str:
    """What a step is about: after how many tokens, or which hypothesis."""
    if not name:
        return f"after {counted(len(step.context), 'token')}"
    return f"{branches} branch{'es' * (branches > 1)}: {name}"
