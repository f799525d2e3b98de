"""Hypotheses about rows that are processed in one place and not in another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from draftproof.simulator.audit.diagnosis.evidence import Evidence
from draftproof.simulator.audit.diagnosis.many_paths import Recursive
from draftproof.simulator.audit.diagnosis.processings import FITTED, Reprocessed, draft_temperatures, meets, processings
from draftproof.simulator.audit.diagnosis.references import Blockwise, TokenWise
from draftproof.simulator.audit.judge import Finding
from draftproof.simulator.audit.processing import Processing
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import Verifier

#: So many times what a fit leaves must be wrong before a fit can tell anything.
TELLING = 100
#: What may be raw, in the words of the report.
_RAW = {("draft",): "q raw and p processed", ("target",): "p raw and q processed", ("target", "draft"): "raw rows"}
_VERIFIERS: tuple[tuple[str, Verifier], ...] = (
    ("token-by-token verification", TokenWise()),
    ("block verification", Blockwise()),
    ("recursive rejection", Recursive()),
)


def processed_target(evidence: Evidence) -> str | None:
    """The block has the law of `p` at another temperature, or of its top tokens, on every compared instance."""
    if not evidence.audit.processing.nothing or evidence.audit.batch > 1:
        return None
    if not float(evidence.finding.check.max_deviation) > TELLING * FITTED:  # p itself would fit as well
        return None
    for processing in processings(evidence.finding):
        if all(meets(item, processing) for item in evidence.compared):
            return f"the whole block has the law of p with {_words(processing)}"
    return None


def judged_otherwise(evidence: Evidence) -> str | None:
    """The law is that of a verifier that sees other rows than those that the drafts come from."""
    if evidence.audit.batch > 1:
        return None
    if not evidence.audit.processing.nothing:
        for names, text in _RAW.items():
            for verifier_name, verifier in _VERIFIERS:
                if evidence.behaves_like(_shown(verifier, names, partial(_raw, evidence))):
                    return f"its law is, number by number, that of {verifier_name} with {text}"
        return None
    draft = evidence.draft_row
    if not float(evidence.finding.check.max_deviation) > TELLING * FITTED:
        return None
    for temperature in draft_temperatures(evidence.finding, draft) if draft is not None else ():
        rows = partial(_tempered, evidence, Processing(temperature=temperature))
        if evidence.behaves_like(_shown(TokenWise(), ("draft",), rows)):
            return (
                "its law is, number by number, that of token-by-token verification with q at temperature "
                f"{temperature:.6g}, where the drafts come from q itself"
            )
    return None


def _shown(
    verifier: Verifier, names: tuple[str, ...], rows: Callable[[Finding], Instance]
) -> Callable[[Finding], Verifier]:
    return lambda finding: Reprocessed(verifier, rows(finding), names)


def _raw(evidence: Evidence, finding: Finding) -> Instance:
    return finding.instance.converted(evidence.audit.audited.rows.kind.arithmetic, finding.scheme.depth)


def _tempered(evidence: Evidence, processing: Processing, finding: Finding) -> Instance:
    return _raw(evidence, replace(finding, instance=processing.instance(finding.instance)))


def _words(processing: Processing) -> str:
    names = {"temperature": processing.temperature, "top-k": processing.top_k, "top-p": processing.top_p}
    return ", ".join(f"{name} {value:.6g}" for name, value in names.items() if value is not None)
