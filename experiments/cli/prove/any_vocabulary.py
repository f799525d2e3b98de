"""`draftproof prove --vocab any`: one verifier at one scheme, for every vocabulary size and all p and q."""

import json
import time
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from draftproof.experiments.cli.prove import relating, views, work
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.shared.output import write_json, write_whole
from draftproof.experiments.shared.progress import bar, named_errors, remark
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.theorems.any_vocabulary import depth
from draftproof.simulator.theorems.any_vocabulary.certificate import NotWritten, certificate_of
from draftproof.simulator.theorems.any_vocabulary.sums import Account
from draftproof.simulator.theorems.any_vocabulary.theorem import LOSSLESS, Step, Theorem
from draftproof.simulator.theorems.proof.relations import DOMINATES, EQUALS
from draftproof.verifiers.layer_transport import LayerTransport

#: Vocabulary sizes at which a witness is looked for first, smallest first.
TRIED = (2, 3, 4)
#: What every theorem for every V assumes, and what a proof for every length assumes of the code.
SUPPORT = "p and q have full support"
ALIKE = (
    "verify treats all nodes alike, by one score, also those further below, and sees of a subtree of several layers no "
    "more than of one: whether it is rejected"
)
#: Most characters of a reason, and what its variables are.
REASON = 300
VARIABLES = "p and q of the context, of the token after it and of drafted tokens, or sums of them over others"
#: Most seconds in which a witness against a relation is looked for at one vocabulary size.
SEARCHED = 60.0


@dataclass
class Report:
    """The answer. steps: one for each length of the named context."""

    theorem: Theorem
    named: NamedVerifier
    other: NamedVerifier | None
    steps: list[Step] = field(default_factory=list)
    hypotheses: list[tuple[str, int, Step]] = field(default_factory=list)
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
    def proved(self) -> bool:
        """Whether every step is."""
        return all(step.proved for step in self.steps)

    @property
    def of_every_length(self) -> bool | None:
        """Whether the hypotheses of the induction are proved, too; None if that was not asked."""
        return self.proved and all(step.proved for _, _, step in self.hypotheses) if self.hypotheses else None

    @property
    def all_proved(self) -> bool:
        """Whether all that was asked is."""
        return self.proved and self.of_every_length is not False

    def as_json(self) -> dict[str, Any]:
        """The fields that programs read."""
        return {
            **self.about,
            "kind": self.theorem.kind,
            "assumed": [SUPPORT, *([ALIKE] if self.hypotheses else [])],
            "verdict": "proved" if self.proved else "open",
            "every_length": self.of_every_length,
            "steps": [{"depth": len(step.context), **_fields(step)} for step in self.steps],
            "hypotheses": [
                {"hypothesis": name, "branches": branches, **_fields(step)} for name, branches, step in self.hypotheses
            ],
            "seconds": round(self.seconds, 3),
            "versions": versions(),
        }


def _fields(step: Step) -> dict[str, Any]:
    return {
        "proved": step.proved,
        "cases": len(step.cases),
        "failed": len(step.failed),
        "runs": step.account.runs,
        "inner_cases": step.account.cases,
        "equations": step.account.equations,
        "solver_questions": step.asked,
        "reason": step.reason,
    }


def run(
    request: work.Request,
    kind: str,
    other: NamedVerifier | None,
    every_length: bool = False,
    records: bool = False,
) -> Report:
    """Try to prove a theorem. Raises `InvalidInput` for what it cannot be about, `NotFollowed` with a line of code.

    records: keep every sum, for a certificate.
    """
    work.assert_provable([request.named, *([] if other is None else [other])])
    report = Report(theorem_of(request, kind, other), request.named, other)
    start = time.process_time()
    lengths = list(report.theorem.depths)
    account = Account()

    def counted(current: Account) -> None:
        nonlocal account
        account = current

    def detail() -> str:
        return f"{account.runs:,} runs of the code, {account.cases:,} cases"

    hypotheses = hypotheses_of(report.theorem) if every_length else []
    label = f"{request.named.label}, every V, {request.scheme}"
    try:
        with named_errors(request.named.label), bar(label, len(lengths) + len(hypotheses), detail=detail) as tick:
            for length in lengths:
                report.steps.append(report.theorem.step(length, counted, records))
                tick(1)
            for name, branches, proof in hypotheses:
                report.hypotheses.append((name, branches, proof()))
                tick(1)
    except RecursionError as error:
        raise TooLarge(f"{request.scheme} is too large for this; take fewer or shorter branches") from error
    report.seconds = time.process_time() - start
    return report


def hypotheses_of(theorem: Theorem) -> list[depth.Hypothesis]:
    """What an induction over the depth needs, with its proofs; raises `InvalidInput` for trees that are not delayed."""
    if not isinstance(theorem.scheme, Delayed):
        raise InvalidInput(f"--every-length is about delayed trees, not {theorem.scheme}")
    return depth.hypotheses(theorem.verifier, theorem.scheme.K)


def theorem_of(request: work.Request, kind: str, other: NamedVerifier | None) -> Theorem:
    """The theorem about these verifiers; raises `InvalidInput` for a selection, which has no law by classes."""
    scheme, verifier = request.scheme, request.named.verifier
    if isinstance(verifier, LayerTransport) and isinstance(scheme, Delayed) and scheme.K > 1:
        raise InvalidInput(
            f"{request.named.label} with 2 or more branches is not proved for every V; take --vocab 2 or --vocab 3, "
            "with --free solver"
        )
    return Theorem(kind, scheme, verifier, None if other is None else other.verifier)


@dataclass(frozen=True)
class Asked:
    """What the command was asked: the theorem, and where its answers go. relation: its kind and the other verifier."""

    request: work.Request
    relation: tuple[str, NamedVerifier] | None
    every_length: bool
    certificate: str | None
    witness: str | None
    json_target: str | None


def answer(console: Console, asked: Asked) -> int:
    """Prove it or refute it at the smallest vocabulary size, show that, and return the exit code."""
    kind, other = asked.relation or (LOSSLESS, None)
    theorem = theorem_of(asked.request, kind, other)  # what it cannot be about is refused before the work
    if asked.every_length:
        hypotheses_of(theorem)
    if kind == LOSSLESS:
        for size in TRIED:
            larger = work.try_points(asked.request, size)
            if larger is not None and not larger.holds:
                refuted = work.run_proof(replace(asked.request, vocab_size=size))
                console.print(f"at V = {size} it is not lossless:")
                return views.show_report(console, refuted, asked.witness, asked.json_target)
    records = asked.certificate is not None
    report = run(asked.request, kind, other, asked.every_length, records)
    if report.proved and asked.certificate is not None:
        remark("the proof is written as sums and products, which takes as long again, or several times as long")
        write_whole(asked.certificate, json.dumps(certificate(report), separators=(",", ":")) + "\n")
    if other is not None and not report.proved:
        related = _refuted_relation(asked, kind, other)
        if related is not None:
            console.print(f"at V = {related.request.vocab_size}:")
            return views.show_relation(console, related, asked.witness, asked.json_target)
    _show(console, report)
    write_json(asked.json_target, report.as_json())
    return views.CODES["proved" if report.all_proved else "open"]


def _refuted_relation(asked: Asked, kind: str, other: NamedVerifier) -> relating.Related | None:
    """A relation with a witness at the smallest vocabulary size; None if none was found."""
    for size in TRIED[:2]:
        remark(f"not proved; a witness is looked for at V = {size}, for about {SEARCHED:.0f} s at most")
        request = replace(asked.request, vocab_size=size)
        try:
            related = relating.relate_two(request, kind, other, None, 1, Store(None), SEARCHED)
        except TooLarge as error:
            remark(f"no witness was found: {error}")
            return None
        if related.relation.counterexample is not None:
            return related
    remark("no witness was found: neither proved nor refuted")
    return None


def certificate(report: Report) -> dict[str, Any]:
    """The certificate of a theorem that was proved; raises `InvalidInput` where it has none."""
    try:
        return certificate_of(report.theorem, report.steps, report.about)
    except NotWritten as error:
        raise InvalidInput(
            f"{report.named.label} is proved, but without a certificate: {error}; take a smaller tree, or prove it "
            "without --certificate"
        ) from None


_CLAIM = {
    LOSSLESS: "LOSSLESS",
    EQUALS: "HAS THE LAW OF {other}",
    DOMINATES: "KEEPS EVERY DRAFTED PREFIX AT LEAST AS OFTEN AS {other}",
}


def claim(report: Report) -> str:
    """What a report shows, for every V."""
    shown = _CLAIM[report.theorem.kind].format(other=report.other.label if report.other else "")
    return f"{shown} for every p and q with full support and every V, at {report.theorem.scheme}"


def _show(console: Console, report: Report) -> None:
    shown = claim(report)
    verdict = (shown, "bold green") if report.proved else (f"NOT PROVED: {shown}", "bold yellow")
    console.print(Text(f"{report.named.label}: ").append(*verdict))
    for step in report.steps:
        _show_step(console, f"after {len(step.context)} token{'s' * (len(step.context) != 1)}", step)
    if report.hypotheses:
        console.print(
            f"  {'for' if report.of_every_length else 'NOT PROVED, as a step below is not shown: for'} every depth, if "
            f"{ALIKE}. Read that in the code: it is NOT proved.",
            soft_wrap=True,
        )
    titled = [(_title(*hypothesis), hypothesis[-1]) for hypothesis in report.hypotheses]
    for title, together in groupby(titled, key=lambda each: each[0]):
        steps = [step for _, step in together]
        for number, step in enumerate(steps, 1):
            _show_step(console, title + f", sum {number} of {len(steps)}" * (len(steps) > 1), step)
    console.print(f"  {report.seconds:.1f} s of processor time")


def _title(name: str, branches: int, step: Step) -> str:
    """What a hypothesis is about."""
    part = ": its balance" if step.token is not None else ": accepted with that probability"
    if name == depth.CUT:
        part = ", below one token" * bool(step.context)
    return f"{branches} branch{'es' * (branches > 1)}: {name}{part}"


def _show_step(console: Console, title: str, step: Step) -> None:
    counted = (
        (len(step.cases), "case"),
        (step.account.runs, "run"),
        (step.account.equations, "function"),
        (step.asked, "question"),
    )
    cases, runs, functions, questions = (f"{count} {what}{'s' * (count != 1)}" for count, what in counted)
    failed = len(step.failed)
    state = "" if step.proved else ", not shown" if step.reason else f", not so in {failed} case{'s' * (failed > 1)}"
    console.print(
        f"  {title}: {cases}, {runs} of the code, {functions} compared, {questions} to z3{state}", soft_wrap=True
    )
    if step.reason:
        reason = step.reason if len(step.reason) <= REASON else f"{step.reason[:REASON]} ..."
        console.print(f"    {reason}\n    (p0, q0, p1, ..: {VARIABLES})", soft_wrap=True)
