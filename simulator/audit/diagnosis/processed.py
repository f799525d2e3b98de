"""Hypotheses about rows that are processed (by temperature, top-k, top-p) in one place and not in another."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import log
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.audit.diagnosis.evidence import Evidence, first_token, law_is_that_of
from draftproof.simulator.audit.diagnosis.references import Blockwise, Recursive, TokenWise
from draftproof.simulator.audit.followed import rows_from
from draftproof.simulator.audit.judge import Finding
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.protocol import Card, Coin, DraftNode, Vector, Verdict, Verifier
from draftproof.simulator.tables import TableProcess
from draftproof.simulator.user_code import NodeView

#: The tolerance of balances with a fitted temperature: the fit is less precise than the rows.
FITTED = 1e-8
#: Nucleus masses that are tried; every temperature is a fit and every top-k is tried.
NUCLEI = (0.5, 0.8, 0.9, 0.95)
#: The range of fitted temperatures, and the number of points at which a sign change is searched.
COLDEST, HOTTEST, STEPS = 0.05, 20.0, 200


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


def has_law_of(finding: Finding, processing: Sampling, bonus: bool = False) -> bool:
    """Whether the block has the law of `p` processed like this, up to `FITTED`. bonus: only after the last draft."""
    tables = processing.instance(finding.instance).target.tables[: finding.law.depth + 1]
    if bonus:
        tables = [*finding.target.tables[: finding.law.depth], tables[-1]]
    law = BlockLaw(list(map(_floats, finding.law.correction)), FLOAT64)
    return bool(law.max_deviation(TableProcess(list(map(_floats, tables)), "target")) <= FITTED)


def _floats(values: Any) -> Any:
    """An array of floats in place of exact numbers."""
    return np.array(values, dtype=object).astype(float)


def processings(finding: Finding, bonus: bool = False) -> Iterator[Sampling]:
    """Processings of `p` that may give the law of the first token; or of the one after all drafts."""
    law, depth = finding.law, finding.law.depth if bonus else 0
    context = int(np.argmax(law.reach[depth]))
    raw = _floats(finding.instance.target.tables[depth][context])
    emitted = _floats(law.correction[depth][context] if bonus else first_token(finding))
    for temperature in _fitted(raw, emitted):
        yield Sampling(temperature=temperature)
    for kept in range(1, len(raw)):
        yield Sampling(top_k=kept)
    for mass in NUCLEI:
        yield Sampling(top_p=mass)


def _fitted(raw: Any, other: Any) -> Iterator[float]:
    """The temperature that makes two entries of a row those of another, if any does."""
    pairs = [(a, b) for a in range(len(raw)) for b in range(a) if min(raw[a], raw[b], other[a], other[b]) > 0]
    apart = [(a, b) for a, b in pairs if raw[a] != raw[b] and abs(log(other[a] / other[b])) > FITTED]
    for a, b in apart[:1]:
        temperature = log(raw[a] / raw[b]) / log(other[a] / other[b])
        if temperature > 0:
            yield _short(temperature)


def draft_temperatures(finding: Finding, draft: Vector) -> Iterator[float]:
    """Temperatures of the `q` with which a token-by-token verifier would accept the first draft as often."""
    if not finding.law.depth:
        return
    p = [float(x) for x in finding.target.row(())]
    q = _floats(draft)
    for token, reach in enumerate(finding.law.reach[1]):
        if 0 < float(reach) < q[token] - FITTED and p[token] > 0:
            yield from _solutions(q, token, q[token] * p[token] / float(reach))
            return


def _solutions(q: Any, token: int, wanted_mass: float) -> Iterator[float]:
    """Temperatures at which `q` has that mass on a token, each to some twelve digits."""

    def off(temperature: float) -> float:
        powers = np.where(q > 0, q, 0) ** (1 / temperature)
        return float(powers[token] / powers.sum() - wanted_mass)

    edges = np.geomspace(COLDEST, HOTTEST, STEPS)
    for low, high in pairwise(edges):
        if off(low) * off(high) > 0:
            continue
        below, above = float(low), float(high)
        for _ in range(60):
            middle = (below + above) / 2
            below, above = (middle, above) if off(below) * off(middle) > 0 else (below, middle)
        yield _short(below)


def _short(temperature: float) -> float:
    """The temperature rounded to four digits, if it is within `FITTED` of that."""
    return round(temperature, 4) if abs(round(temperature, 4) - temperature) < FITTED else temperature


#: Deviations must be at least this many times `FITTED`; otherwise p itself would fit as well.
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
    processing = _processing(evidence)
    return f"the whole block has the law of p with {processing}" if processing else None


def processed_bonus(evidence: Evidence) -> str | None:
    """Only the token after the last draft has the law of `p` at another temperature, or of its top tokens."""
    processing = _processing(evidence, bonus=True)
    return f"that token has the law of p with {processing}, and everything before it is right" if processing else None


def _processing(evidence: Evidence, bonus: bool = False) -> Sampling | None:
    if not evidence.audit.processing.is_identity or evidence.audit.batch > 1:
        return None
    if not float(evidence.finding.check.max_deviation) > TELLING * FITTED:
        return None
    for processing in processings(evidence.finding, bonus):
        if all(has_law_of(item, processing, bonus) for item in evidence.compared):
            return processing
    return None


def told_otherwise(evidence: Evidence) -> str | None:
    """The function is handed another `q` than the drafts come from, and is lossless once it is handed that one."""
    instance = evidence.finding.instance
    if instance.draft.told is None or not evidence.lossless_if(evidence.with_true_q):
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
    row, other = (_floats(process.row(())) for process in (before, after))
    candidates = [Sampling(0), *(Sampling(top_k=kept) for kept in range(1, before.vocab_size))]
    candidates += [Sampling(top_p=mass) for mass in NUCLEI] + [Sampling(bits=bits) for bits in range(1, 9)]
    candidates += [Sampling(temperature=fit) for fit in _fitted(row, other)]
    for sampling in candidates:
        made = sampling.process(before)
        assert isinstance(made, TableProcess)
        pairs = zip(made.tables, after.tables, strict=True)
        if all((abs(ours - theirs).astype(float) <= FITTED).all() for ours, theirs in pairs):
            return sampling
    return None


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
    draft = evidence.draft_row
    if not float(evidence.finding.check.max_deviation) > TELLING * FITTED:
        return None
    for temperature in draft_temperatures(evidence.finding, draft) if draft is not None else ():
        rows = partial(_tempered, evidence, Sampling(temperature=temperature))
        if evidence.behaves_like(_shown(TokenWise(), ("draft",), rows)):
            return law_is_that_of(
                f"token-by-token verification with q at temperature {temperature:.6g}, where the drafts come from q "
                "itself"
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


def _tempered(evidence: Evidence, processing: Sampling, finding: Finding) -> Instance:
    return evidence.given_rows(replace(finding, instance=processing.instance(finding.instance)))
