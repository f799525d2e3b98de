"""The catalogue of bugs: a name, a plain text and a test for each. A hypothesis that passes its test is reported.

Three kinds of tests, the strongest first. *Same law*: every number of the function's law is that of a verifier with
this one bug. *Counterfactual*: the function becomes lossless once the suspected cause is taken away. *Shape*: only
where the balance fails.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from draftproof.simulator.audit.boundary import Corner
from draftproof.simulator.audit.diagnosis import signs
from draftproof.simulator.audit.diagnosis.evidence import Evidence, Suspect
from draftproof.simulator.audit.diagnosis.processed import (
    bonus_unprocessed,
    judged_otherwise,
    processed_bonus,
    processed_target,
    told_otherwise,
)
from draftproof.simulator.audit.diagnosis.references import (
    At,
    Blockwise,
    Corrections,
    Longest,
    OwnCoins,
    Recursive,
    SampledAgain,
    TokenWise,
    correcting,
    from_target,
    inverse_ratio,
    likeliest,
    missing_to,
    ratio,
    softmax_of_residual,
    softmax_of_weights,
    without_coin,
)
from draftproof.simulator.protocol import Vector, Verifier
from draftproof.simulator.residual import residual


@dataclass(frozen=True)
class Entry:
    """One bug. test: the reason why the evidence supports it, None where it does not.

    whole: whether it explains the whole law; only the first entry of this kind is reported. suspects: with this bug.
    """

    name: str
    text: str
    test: signs.Test
    whole: bool = True
    suspects: Sequence[Suspect] = ()


@dataclass(frozen=True)
class Hypothesis:
    """A bug that passed its test. text: what it is. reason: why it is named, in words. test: see `Entry`."""

    name: str
    text: str
    reason: str
    test: signs.Test

    def __str__(self) -> str:
        return f"{self.text} ({self.reason})"


def diagnose(evidence: Evidence) -> list[Hypothesis]:
    """The entries of the catalogue that the evidence supports, the strongest first."""
    hypotheses: list[Hypothesis] = []
    explained = False
    for entry in CATALOGUE:
        reason = None if entry.whole and explained else entry.test(evidence)
        if reason is not None:
            hypotheses.append(Hypothesis(entry.name, entry.text, reason, entry.test))
            explained = explained or entry.whole
    return hypotheses


def diagnose_corners(corners: Sequence[Corner]) -> list[Hypothesis]:
    """The hypothesis for findings at corner coins only, if there is one."""
    for corner in corners:
        if corner.accepted and any(" = 0, " in event for event in corner.events):
            return [Hypothesis(ZERO_COIN.name, ZERO_COIN.text, str(corner), ZERO_COIN.test)]
    return []


#: The only entry that needs corner coins to be seen; see `draftproof.simulator.audit.boundary`.
ZERO_COIN = Entry(
    "zero coin",
    "`<=` where `<` belongs accepts a token of probability zero when the coin is exactly 0",
    lambda evidence: None,
    whole=False,
)


def _behaves(name: str, text: str, *suspects: Suspect) -> Entry:
    """The entry of a bug for which verifiers with it are known: one of them has the whole law."""
    return Entry(name, text, signs.same_law(suspects), suspects=suspects)


_TOKENS, _BLOCKS, _PATHS = "token-by-token verification", "block verification", "recursive rejection"
_FROM: Mapping[str, Corrections] = {"(p - q)+": residual, "p": from_target}
#: A row off by one: by how much, and whether the row before the first is the last one; which rows, in words.
_STEPS = ((-1, False), (-1, True), (1, False))
_ROWS = {
    ("p", ""): "p where a draft is judged",
    ("q", ""): "q where a draft is judged",
    ("", "p"): "p where a correction is drawn",
    ("", "q"): "q where a correction is drawn",
    ("p", "p"): "p",
    ("q", "q"): "q",
    ("pq", ""): "p and q where a draft is judged",
    ("", "pq"): "p and q where a correction is drawn",
    ("pq", "pq"): "p and q",
}


def _off(judged: str, corrected: str, step: int, **options: Any) -> TokenWise:
    """Token-by-token verification with these rows ("p", "q") off by a step."""
    accepts: dict[str, Any] = dict.fromkeys(judged, step)
    corrects: dict[str, Any] = dict.fromkeys(corrected, step)
    return TokenWise(partial(ratio, **accepts), correcting(**corrects), **options)


def _bonus(by: int) -> Callable[[At], Vector]:
    return lambda at: at.p(by)


def _shifted() -> Iterator[Suspect]:
    """Rows of other positions, without those of "draft row late"."""
    for (rows, words), (step, wraps), bonus in product(_ROWS.items(), _STEPS, (0, -1)):
        if step == -1 and not bonus and "p" not in "".join(rows):
            continue
        text = f"{_TOKENS} with the row {step:+d} of {words}{' and the bonus row' * bool(bonus)}"
        yield Suspect(text, _off(*rows, step, bonus=_bonus(bonus), wraps=wraps))


def _correcting(words: str, make: Callable[[Corrections], Verifier]) -> list[Suspect]:
    """A verifier that corrects from the residual, and from `p`."""
    return [Suspect(f"{words}, correcting from {row}", make(weights)) for row, weights in _FROM.items()]


def _tokenwise(words: str, **options: Any) -> list[Suspect]:
    return _correcting(words, lambda weights: TokenWise(corrects=correcting(weights), **options))


#: Bugs of which verifiers are known, in the order in which hypotheses are reported.
_KNOWN: Sequence[Entry] = (
    _behaves(
        "acceptance without a coin",
        "a draft is accepted or rejected without a coin",
        *_tokenwise("accepting a token exactly where p >= q", accepts=without_coin),
    ),
    _behaves(
        "p and q swapped",
        "a draft is accepted with min(1, q/p) instead of min(1, p/q)",
        *_tokenwise(f"{_TOKENS} that does so", accepts=inverse_ratio),
    ),
    Entry(
        "deterministic drafts",
        "drafts that no random number chose are judged with p/q, as if they were drawn from q",
        signs.likeliest(
            signs.same_law(
                [
                    Suspect(f"{_PATHS} that judges every draft by q", Recursive()),
                    Suspect(f"{_PATHS} that takes rejected tokens out of q", Recursive(excluding=True)),
                    Suspect(f"{_TOKENS} of the first path with p/q", TokenWise()),
                    Suspect(f"{_BLOCKS} of the first path with p/q", Blockwise()),
                ]
            )
        ),
    ),
    _behaves(
        "with-replacement rule",
        "a rule for independent drafts is used on drafts that are not",
        Suspect(f"{_PATHS} that judges every draft by the whole q", Recursive()),
    ),
    _behaves(
        "without-replacement rule",
        "a rule for drafts without replacement is used on others",
        Suspect(f"{_PATHS} that takes rejected tokens out of q", Recursive(excluding=True)),
    ),
    _behaves(
        "correction from p",
        "the correction after a rejection is drawn from p instead of the residual (p - q)+",
        Suspect(f"{_TOKENS} that corrects from p", TokenWise(corrects=correcting(from_target))),
        Suspect(f"{_BLOCKS} that corrects from p", Blockwise(from_target)),
        Suspect(f"{_PATHS} that corrects from p", Recursive(from_target)),
    ),
    _behaves(
        "softmax of the residual",
        "the correction is drawn from a softmax of the residual, whose entries are weights already",
        *(
            Suspect(f"{rule} that corrects from a softmax of {words}", verifier)
            for weights, words in (
                (softmax_of_residual, "the normalised residual"),
                (softmax_of_weights, "(p - q)+"),
            )
            for rule, verifier in ((_TOKENS, TokenWise(corrects=correcting(weights))), (_BLOCKS, Blockwise(weights)))
        ),
    ),
    _behaves(
        "sampled again",
        "a token drawn from p is compared with the draft, and where they differ another one is drawn in its place",
        Suspect("a comparison with a sample of p, and another sample after it", SampledAgain()),
    ),
    _behaves(
        "late rejection",
        "a rejection does not end the block: drafts after it are judged, and decide how many are kept",
        *_tokenwise(f"{_TOKENS} that keeps as many tokens as were accepted", keeps="counted"),
        *_tokenwise(f"{_TOKENS} that keeps all tokens up to the last accepted one", keeps="latest"),
    ),
    _behaves(
        "greedy bonus",
        "the token after the last accepted draft is the likeliest one, not a sample",
        Suspect(f"{_TOKENS} with the likeliest bonus token", TokenWise(bonus=likeliest)),
    ),
    _behaves(
        "bonus row",
        "the token after the last accepted draft is drawn from the row of another position",
        Suspect(f"{_TOKENS} with the bonus row 1 position too early", TokenWise(bonus=_bonus(-1))),
        Suspect(f"{_TOKENS} with the bonus row 2 positions too early", TokenWise(bonus=_bonus(-2))),
    ),
    _behaves(
        "draft row late",
        "the draft row of the step before is used",
        *(
            Suspect(f"{what} with q of the step before, {first} at the first token", _off(*rows, -1, wraps=wraps))
            for wraps, first in ((False, "its own"), (True, "the last one"))
            for what, rows in (
                (_TOKENS, ("q", "q")),
                ("token-by-token acceptance", ("q", "")),
                ("token-by-token correction", ("", "q")),
            )
        ),
        Suspect(f"{_PATHS} with q of the node before", Recursive(late=True)),
    ),
    Entry("multiplied uniforms", "the uniforms are multiplied along the path", signs.multiplied),
    _behaves(
        "longest of independent paths",
        "every path is tested by itself and the longest accepted one is taken, which prefers what is accepted easily",
        *_correcting("the longest of independently tested paths, the first of equal ones", Longest),
        *_correcting("the longest of independently tested paths, the last of equal ones", partial(Longest, last=True)),
    ),
    _behaves(
        "uncapped ratio",
        "the ratio of the whole path is not capped at 1 on the way",
        Suspect(f"{_BLOCKS} whose last weight is the product of all ratios", Blockwise(capped=False)),
    ),
    _behaves(
        "weights as probabilities",
        "depths are accepted with the weights of block verification, which are no probabilities to accept with",
        Suspect(f"{_BLOCKS} with that bug", Blockwise(weights=True)),
    ),
    _behaves(
        "missing renormalisation",
        "what a rejection leaves of p is not divided by its sum",
        *(
            Suspect(f"{rule} corrects from (p - q)+ as it is, what is missing to 1 going to the {kind} token", verifier)
            for kind, weights in (("last", missing_to(-1)), ("first", missing_to(0)))
            for rule, verifier in (
                (f"{_TOKENS} that", TokenWise(corrects=correcting(weights))),
                (f"{_PATHS} that", Recursive(weights)),
                (f"{_PATHS} that never normalises and", Recursive(weights, False)),
            )
        ),
        Suspect(f"{_PATHS} that judges later drafts by (p - q)+ as it is", Recursive(normalised=False)),
    ),
    _behaves(
        "duplicates counted twice",
        "a token that was drafted twice has its chance counted twice",
        Suspect(f"{_PATHS} whose ratio is multiplied by the number of duplicates", Recursive(counted=True)),
    ),
    _behaves(
        "skipped duplicates",
        "a token that was drafted twice is judged once, though each draft takes its share from what is left of p",
        Suspect(f"{_PATHS} that skips duplicates", Recursive(distinct=True)),
    ),
    _behaves(
        "independent coins of siblings",
        "every sibling is judged by a coin of its own, as if no other had been rejected",
        Suspect(f"{_PATHS} that judges every sibling by the whole p", Recursive(whole=True)),
        Suspect(f"{_PATHS} that does so and corrects once", Recursive(whole=True, once=True)),
        Suspect("coins of their own that are compared with the sum of p over the siblings so far", OwnCoins()),
    ),
)

#: Every bug that an audit can name, in the order in which hypotheses are reported.
CATALOGUE: Sequence[Entry] = (
    Entry("told q", "the function is handed another q than the drafts are drawn from", told_otherwise),
    Entry(
        "coin in the race",
        "a coin that accepts is a number of the race for the next token, too",
        signs.raced,
        whole=False,
    ),
    Entry("constant seed", "random numbers are the same in every call", signs.seeded),
    Entry("coin reuse", "one coin decides twice", signs.reused),
    Entry(
        "race numbers twice", "the random numbers of one race decide another one, too", signs.raced_twice, whole=False
    ),
    *_KNOWN,
    Entry("relaxed acceptance", "drafts are accepted more often than min(1, p/q)", signs.relaxation),
    Entry(
        "row off by one",
        "a row or a token of another position is used, which shows only where p and q depend on the context",
        signs.first(signs.same_law(list(_shifted())), signs.context),
    ),
    Entry("order of leaves", "the paths of one subtree are left and come back to", signs.leaves),
    Entry("processed target", "the block has the law of p processed, where p itself is to be met", processed_target),
    Entry(
        "bonus row not processed",
        "the token after the last draft is drawn from a row that was not processed",
        bonus_unprocessed,
    ),
    Entry("different processing", "p and q are not processed alike", judged_otherwise),
    Entry(
        "common minimum",
        "every request of a batch is cut to the smallest number of accepted tokens, and corrects there",
        signs.common_minimum,
    ),
    *(replace(entry, test=signs.at_places(entry.suspects)) for entry in _KNOWN if entry.suspects),
    Entry(
        "processed bonus",
        "only the token after the last accepted draft of a whole path is drawn from p processed",
        processed_bonus,
    ),
    Entry("bonus token", "only what comes after the last accepted draft of a whole path is wrong", signs.shape_bonus),
    Entry(
        "greedy draft",
        "the likeliest token is drafted, and judged with q as if it was drawn from it",
        partial(signs.declared, greedy=True),
        whole=False,
    ),
    Entry("declared q", "the drafts are not drawn from the q that they are judged with", signs.declared, whole=False),
    Entry("requests depend on each other", "requests of one batch share their randomness", signs.requests, whole=False),
    Entry(
        "first token exact",
        "the first token is right and the joint law is wrong, which no test of single tokens can see",
        signs.joint,
        whole=False,
    ),
    ZERO_COIN,
)
