"""The catalogue of bugs: a name, a plain text and a test for each. A hypothesis that passes its test is reported.

Three kinds of tests, the strongest first. *Same law*: every number of the function's law is that of a verifier with
this one bug. *Counterfactual*: the function becomes lossless once the suspected cause is taken away. *Shape*: only
where the balance fails.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from draftproof.simulator.audit.boundary import Corner
from draftproof.simulator.audit.diagnosis import signs, suspects
from draftproof.simulator.audit.diagnosis.evidence import Evidence, Suspect
from draftproof.simulator.audit.diagnosis.processed import (
    bonus_unprocessed,
    judged_otherwise,
    processed_target,
    told_otherwise,
)
from draftproof.simulator.audit.judge import Audit


@dataclass(frozen=True)
class Entry:
    """One bug. test: the reason why the evidence supports it, None where it does not.

    whole: whether it explains the whole law; only the first entry of this kind is reported.
    """

    name: str
    text: str
    test: signs.Test
    whole: bool = False


@dataclass(frozen=True)
class Hypothesis:
    """An entry that passed its test. reason: why, in words."""

    entry: Entry
    reason: str

    @property
    def name(self) -> str:
        """The bug."""
        return self.entry.name

    @property
    def text(self) -> str:
        """What the bug is."""
        return self.entry.text

    def __str__(self) -> str:
        return f"{self.text} ({self.reason})"


def diagnose(evidence: Evidence) -> list[Hypothesis]:
    """The entries of the catalogue that the evidence supports, the strongest first."""
    hypotheses: list[Hypothesis] = []
    explained = False
    for entry in CATALOGUE:
        reason = None if entry.whole and explained else entry.test(evidence)
        if reason is not None:
            hypotheses.append(Hypothesis(entry, reason))
            explained = explained or entry.whole
    return hypotheses


def decided_twice(audit: Audit, hypotheses: Sequence[Hypothesis]) -> list[str]:
    """The places where one random number of a refuted function decides twice, unless another cause is known."""
    named = {found.name for found in hypotheses} - {"first token exact"}
    return list(audit.audited.log.reuse) if not named or named & REUSES else []


def diagnose_corners(corners: Sequence[Corner]) -> list[Hypothesis]:
    """The hypothesis for findings at corner coins only, if there is one."""
    for corner in corners:
        if corner.accepted and any(" = 0, " in event for event in corner.events):
            return [Hypothesis(ZERO_COIN, str(corner))]
    return []


#: The entries about random numbers that decide twice.
REUSES = {"coin in the race", "coin reuse", "race numbers twice"}
#: The only entry that needs corner coins to be seen; see `draftproof.simulator.audit.boundary`.
ZERO_COIN = Entry(
    "zero coin", "`<=` where `<` belongs accepts a token of probability zero when the coin is exactly 0", lambda _: None
)


def _behaves(name: str, text: str, given: Iterable[Suspect]) -> Entry:
    """The entry of a bug for which verifiers with it are known: one of them has the whole law."""
    return Entry(name, text, signs.same_law(name, list(given)), whole=True)


#: Every bug that an audit can name, in the order in which hypotheses are reported.
CATALOGUE: Sequence[Entry] = (
    Entry("told q", "the function is handed another q than the drafts are drawn from", told_otherwise, whole=True),
    Entry("coin in the race", "a coin that accepts is a number of the race for the next token, too", signs.raced),
    Entry("constant seed", "random numbers are the same in every call", signs.seeded, whole=True),
    Entry("coin reuse", "one coin decides twice", signs.reused, whole=True),
    Entry("race numbers twice", "the random numbers of one race decide another one, too", signs.raced_twice),
    _behaves("acceptance without a coin", "a draft is accepted or rejected without a coin", suspects.untossed()),
    _behaves("p and q swapped", "a draft is accepted with min(1, q/p) instead of min(1, p/q)", suspects.swapped()),
    Entry(
        "deterministic drafts",
        "drafts that no random number chose are judged with p/q, as if they were drawn from q",
        signs.likeliest(signs.same_law("deterministic drafts", list(suspects.deterministic()))),
        whole=True,
    ),
    _behaves(
        "with-replacement rule",
        "a rule for independent drafts is used on drafts that are not",
        suspects.with_replacement(),
    ),
    _behaves(
        "without-replacement rule",
        "a rule for drafts without replacement is used on others",
        suspects.without_replacement(),
    ),
    _behaves(
        "correction from p",
        "the correction after a rejection is drawn from p instead of the residual (p - q)+",
        suspects.from_target(),
    ),
    _behaves(
        "softmax of the residual",
        "the correction is drawn from a softmax of the residual, whose entries are weights already",
        suspects.softmax(),
    ),
    _behaves(
        "sampled again",
        "a token drawn from p is compared with the draft, and where they differ another one is drawn in its place",
        suspects.sampled_again(),
    ),
    _behaves(
        "greedy bonus",
        "the token after the last accepted draft is the likeliest one, not a sample",
        suspects.greedy_bonus(),
    ),
    _behaves(
        "bonus row",
        "the token after the last accepted draft is drawn from the row of another position",
        suspects.bonus(),
    ),
    _behaves("draft row late", "the draft row of the step before is used", suspects.late_draft()),
    Entry("multiplied uniforms", "the uniforms are multiplied along the path", signs.multiplied, whole=True),
    _behaves(
        "longest of independent paths",
        "every path is tested by itself and the longest accepted one is taken, which prefers what is accepted easily",
        suspects.longest(),
    ),
    _behaves("uncapped ratio", "the ratio of the whole path is not capped at 1 on the way", suspects.uncapped()),
    _behaves(
        "weights as probabilities",
        "depths are accepted with the weights of block verification, which are no probabilities to accept with",
        suspects.weights(),
    ),
    _behaves(
        "missing renormalisation", "what a rejection leaves of p is not divided by its sum", suspects.unnormalised()
    ),
    _behaves(
        "duplicates counted twice", "a token that was drafted twice has its chance counted twice", suspects.duplicates()
    ),
    Entry("relaxed acceptance", "drafts are accepted more often than min(1, p/q)", signs.relaxed, whole=True),
    Entry(
        "row off by one",
        "a row or a token of another position is used, which shows only where p and q depend on the context",
        signs.first(signs.same_law("row off by one", list(suspects.shifted())), signs.context),
        whole=True,
    ),
    Entry("order of leaves", "the paths of one subtree are left and come back to", signs.leaves, whole=True),
    Entry(
        "processed target",
        "the block has the law of p processed, where p itself is to be met",
        processed_target,
        whole=True,
    ),
    Entry(
        "bonus row not processed",
        "the token after the last draft is drawn from a row that was not processed",
        bonus_unprocessed,
        whole=True,
    ),
    Entry("different processing", "p and q are not processed alike", judged_otherwise, whole=True),
    Entry(
        "bonus token",
        "only what comes after the last accepted draft of a whole path is wrong",
        signs.shape_bonus,
        whole=True,
    ),
    Entry("declared q", "the drafts are not drawn from the q that they are judged with", signs.declared),
    Entry("requests depend on each other", "requests of one batch share their randomness", signs.requests),
    Entry(
        "first token exact",
        "the first token is right and the joint law is wrong, which no test of single tokens can see",
        signs.joint,
    ),
    ZERO_COIN,
)
