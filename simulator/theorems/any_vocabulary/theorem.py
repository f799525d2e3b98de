"""Theorems for every vocabulary size: lossless, of the same law, never shorter.

A context of named tokens and a named token after it stand for any context and token. Everything else is summed out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from draftproof.simulator.protocol import DraftScheme, Verifier
from draftproof.simulator.theorems.algebra.oracle import Empty, Named, Oracle
from draftproof.simulator.theorems.algebra.polynomials import Point, Ring, rational
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.any_vocabulary.cases import Case
from draftproof.simulator.theorems.any_vocabulary.sums import Account, Draft, Drafted, Masses, NotShown, Sum
from draftproof.simulator.theorems.any_vocabulary.tokens import Context, Token
from draftproof.simulator.theorems.proof.judgements import judged_nonnegative
from draftproof.simulator.theorems.proof.judging import DOMINATES, EQUALS, LOSSLESS

#: Pairs of variables: one for each named token and for each class but one of a row.
PAIRS = 32
#: Seconds of the solver for one question.
SECONDS = 1.0


@dataclass
class RememberingOracle(Oracle):
    """An oracle that tries the points it has found before it asks the solver.

    Its questions are many and small, with all rows of a draft tree in one; so it asks the part of z3 for nonlinear
    arithmetic at once, which tells in the same run what contradicts what.
    """

    def _answer(self, region: Region, atom: int, start: Point | None = None) -> dict[int, Any] | Empty:
        before = self.asked
        answer = super()._answer(region, atom, start)
        if self.asked > before and not isinstance(answer, Empty):
            places = range(len(self.ring.names))
            self.points.append(tuple(answer.get(position, rational(1, 2)) for position in places))
        return answer

    def _of_solver(self, z3: Any, listed: list[Named]) -> tuple[Any, Any, list[Named]]:
        return self._tracked(z3, z3.Tactic("qfnra-nlsat", ctx=z3.Context()).solver(), listed, self.seconds)


@dataclass
class Step:
    """One sum of a theorem, for a named context and the token after it.

    failed: the cases in which it is not as claimed. reason: why the sum could not be computed, "" if it was.
    """

    context: Context = ()
    token: Token | None = None
    cases: list[tuple[Case, Draft]] = field(default_factory=list)
    failed: list[tuple[Case, Ratio]] = field(default_factory=list)
    account: Account = field(default_factory=Account)
    asked: int = 0
    reason: str = ""

    @property
    def proved(self) -> bool:
        """Whether all cases are as claimed."""
        return not self.reason and not self.failed

    def add(self, total: Sum, case: Case, holds: Callable[[Case, Ratio], bool]) -> Step:
        """The step with the cases of a sum, or why it cannot be computed. holds: whether a value is as claimed."""
        total.account = self.account
        try:
            parts = total.cases(case)
            self.cases += parts
            self.failed += [(part, draft.value) for part, draft in parts if not holds(part, draft.value)]
        except NotShown as error:
            self.reason = str(error)
        self.asked = case.oracle.asked
        return self


@dataclass(frozen=True)
class Theorem:
    """A claim for every p and q with full support and every vocabulary size from 2 on, at one scheme.

    kind: `LOSSLESS`; `EQUALS`, the law of the verdict is that of `other`; `DOMINATES`, the probability of keeping any
    given drafted prefix is never below that of `other`.
    """

    kind: str
    scheme: DraftScheme
    verifier: Verifier
    other: Verifier | None = None

    @property
    def depths(self) -> range:
        """The lengths of the contexts that it is about."""
        return range(1, self.scheme.depth + 1) if self.kind == DOMINATES else range(self.scheme.depth + 1)

    def step(self, depth: int, progress: Callable[[Account], None] | None = None, records: bool = True) -> Step:
        """Try to prove it for contexts of one length. progress, records: see `Sum`."""
        case, context, token = start(depth, after=self.kind != DOMINATES)
        share, touches = _SHARES[self.kind], partial(drafts, context=context)
        verifiers = [self.verifier, *([] if self.other is None else [self.other])]
        of = partial(share, context=context, token=token)
        return Step(context, token).add(
            Sum(self.scheme, verifiers, of, touches, progress=progress, records=records), case, self._holds
        )

    def _holds(self, case: Case, value: Ratio) -> bool:
        if self.kind == DOMINATES:
            value = case.reduced(value)
            return judged_nonnegative(value, case.region, case.oracle) is not None
        return is_zero(case, value)


def is_zero(case: Case, value: Ratio) -> bool:
    """Whether a function is shown to be 0 in a case."""
    return case.equal(value, Ratio(case.ring, case.ring.zero))


def ring_of_cases() -> tuple[Ring, Oracle]:
    """The variables of all cases of a proof, and who says what is impossible."""
    ring = Ring([name for number in range(PAIRS) for name in (f"p{number}", f"q{number}")])
    return ring, RememberingOracle(ring, seconds=SECONDS)


def start(depth: int, after: bool = True) -> tuple[Case, Context, Token | None]:
    """A named context of this length and, unless `after` is False, a named token after it; nothing else is known."""
    case = Case.start(*ring_of_cases())
    context: Context = ()
    for _ in range(depth):
        case, token = case.with_name(context, case.rows[context][0], 0)
        context = (*context, token)
    if not after:
        return case, context, None
    case, token = case.with_name(context, case.rows[context][0], 0)
    return case, context, token


def drafts(drafted: Drafted, context: Context) -> bool:
    """Whether a draft tree has a context, or may come to have it: verdicts on others do not pass through it."""
    for depth, token in enumerate(context):
        tokens = drafted.get(context[:depth], ())
        if tokens is None or token not in tokens:
            return tokens is None
    return True


def balance(case: Case, masses: Sequence[Masses], context: Context, token: Token) -> Ratio | None:
    """`D(c) p(y|c) - D(c,y) - e(c,y)`; at the root, where `D = 1`, every verdict adds its `p(y)`."""
    depth, (wanted, _) = len(context), case.variables(token)
    total = None
    for (accepted, correction), mass in masses[0].items():
        if accepted[:depth] == context:
            hit = accepted[depth] == token if len(accepted) > depth else correction == token
            term = mass * wanted - mass if hit else mass * wanted
            total = term if total is None else total + term
    return total


def difference(case: Case, masses: Sequence[Masses], context: Context, token: Token) -> Ratio | None:
    """The probability of one verdict, less that under the other verifier."""
    zero = Ratio(case.ring, case.ring.zero)
    return masses[0].get((context, token), zero) - masses[1].get((context, token), zero)


def gain(case: Case, masses: Sequence[Masses], context: Context, token: Token | None = None) -> Ratio | None:
    """The probability of keeping a prefix, less that under the other verifier."""
    return passes(case, masses[:1], context) - passes(case, masses[1:], context)


def passes(case: Case, masses: Sequence[Masses], context: Context) -> Ratio:
    """The probability of keeping a prefix."""
    total = Ratio(case.ring, case.ring.zero)
    for (accepted, _), mass in masses[0].items():
        if accepted[: len(context)] == context:
            total = total + mass
    return total


_SHARES: dict[str, Callable[..., Ratio | None]] = {LOSSLESS: balance, EQUALS: difference, DOMINATES: gain}
