"""`draftproof prove --vocab any`: one verifier at one scheme, for every vocabulary size and all p and q."""

import json
import time
from dataclasses import dataclass, field, replace
from typing import Any

from rich.console import Console
from rich.text import Text

from draftproof.experiments.cli.prove import relating, views, work
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned
from draftproof.experiments.shared.output import write_json, write_whole
from draftproof.experiments.shared.progress import bar, named_errors
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.theorems.algebra.oracle import solver_module
from draftproof.simulator.theorems.any_vocabulary.certificate import certificate_of
from draftproof.simulator.theorems.any_vocabulary.theorem import (
    LOSSLESS,
    Step,
    Theorem,
    expected_length,
)
from draftproof.simulator.theorems.certificate.formulas import condition_text
from draftproof.simulator.theorems.proof.relations import DOMINATES, EQUALS

#: Vocabulary sizes at which a witness is looked for first, smallest first.
TRIED = (2, 3, 4)


@dataclass
class Report:
    """The answer. steps: one for each length of the named context; length: block efficiency, where it was asked for."""

    theorem: Theorem
    named: NamedVerifier
    other: NamedVerifier | None
    steps: list[Step] = field(default_factory=list)
    length: Step | None = None
    seconds: float = 0.0

    @property
    def about(self) -> dict[str, Any]:
        """What the theorem is about."""
        return {
            "verifier": self.named.identity,
            "other": None if self.other is None else self.other.identity,
            "vocab_size": "any",
            "scheme": self.theorem.scheme.as_dict(),
        }

    @property
    def proved(self) -> bool:
        """Whether every step is."""
        return all(step.proved for step in self.steps)

    def as_json(self) -> dict[str, Any]:
        """The fields that programs read."""
        steps = [
            {
                "depth": len(step.context),
                "proved": step.proved,
                "cases": len(step.cases),
                "failed": len(step.failed),
                "runs": step.account.runs,
                "inner_cases": step.account.cases,
                "equations": step.account.equations,
                "solver_questions": step.asked,
                "reason": step.reason,
            }
            for step in self.steps
        ]
        return {
            **self.about,
            "kind": self.theorem.kind,
            "verdict": "proved" if self.proved else "open",
            "steps": steps,
            "block_efficiency": None if self.length is None else lengths(self.length),
            "seconds": round(self.seconds, 3),
            "versions": versions(),
        }


def run(
    request: work.Request,
    kind: str,
    other: NamedVerifier | None,
    formula: bool,
    certificate: str | None,
) -> Report:
    """Try to prove a theorem. Raises `InvalidInput` for what it cannot be about, `NotFollowed` with a line of code."""
    for each in (request.named, *([] if other is None else [other])):
        if isinstance(each.verifier, Planned):
            raise InvalidInput(f"{each.spec} is computed for one instance, so no theorem covers all p and q")
    solver_module()
    report = Report(theorem_of(request.scheme, kind, request.named, other), request.named, other)
    start = time.process_time()
    depths = list(report.theorem.depths)
    with (
        named_errors(request.named.label),
        bar(f"{request.named.label}, every V, {request.scheme}", len(depths)) as tick,
    ):
        for depth in depths:
            report.steps.append(report.theorem.step(depth))
            tick(1)
        if formula:
            report.length = expected_length(request.named.verifier, request.scheme)
    report.seconds = time.process_time() - start
    if certificate is not None and report.proved:
        fields = certificate_of(report.theorem, report.steps, report.about)
        write_whole(certificate, json.dumps(fields, separators=(",", ":")) + "\n")
    return report


def theorem_of(scheme: DraftScheme, kind: str, named: NamedVerifier, other: NamedVerifier | None) -> Theorem:
    """The theorem about these verifiers."""
    return Theorem(kind, scheme, named.verifier, None if other is None else other.verifier)


def lengths(step: Step) -> list[dict[str, Any]]:
    """Block efficiency in every case: formula, and what the sums in it are about."""
    found = []
    for case, draft in step.cases:
        classes = [
            {
                "p": known.target.key,
                "q": known.draft.key,
                "tokens": [_about_class(each) for each in known.thresholds.values()],
            }
            for known in case.classes.values()
            if known.row == () and known.thresholds
        ]
        found.append({"formula": draft.value.key, "classes": classes})
    return found


def _about_class(threshold: Any) -> str:
    ratio = threshold.ratio.key
    text = condition_text("p - q", threshold.mask)
    return text if ratio == "1" else text.replace("q", f"q*({ratio})")


@dataclass(frozen=True)
class Asked:
    """What the command was asked: the theorem, and where its answers go. relation: its kind and the other verifier."""

    request: work.Request
    relation: tuple[str, NamedVerifier] | None
    formula: bool
    certificate: str | None
    verify: str | None
    witness: str | None
    json_target: str | None


def answer(console: Console, asked: Asked) -> int:
    """Prove it or refute it at the smallest vocabulary size, show that, and return the exit code."""
    kind, other = asked.relation or (LOSSLESS, None)
    if asked.verify is not None:
        return _verify(console, asked, kind, other, asked.verify)
    if kind == LOSSLESS:
        for size in TRIED:
            larger = work.try_points(asked.request, size)
            if larger is not None and not larger.holds:
                console.print(f"at V = {size} it is not lossless:")
                refuted = work.run_proof(replace(asked.request, vocab_size=size))
                return views.show_report(console, refuted, asked.witness, asked.json_target)
    report = run(asked.request, kind, other, asked.formula, asked.certificate)
    if other is not None and not report.proved:
        for size in TRIED[:2]:
            related = relating.relate_two(replace(asked.request, vocab_size=size), kind, other, None, 1, Store(None))
            if related.relation.counterexample is not None:
                console.print(f"at V = {size}:")
                return views.show_relation(console, related, asked.witness, asked.json_target)
    _show(console, report)
    write_json(asked.json_target, report.as_json())
    return views.CODES["proved" if report.proved else "open"]


def _verify(console: Console, asked: Asked, kind: str, other: NamedVerifier | None, path: str) -> int:
    """Prove a theorem again and compare every function with those of a certificate; returns the exit code."""
    about = Report(theorem_of(asked.request.scheme, kind, asked.request.named, other), asked.request.named, other).about
    fields = work.certificate_about(path, {**about, "kind": kind})
    report = run(asked.request, kind, other, False, None)
    valid = report.proved and certificate_of(report.theorem, report.steps, report.about) == fields
    reason = "every sum is what the code computes" if valid else "its sums are not what the code computes"
    console.print(
        Text(f"certificate {'VALID' if valid else 'REJECTED'}: {reason}", "bold green" if valid else "bold red")
    )
    write_json(asked.json_target, {"valid": valid, "reason": reason})
    return 0 if valid else 1


_CLAIM = {
    LOSSLESS: "LOSSLESS",
    EQUALS: "HAS THE LAW OF {other}",
    DOMINATES: "KEEPS EVERY DRAFTED PREFIX AT LEAST AS OFTEN AS {other}",
}


def _show(console: Console, report: Report) -> None:
    claim = _CLAIM[report.theorem.kind].format(other=report.other.label if report.other else "")
    about = f"for every p and q with full support and every V, at {report.theorem.scheme}"
    title = Text(f"{report.named.label}: ")
    console.print(
        title.append(
            *((f"{claim} {about}", "bold green") if report.proved else (f"NOT PROVED: {claim} {about}", "bold yellow"))
        )
    )
    for step in report.steps:
        counts = (
            f"{len(step.cases)} cases, {step.account.runs} runs of the code, {step.account.equations} functions "
            f"compared, {step.asked} questions to the solver"
        )
        state = "" if step.proved else ", not shown" if step.reason else f", not zero in {len(step.failed)} of them"
        console.print(f"  after {len(step.context)} token{'s' * (len(step.context) != 1)}: {counts}{state}")
        if step.reason:
            console.print(f"    {step.reason[:300]}", soft_wrap=True)
    console.print(f"  {report.seconds:.1f} s")
    if report.length is not None:
        if report.length.reason:
            console.print(
                f"  block efficiency is no function of sums over tokens of one row: {report.length.reason[:200]}",
                soft_wrap=True,
            )
        for each in lengths(report.length):
            sums = "; ".join(
                f"{c['p']} and {c['q']} are P and Q of tokens with {' and '.join(c['tokens'])}" for c in each["classes"]
            )
            console.print(
                f"  block efficiency {each['formula']} where {sums or 'no token is compared'}", soft_wrap=True
            )
