"""Hypotheses about rows that are processed (by temperature, top-k, top-p) in one place and not in another."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.audit.diagnosis.evidence import Evidence, first_token, law_is_that_of
from draftproof.simulator.audit.diagnosis.references import Blockwise, Recursive, TokenWise
from draftproof.simulator.audit.followed import rows_from
from draftproof.simulator.audit.judge import Finding
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import tabulate, telling
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.protocol import Card, Coin, DraftNode, Verdict, Verifier
from draftproof.simulator.tables import TableProcess
from draftproof.simulator.user_code import NodeView

#: Rows up to this far apart are the same: those of a processing are floats.
SAME = 1e-8
#: Deviations must be at least this many times `SAME`; otherwise p itself would fit as well.
TELLING = 100


@cache
def candidates(size: int) -> tuple[Sampling, ...]:
    """Processings that are tried on rows of so many tokens: temperatures in hundredths, every top-k, usual others."""
    hundredths = [Sampling(temperature=step / 100) for step in range(5, 301) if step != 100]
    others = [Sampling(0), *(Sampling(top_k=count) for count in range(1, size))]
    others += [Sampling(top_p=mass) for mass in (0.5, 0.8, 0.9, 0.95)] + [Sampling(bits=bits) for bits in range(1, 9)]
    return (*hundredths, *others)


@dataclass(frozen=True)
class Reprocessed:
    """A verifier that is shown other rows than those that the drafts come from.

    names: which of "target" and "draft" it is shown from `rows`.
    """

    verifier: Verifier
    rows: Instance
    names: tuple[str, ...]

    @property
    def card(self) -> Card:
        """That of the verifier."""
        return self.verifier.card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        return self.verifier.verify(NodeView(root, rows_from(self.rows, *self.names)), coin)


def _has_law_of(finding: Finding, processing: Sampling, bonus: bool) -> bool:
    """Whether the block has the law of `p` processed like this. bonus: only after the last draft."""
    tables = processing.instance(finding.instance).target.tables[: finding.law.depth + 1]
    if bonus:
        tables = [*finding.target.tables[: finding.law.depth], tables[-1]]
    law = BlockLaw(list(map(_floats, finding.law.correction)), FLOAT64)
    return bool(law.max_deviation(TableProcess(list(map(_floats, tables)), "target")) <= SAME)


def _floats(values: Any) -> Any:
    """An array of floats in place of exact numbers."""
    return np.array(values, dtype=object).astype(float)


def _same(rows: Any, others: Any) -> bool:
    return bool((abs(_floats(rows) - _floats(others)) <= SAME).all())


def _processings(finding: Finding, bonus: bool) -> Iterator[Sampling]:
    """Processings of `p` that give the law of the first token; or of the one after all drafts."""
    law, depth = finding.law, finding.law.depth if bonus else 0
    context = int(np.argmax(law.reach[depth]))
    raw = _floats(finding.instance.target.tables[depth][context])
    made = _floats(law.correction[depth][context]) if bonus else _floats(first_token(finding))
    for processing in candidates(len(raw)) if made.sum() > 0 else ():
        if _same(processing.rows(raw[None])[0] * made.sum(), made):
            yield processing


def _draft_temperatures(evidence: Evidence) -> Iterator[Sampling]:
    """Temperatures of the `q` with which a token-by-token verifier would accept the first draft as often."""
    finding, draft = evidence.finding, evidence.draft_row
    if draft is None or not finding.law.depth or not _is_telling(evidence):
        return
    p, q, accepted = _floats(finding.target.row(())), _floats(draft), _floats(finding.law.reach[1])
    for processing in candidates(len(q)):
        if processing.temperature > 0 and processing.temperature != 1:
            judged = processing.rows(q[None])[0]
            ratios = np.divide(p, judged, out=np.ones_like(p), where=judged > 0)
            if _same(q * ratios.clip(max=1), accepted):
                yield processing


#: What may be raw, in the words of the report.
_RAW = {("draft",): "q raw and p processed", ("target",): "p raw and q processed", ("target", "draft"): "raw rows"}
_VERIFIERS: tuple[tuple[str, Verifier], ...] = (
    ("token-by-token verification", TokenWise()),
    ("block verification", Blockwise()),
    ("recursive rejection", Recursive()),
)


def processed_target(evidence: Evidence) -> str | None:
    """The block has the law of `p` at another temperature, or of its top tokens, on every compared instance."""
    processing = _processing(evidence, bonus=False)
    return f"the whole block has the law of p with {processing}" if processing else None


def processed_bonus(evidence: Evidence) -> str | None:
    """Only the token after the last draft has the law of `p` at another temperature, or of its top tokens."""
    processing = _processing(evidence, bonus=True)
    return f"that token has the law of p with {processing}, and everything before it is right" if processing else None


def _processing(evidence: Evidence, bonus: bool) -> Sampling | None:
    if not evidence.audit.processing.is_identity or evidence.audit.batch > 1 or not _is_telling(evidence):
        return None
    for processing in _processings(evidence.finding, bonus):
        if all(_has_law_of(item, processing, bonus) for item in evidence.compared):
            return processing
    return None


def _is_telling(evidence: Evidence) -> bool:
    return float(evidence.finding.check.max_deviation) > TELLING * SAME


def told_otherwise(evidence: Evidence) -> str | None:
    """The function is handed another `q` than the drafts come from, and is lossless once it is handed that one."""
    instance = evidence.finding.instance

    def with_true_q(at: Instance) -> Instance:
        return replace(at, draft=telling(at.draft, None))

    if instance.draft.told is None or not evidence.lossless_if("told", changed=with_true_q):
        return None
    told = tabulate(instance.draft.told, instance.draft.depth, instance.draft.arithmetic)
    after, before = _relation(instance.draft, told), _relation(told, instance.draft)
    what = "other rows are handed over than those that drafts come from"
    if before is not None:
        what = f"drafts come from q at {before}, but q without it is handed over"
    elif after is not None:
        what = f"q at {after} is handed over, but drafts come from q without it"
    return f"{what}; handed the q that drafts come from, it is lossless"


def _relation(before: TableProcess, after: TableProcess) -> Sampling | None:
    """The sampling by which the second rows come from the first, if it is a common one."""
    pairs = list(zip(before.tables, after.tables, strict=True))
    fitting = (one for one in candidates(before.vocab_size) if all(_same(one.rows(raw), rows) for raw, rows in pairs))
    return next(fitting, None)


def judged_otherwise(evidence: Evidence) -> str | None:
    """The law is that of a verifier that sees other rows than those that the drafts come from."""
    if evidence.audit.batch > 1:
        return None
    if not evidence.audit.processing.is_identity:
        for names, text in _RAW.items():
            for verifier_name, verifier in _VERIFIERS:
                if evidence.behaves_like(_shown(verifier, names, evidence.given_rows)):
                    return law_is_that_of(f"{verifier_name} with {text}")
        return None
    for processing in _draft_temperatures(evidence):
        if evidence.behaves_like(_shown(TokenWise(), ("draft",), partial(_processed, evidence, processing))):
            return law_is_that_of(
                f"token-by-token verification with q at {processing}, where the drafts come from q itself"
            )
    return None


def bonus_unprocessed(evidence: Evidence) -> str | None:
    """The token after the last draft is drawn from `p` as it is given, all else from processed rows."""
    if evidence.audit.processing.is_identity or evidence.audit.batch > 1:
        return None

    def rows(finding: Finding) -> Instance:
        raw = evidence.given_rows(finding)
        processed = evidence.audit.processed(raw)
        tables = [*processed.target.tables[:-1], raw.target.tables[-1]]
        return replace(processed, target=TableProcess(tables, "target"))

    for name, verifier in _VERIFIERS:
        if evidence.behaves_like(_shown(verifier, ("target",), rows)):
            return law_is_that_of(f"{name} that draws the token after the last draft from p without the processing")
    return None


def _shown(
    verifier: Verifier, names: tuple[str, ...], rows: Callable[[Finding], Instance]
) -> Callable[[Finding], Verifier]:
    return lambda finding: Reprocessed(verifier, rows(finding), names)


def _processed(evidence: Evidence, processing: Sampling, finding: Finding) -> Instance:
    return evidence.given_rows(replace(finding, instance=processing.instance(finding.instance)))
