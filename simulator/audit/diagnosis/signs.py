"""The tests of the catalogue: an equal law, a cause without which the function is lossless, where the balance fails.

Each test returns the reason for its hypothesis, None where the evidence does not support it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, product
from typing import Any

import numpy as np

from draftproof.simulator.audit.diagnosis.evidence import Evidence, Suspect, first_token, law_is_that_of
from draftproof.simulator.audit.diagnosis.references import (
    PLACES,
    CommonMinimum,
    Recursive,
    TokenWise,
    from_target,
    relaxed,
)
from draftproof.simulator.audit.followed import Audited
from draftproof.simulator.audit.instances import context_free, with_equal_rows
from draftproof.simulator.audit.interfaces import interface_named
from draftproof.simulator.audit.rows import RowForm
from draftproof.simulator.protocol import Draws
from draftproof.simulator.residual import acceptance, residual
from draftproof.simulator.symbolic import Settings

#: Which token is the last one that is accepted, and what is drawn from after it.
ENDS = ("before the first failure", "at the last success")
CORRECTIONS = ("(p - q)+", "p", "(w p - q)+ of block verification", "(w p - q)+, token 0 where that is nothing")


@dataclass(frozen=True)
class Multiplied:
    """Verification of one path with the product `u_1 .. u_i` of uniforms against that of the capped ratios.

    correction: what is drawn from after a rejection. An audit follows it as a function, since the probability of a
    product of uniforms has logarithms in it.
    """

    end: str
    correction: str

    def __call__(
        self, draft_token_ids: Any, draft_probs: Any, target_probs: Any, uniforms: Any, final_uniforms: Any
    ) -> list[list[int]]:
        """The coins interface, for one request."""
        coins: Any = 1
        ratios: Any = 1
        weights: list[Any] = [1]  # of block verification
        count = 0
        for place, token in enumerate(draft_token_ids):
            ratio = target_probs[place][token] / draft_probs[place][token]
            coins, ratios = coins * uniforms[place], ratios * min(1, ratio)
            weights.append(min(1, weights[-1] * ratio))
            if coins < ratios:
                count = place + 1
            elif self.end == ENDS[0]:
                break
        row = target_probs[count]
        if count < len(draft_token_ids) and self.correction != CORRECTIONS[1]:
            scale = 1 if self.correction == CORRECTIONS[0] else weights[count]
            excess = [max(scale * a - b, 0) for a, b in zip(row, draft_probs[count], strict=True)]
            row = excess if sum(excess) > 0 else row if self.correction != CORRECTIONS[3] else [1]
        return [[*draft_token_ids[:count], _chosen(row, final_uniforms[0])]]

    def __str__(self) -> str:
        judged = "a product of uniforms compared with the product of the capped ratios"
        return f"{judged}, accepting to the token {self.end}, correcting from {self.correction}"


def _chosen(weights: Any, coin: Any) -> int:
    """The token whose part of the cumulative sum the coin falls into."""
    edges = [edge / sum(weights) for edge in accumulate(weights)]
    return next((token for token, edge in enumerate(edges[:-1]) if coin < edge), len(edges) - 1)


Test = Callable[[Evidence], str | None]


def _lossless_apart(evidence: Evidence, what: str) -> bool:
    """Whether the function is lossless where numbers are independent that are equal; what: see `Settings`."""
    return evidence.lossless_if(what, evidence.audit.under(Settings(apart=what)))


def same_law(suspects: Sequence[Suspect], deepest: bool = False) -> Test:
    """The law is that of a suspect, number by number. deepest: see `Evidence.behaves_like`."""

    def test(evidence: Evidence) -> str | None:
        fitting = (one.text for one in suspects if evidence.behaves_like(one.verifier, deepest))
        return next(map(law_is_that_of, fitting), None)

    return test


def at_places(suspects: Sequence[Suspect]) -> Test:
    """The law is that of a suspect whose bug is at some places of a path, and that is right elsewhere."""
    placed = [
        Suspect(f"{one.text}, {words}", replace(one.verifier, where=where))
        for one in suspects
        for words, where in PLACES.items()
        if isinstance(one.verifier, (TokenWise, Recursive))
    ]
    return same_law(placed, deepest=True)


def likeliest(test: Test) -> Test:
    """The test, where the rows say what is drafted, but for one sibling at most."""

    def on_those(evidence: Evidence) -> str | None:
        draws = getattr(evidence.finding.scheme, "draws", Draws(0))
        but_one = Draws.ONE_RANDOM_SIBLING in draws and Draws.FIRST_PATH_FROM_Q not in draws
        return test(evidence) if Draws.FIXED_BRANCHES in draws or but_one else None

    return on_those


def relaxation(evidence: Evidence) -> str | None:
    """The weight `w` of the relaxation follows from one token with `p < q` at the root."""
    law, target = evidence.finding.law, evidence.finding.target
    draft = evidence.draft_row
    if law.depth == 0 or draft is None:
        return None
    for token, (p, q) in enumerate(zip(target.row(()), draft, strict=True)):
        if p < q and law.reach[1][token] > p:
            w = (q - law.reach[1][token]) / (q - p)
            suspect = Suspect(f"acceptance with 1 - w + w p/q, w = {float(w):.6g}", TokenWise(partial(relaxed, w=w)))
            return same_law([suspect])(evidence)
    return None


def multiplied(evidence: Evidence) -> str | None:
    """A product of uniforms."""
    rows, coins = RowForm("python", evidence.audit.audited.rows.kind), interface_named("coins")
    for how in product(ENDS, CORRECTIONS):
        function = Multiplied(*how)
        if evidence.behaves_like(Audited(function, coins, rows, "multiplied uniforms")):
            return law_is_that_of(str(function))
    return None


def seeded(evidence: Evidence) -> str | None:
    """It is lossless with fresh numbers in place of those of constant seeds."""
    constants = list(evidence.audit.audited.log.constants)
    return constants[0] if constants and _lossless_apart(evidence, "seeds") else None


def reused(evidence: Evidence) -> str | None:
    """It is lossless with fresh coins."""
    if not evidence.audit.audited.log.reuse:
        return None
    for what, words in (("seeds", "every generator is its own"), ("fetches", "every coin is used once")):
        if _lossless_apart(evidence, what):
            return f"it becomes lossless when {words}"
    return None


def raced(evidence: Evidence) -> str | None:
    """It is lossless when the race has numbers of its own."""
    places = sorted(evidence.audit.audited.log.raced)
    if not places or not _lossless_apart(evidence, "races"):
        return None
    number = f"number of token {places[0]}" if len(places) == 1 else f"numbers of tokens {', '.join(map(str, places))}"
    return f"the acceptance coin equals the race {number}; it becomes lossless when the race has numbers of its own"


def raced_twice(evidence: Evidence) -> str | None:
    """It is lossless when every race has numbers of its own."""
    places = list(evidence.audit.audited.log.raced_twice)
    if not places or not _lossless_apart(evidence, "second races"):
        return None
    first, second = places[0]
    again = "again" if first == second else f"again at {second}"
    return (
        f"the numbers of the race at {first} race {again}; it becomes lossless when every race has numbers of its own"
    )


def leaves(evidence: Evidence) -> str | None:
    """It is lossless with paths of a common prefix side by side."""
    audited = evidence.audit.audited
    audit = replace(evidence.audit, audited=replace(audited, grouped=True))
    cured = audited.interface.multi_path and evidence.lossless_if("grouped", audit)
    return "it becomes lossless when paths with a common prefix are handed over side by side" if cured else None


def declared(evidence: Evidence, greedy: bool = False) -> str | None:
    """With `p = q` the first token is the draft; then its law with the true `p` must follow from that draft.

    greedy: whether that is the likeliest token.
    """
    q = evidence.draft_row
    if not evidence.audit.audited.interface.drafts or q is None:
        return None
    finding = evidence.again(evidence.finding, "equal", changed=with_equal_rows)
    place = None if finding is None else finding.at_depth(0)
    if finding is None or place is None:
        return None
    p, drafted = evidence.finding.target.row(()), first_token(finding)
    if greedy is not bool(drafted[int(np.argmax(q))] >= 1 - finding.tolerance):
        return None
    accepted = drafted * [acceptance(p, q, token) if q[token] > 0 else 0 for token in range(len(q))]
    expected = accepted + (1 - accepted.sum()) * residual(p, q)
    if not (abs(expected - first_token(evidence.finding)).astype(float) <= evidence.finding.tolerance).all():
        return None
    return (
        f"with p = q nothing is rejected, so that the block is the draft: token {place.token} is then drafted with "
        f"mass {float(place.found):.6g} where q gives {float(place.expected):.6g}; that draft explains the first token"
    )


def context(evidence: Evidence) -> str | None:
    """It is lossless where rows do not depend on the context."""
    cured = evidence.lossless_if("context", changed=context_free)
    return "it is lossless where p and q are the same after every context, and only there" if cured else None


def common_minimum(evidence: Evidence) -> str | None:
    """The requests of a batch all keep as many tokens as the one that keeps fewest."""
    for corrections, row in ((residual, "(p - q)+"), (from_target, "p")):
        if evidence.batch_behaves_like(CommonMinimum(corrections)):
            return law_is_that_of(f"a batch that does so, where requests that accepted more correct from {row} as well")
    return None


def shape_bonus(evidence: Evidence) -> str | None:
    """Only the last token of a whole path is wrong."""
    refuted = [item for item in evidence.compared if not item.check.lossless]
    if not refuted or any(
        not element.law.depth or any(map(element.at_depth, range(element.law.depth))) for element in refuted
    ):
        return None
    return "on every instance that is refuted, everything before it is right"


def joint(evidence: Evidence) -> str | None:
    """The first token is right everywhere."""
    refuted = [finding for finding in evidence.findings if not finding.check.lossless]
    if not refuted or any(finding.at_depth(0) for finding in evidence.findings):
        return None
    return "on every instance the first token has exactly the law p, and later ones do not"


def requests(evidence: Evidence) -> str | None:
    """Only the joint law of a batch is wrong."""
    if evidence.finding.dependence is None or not evidence.finding.check.lossless:
        return None
    return "every request by itself is lossless, their joint law is not the product"


def first(*tests: Callable[[Evidence], str | None]) -> Test:
    """The reason of the first test that has one."""
    return lambda evidence: next((reason for test in tests if (reason := test(evidence)) is not None), None)
