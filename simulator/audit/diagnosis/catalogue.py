"""The catalogue of bugs: a name, a plain text and a test for each. A hypothesis that passes its test is reported.

Three kinds of tests, the strongest first. *Same law*: every number of the function's law is that of a verifier with
this one bug. *Counterfactual*: the function becomes lossless once the suspected cause is taken away. *Shape*: only
where the balance fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from simulator.audit.boundary import Corner
from simulator.audit.diagnosis.evidence import Evidence, Suspect
from simulator.audit.diagnosis.references import Blockwise, Corrections, Recursive, TokenWise
from simulator.audit.rounding import HALF, SINGLE, largest


@dataclass(frozen=True)
class Entry:
    """One bug. test: says why the evidence speaks for it, None if it does not."""

    name: str
    text: str
    test: Callable[[Evidence], str | None]


@dataclass(frozen=True)
class Hypothesis:
    """An entry that passed its test. reason: why, in words."""

    name: str
    text: str
    reason: str

    def __str__(self) -> str:
        return f"{self.text} ({self.reason})"


def diagnose(evidence: Evidence) -> list[Hypothesis]:
    """The entries of the catalogue that the evidence speaks for, the strongest first."""
    found = []
    for entry in CATALOGUE:
        reason = entry.test(evidence)
        if reason is not None:
            found.append(Hypothesis(entry.name, entry.text, reason))
    return found


def diagnose_corners(corners: Sequence[Corner]) -> list[Hypothesis]:
    """The entry for what happens at corner coins only."""
    for corner in corners:
        if corner.accepted and any(" = 0, " in event for event in corner.events):
            return [Hypothesis(ZERO_COIN.name, ZERO_COIN.text, str(corner))]
    return []


def _same_law(name: str, suspects: Sequence[Suspect]) -> Callable[[Evidence], str | None]:
    def test(evidence: Evidence) -> str | None:
        for suspect in (*suspects, *(each for each in evidence.known if each.name == name)):
            if evidence.behaves_like(suspect.verifier):
                return f"its law is, number by number, that of {suspect.text}"
        return None

    return test


def _from_target() -> Iterator[Suspect]:
    wrong = Corrections("target")
    name = "correction from p"
    yield Suspect(name, "token-by-token verification that corrects from p", TokenWise(wrong))
    yield Suspect(name, "block verification that corrects from p", Blockwise(wrong))
    yield Suspect(name, "recursive rejection that corrects from p", Recursive(wrong))


def _bonus() -> Iterator[Suspect]:
    for bonus in (-1, -2):
        text = f"token-by-token verification with the bonus row {-bonus} position{'s' * (bonus < -1)} too early"
        yield Suspect("bonus row", text, TokenWise(bonus=bonus))


def _shifted() -> Iterator[Suspect]:
    words = {"accept_p": "p where a draft is judged", "accept_q": "q where a draft is judged"}
    words |= {"correct_p": "p where a correction is drawn", "correct_q": "q where a correction is drawn"}
    groups = [[name] for name in words] + [["accept_p", "correct_p"], ["accept_q", "correct_q"]]
    groups += [["accept_p", "accept_q"], ["correct_p", "correct_q"], list(words)]
    for names, (step, wraps), bonus in product(groups, ((-1, False), (-1, True), (1, False)), (0, -1)):
        which = " and ".join(words[name] for name in names) + " and the bonus row" * bool(bonus)
        text = f"token-by-token verification with the row {step:+d} of {which}"
        shifts: dict[str, Any] = dict.fromkeys(names, step)
        yield Suspect("row off by one", text, TokenWise(**shifts, bonus=bonus, wraps=wraps))


def _unnormalised() -> Iterator[Suspect]:
    name = "missing renormalisation"
    for kind in ("last", "first"):
        corrections = Corrections(kind)
        text = f"corrects from (p - q)+ as it is, what is missing to 1 going to the {kind} token"
        yield Suspect(name, f"token-by-token verification that {text}", TokenWise(corrections))
        yield Suspect(name, f"recursive rejection that {text}", Recursive(corrections))
        yield Suspect(name, f"recursive rejection that never normalises and {text}", Recursive(corrections, False))
    text = "recursive rejection that judges later drafts by (p - q)+ as it is"
    yield Suspect(name, text, Recursive(normalised=False))


def _uncapped() -> Iterator[Suspect]:
    text = "block verification whose last weight is the product of all ratios"
    yield Suspect("uncapped ratio", text, Blockwise(capped=False))


def _duplicates() -> Iterator[Suspect]:
    text = "recursive rejection whose ratio is multiplied by the number of duplicates"
    yield Suspect("duplicates counted twice", text, Recursive(counted=True))


def _untossed() -> Iterator[Suspect]:
    for kind in ("residual", "target"):
        text = f"accepting a token exactly where p >= q, correcting from {'p' if kind == 'target' else '(p - q)+'}"
        yield Suspect("acceptance without a coin", text, TokenWise(Corrections(kind), tossed=False))


def _weights() -> Iterator[Suspect]:
    yield Suspect("weights as probabilities", "block verification with that bug", Blockwise(weights=True))


def _relaxed(evidence: Evidence) -> str | None:
    """The weight `w` of the relaxation follows from one token with `p < q` at the root."""
    law, target = evidence.finding.law, evidence.finding.target
    draft = evidence.draft_row
    if law.depth == 0 or draft is None:
        return None
    for token, (p, q) in enumerate(zip(target.row(()), draft, strict=True)):
        if p < q and law.reach[1][token] > p:
            w = (q - law.reach[1][token]) / (q - p)
            found = Suspect(
                "relaxed acceptance", f"acceptance with 1 - w + w p/q, w = {float(w):.6g}", TokenWise(relaxed=w)
            )
            return _same_law(found.name, [found])(evidence)
    return None


def _reused(evidence: Evidence) -> str | None:
    for what, words in (("seeds", "every generator is its own"), ("fetches", "every coin is used once")):
        if evidence.mended(partial(evidence.fresh, what)):
            return f"it becomes lossless when {words}"
    return None


def _leaves(evidence: Evidence) -> str | None:
    if not evidence.audit.audited.interface.multi_path or not evidence.mended(evidence.grouped):
        return None
    return "it becomes lossless when paths with a common prefix are handed over side by side"


def _declared(evidence: Evidence) -> str | None:
    found = evidence.with_p_equal_q
    if not evidence.audit.audited.interface.drafts or found is None or found.lossless:
        return None
    place = found.first
    assert place is not None
    return (
        f"with p = q nothing is rejected, so that the block is the draft: after {place.context} token {place.token} is "
        f"then drafted with mass {float(place.found):.6g} where q gives {float(place.expected):.6g}"
    )


def _context(evidence: Evidence) -> str | None:
    if not evidence.mended(evidence.without_context):
        return None
    return "it is lossless where p and q are the same after every context, and only there"


def _shape_bonus(evidence: Evidence) -> str | None:
    finding = evidence.finding
    if (
        finding.check.lossless
        or finding.law.depth == 0
        or any(finding.at_depth(depth) for depth in range(finding.law.depth))
    ):
        return None
    return "only the token after the last accepted draft is wrong"


def _joint(evidence: Evidence) -> str | None:
    refuted = [each for each in evidence.findings if not each.check.lossless]
    if not refuted or any(each.at_depth(0) for each in evidence.findings):
        return None
    return "on every instance the first token has exactly the law p, and later ones do not"


def _requests(evidence: Evidence) -> str | None:
    if evidence.finding.dependence is None or not evidence.finding.check.lossless:
        return None
    return "every request by itself is lossless, their joint law is not the product"


def _largest(evidence: Evidence) -> float:
    """The largest deviation of any instance, or dependence of the requests of a batch."""
    return max(map(largest, evidence.findings))


def _single(evidence: Evidence) -> str | None:
    """Rows of float32 have this tolerance anyway, rationals have no rounding."""
    largest = _largest(evidence)
    if evidence.audit.audited.rows.kind.name != "float64" or not largest <= SINGLE:
        return None
    return f"no imbalance is larger than {largest:.1g}, as float32 leaves them; judge it with --arithmetic float32"


def _half(evidence: Evidence) -> str | None:
    largest = _largest(evidence)
    if evidence.audit.audited.rows.kind.arithmetic.exact or not SINGLE < largest <= HALF:
        return None
    return (
        f"no imbalance is larger than {largest:.1g}, as float16 may leave them; to be sure, have it compute in float32 "
        "and judge it with --arithmetic float32"
    )


def _first(*tests: Callable[[Evidence], str | None]) -> Callable[[Evidence], str | None]:
    return lambda evidence: next((reason for test in tests if (reason := test(evidence)) is not None), None)


#: The one entry that real coins cannot show; see `simulator.audit.boundary`.
ZERO_COIN = Entry(
    "zero coin", "`<=` where `<` belongs accepts a token of probability zero when the coin is exactly 0", lambda _: None
)

#: Every bug that an audit can put a name to, in the order in which hypotheses are reported.
CATALOGUE: Sequence[Entry] = (
    Entry("single precision", "the function computes in float32 by itself", _single),
    Entry("coin reuse", "one coin decides twice", _reused),
    Entry(
        "correction from p",
        "the correction after a rejection is drawn from p instead of the residual (p - q)+",
        _same_law("correction from p", list(_from_target())),
    ),
    Entry(
        "acceptance without a coin",
        "a draft is accepted or rejected without a coin",
        _same_law("acceptance without a coin", list(_untossed())),
    ),
    Entry(
        "bonus row",
        "the token after the last accepted draft is drawn from the row of another position",
        _first(_same_law("bonus row", list(_bonus())), _shape_bonus),
    ),
    Entry(
        "uncapped ratio",
        "the ratio of the whole path is not capped at 1 on the way",
        _same_law("uncapped ratio", list(_uncapped())),
    ),
    Entry(
        "weights as probabilities",
        "depths are accepted with the weights of block verification, which are no probabilities to accept with",
        _same_law("weights as probabilities", list(_weights())),
    ),
    Entry(
        "missing renormalisation",
        "what a rejection leaves of p is not divided by its sum",
        _same_law("missing renormalisation", list(_unnormalised())),
    ),
    Entry("order of leaves", "the paths of one subtree are left and come back to", _leaves),
    Entry(
        "duplicates counted twice",
        "a token that was drafted twice has its chance counted twice",
        _same_law("duplicates counted twice", list(_duplicates())),
    ),
    Entry("declared q", "the drafts are not drawn from the q that they are judged with", _declared),
    Entry("relaxed acceptance", "drafts are accepted more often than min(1, p/q)", _relaxed),
    Entry(
        "row off by one",
        "a row of another position is used, which shows only where p and q depend on the context",
        _first(_same_law("row off by one", list(_shifted())), _context),
    ),
    Entry("half precision", "the function computes in float16 by itself", _half),
    Entry("requests depend on each other", "requests of one batch share their randomness", _requests),
    Entry(
        "first token exact",
        "the first token is right and the joint law is wrong, which no test of single tokens can see",
        _joint,
    ),
    ZERO_COIN,
)
