"""Sums over all draft trees, one drafted token after the other, the last one first.

A token is drafted as one of the named tokens of its row, or as a new one of some class. What follows a new token `z`
of a class must come out as `a p(z) + b q(z)`, where `a` and `b` do not depend on `z`, on its row, or on what is drafted
later; then the sum over all `z` of the class is `a P + b Q`, without what its named tokens would add.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.coins import PlainCoin, outcomes
from draftproof.simulator.errors import DraftproofError, InvalidVerifier
from draftproof.simulator.laws.enumeration import guarded
from draftproof.simulator.origins import is_library
from draftproof.simulator.protocol import Card, Coin, DraftNode, DraftScheme, Verdict, Verifier
from draftproof.simulator.theorems.algebra.polynomials import Polynomial
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.any_vocabulary import tokens
from draftproof.simulator.theorems.any_vocabulary.cases import Case
from draftproof.simulator.theorems.any_vocabulary.rows import ClassRow
from draftproof.simulator.theorems.any_vocabulary.runs import ClassCoin, ClassNode, ClassRows, ClassRun, Undetermined
from draftproof.simulator.theorems.any_vocabulary.tokens import ADVICE, Context, Token
from draftproof.simulator.theorems.proof.watch import NotFollowed, Watched
from draftproof.simulator.user_code import NodeView

#: The drafted tokens by context.
Drafted: TypeAlias = Mapping[Context, tuple[Token, ...]]
#: The probability of every verdict on one draft tree.
Masses: TypeAlias = dict[tuple[Context, Token], Ratio]


class NotShown(DraftproofError):
    """A sum is not of the kind that this proof can compute."""


@dataclass
class Leaf:
    """One draft tree. masses: empty where the share is 0 without a run."""

    drafted: Drafted
    masses: tuple[Masses, ...]


@dataclass
class New:
    """All tokens of a class that have no name yet. weight: `(a, b)` of the probability `a p + b q` of drafting one.

    cases: the sum after such a token, in every case. linear: `(a, b)`, see the module.
    """

    token: Token
    of_class: int
    variables: tuple[Ratio, Ratio]
    weight: tuple[Ratio, Ratio]
    cases: list[tuple[Case, Draft]]
    linear: tuple[Ratio, Ratio]
    value: Ratio


@dataclass
class Draft:
    """The sum over all continuations. row: of the next token. named: with their probabilities; new: a class each."""

    row: Context = ()
    named: list[tuple[Token, Ratio, Draft]] = field(default_factory=list)
    new: list[New] = field(default_factory=list)
    leaf: Leaf | None = None
    value: Any = None


class Impossible(DraftproofError):
    """There are no p, q and V of this case."""


class _Next(DraftproofError):
    """The drafting needs its next token.

    named: the weights of named tokens; terms: `(a, b)` for each class; both divided by the sum of all weights.
    """

    def __init__(self, weights: ClassRow) -> None:
        super().__init__("a token is drafted")
        total = weights.sum()
        self.context = weights.context
        self.named = [(token, (weights[token] / total).as_ratio) for token in weights.named()]
        self.terms = {n: ((a / total).as_ratio, (b / total).as_ratio) for n, (a, b) in weights.terms.items()}


class _Drafting:
    """A coin that drafts given tokens, then asks for the next."""

    def __init__(self, run: ClassRun, drafted: Sequence[Token]) -> None:
        self._run, self._tokens = run, iter(drafted)

    def choose(self, weights: Any) -> Any:
        token = next(self._tokens, None)
        if token is None:
            if not isinstance(weights, ClassRow):
                self._run.fail(NotShown("the scheme draws from something that is not a row of the draft"))
            self._run.fail(_Next(weights))
        return token

    def flip(self, probability: Any) -> bool:
        self._run.fail(NotShown("the scheme flips a coin while it drafts"))


@dataclass
class Account:
    """Counts. runs: of the verifiers. cases: of all sums, inner ones included. equations: pairs of equal functions."""

    runs: int = 0
    cases: int = 0
    equations: int = 0


@dataclass
class Sum:
    """The sum over all draft trees of a scheme of a function of verdicts on them, None for 0.

    verifiers: each runs on a part of the tree, as `parts` says. touches: False where the share is 0 without a run.
    settled: once so many tokens are drafted, the sum over the others must be 0, whatever these are.
    progress: is called at every run with the account; it may end the work by an error.
    records: whether the parts of every sum are kept, as a certificate needs them, or only its value.
    """

    scheme: DraftScheme
    verifiers: Sequence[Verifier]
    share: Callable[[Case, Sequence[Masses]], Ratio | None]
    touches: Callable[[Drafted], bool] = lambda drafted: True
    parts: Sequence[Callable[[Drafted], Drafted]] = ()
    settled: int | None = None
    progress: Callable[[Account], None] | None = None
    records: bool = True
    account: Account = field(default_factory=Account)

    def cases(self, case: Case, drafted: tuple[Token, ...] = ()) -> list[tuple[Case, Draft]]:
        """The sum in every case into which questions that come before all drafts divide this one.

        drafted: named tokens with which every tree begins, in the order of drafting.
        """
        return self._resolved(case, 0, lambda each: self._from(each, drafted, 0))

    def _resolved(self, case: Case, scope: int, compute: Callable[[Case], Draft]) -> list[tuple[Case, Draft]]:
        waiting, results = [case], []
        while waiting:
            case = waiting.pop()
            try:
                results.append((case, compute(case)))
                self.account.cases += 1
            except Undetermined as open_question:
                if open_question.ask.scope < scope:
                    raise
                waiting += case.answers(open_question.ask)
            except Impossible:
                continue
        return results

    def _from(self, case: Case, drafted: tuple[Token, ...], scope: int) -> Draft:
        """The sum over all trees whose first tokens, in the order of drafting, are these."""
        run = ClassRun(case)
        try:
            with run.following():
                tree: Any = self.scheme.draw(ClassRows(run, "q"), _Drafting(run, drafted))
        except _Next as wanted:
            zero = Ratio(case.ring, case.ring.zero)
            result = Draft(wanted.context, value=zero)
            for token, chance in wanted.named:
                if not chance.is_zero:
                    after = self._from(case, (*drafted, token), scope)
                    if self.records:
                        result.named.append((token, chance, after))
                    result.value = result.value + chance * after.value
            for number, (a, b) in wanted.terms.items():
                if not (a.is_zero and b.is_zero):
                    new = self._new(case, scope, wanted.context, number, (a, b), partial(self._next, drafted))
                    if self.records:
                        result.new.append(new)
                    result.value = result.value + new.value
            if len(drafted) == self.settled and not case.equal(result.value, zero):
                raise NotShown(f"the sum over what is drafted later is not 0: {result.value.key}") from None
            return result
        return self._leaf(case, tree.children)

    def _next(self, drafted: tuple[Token, ...], case: Case, token: Token, scope: int) -> Draft:
        return self._from(case, (*drafted, token), scope)

    def _new(
        self,
        case: Case,
        scope: int,
        context: Context,
        of_class: int,
        weight: tuple[Ratio, Ratio],
        after: Callable[[Case, Token, int], Draft],
    ) -> New:
        """The sum over all tokens of a class that have no name yet. after: the sum over what follows one."""
        inside, token = case.with_name(context, of_class, scope + 1)
        p, q = inside.masses(token)
        chance = weight[0] * p + weight[1] * q
        found = self._resolved(inside, scope + 1, lambda each: after(each, token, scope + 1))
        first, ring = inside.names[token].first, case.ring
        common = (
            self._common(found, first + 2) if found else Ratio(ring, ring.zero)
        )  # without cases there is no such token
        value = chance * common
        a, b = value.num.derivative(first), value.num.derivative(first + 1)
        if a * ring.variables[first] + b * ring.variables[first + 1] != value.num or depends(first, a, b, value.den):
            raise NotShown(f"what follows a drafted token is not linear in its own probabilities: {value.key}")
        linear = Ratio.quotient(ring, a, value.den), Ratio.quotient(ring, b, value.den)
        rest = case.rest(of_class)
        total = linear[0] * rest[0] + linear[1] * rest[1]
        return New(token, of_class, inside.variables(token), weight, found, linear, total)

    def _common(self, found: Sequence[tuple[Case, Draft]], first: int) -> Ratio:
        """The one function that a sum is in all cases, of no variable from the position `first` on."""
        for case, draft in found:
            candidate = case.reduced(draft.value)
            if depends(first, candidate.num, candidate.den):
                continue
            self.account.equations += len(found)
            if all(other.equal(candidate, each.value) for other, each in found):
                return candidate
        if not found:
            raise Impossible("all cases of what follows are impossible")
        raise NotShown(
            "what follows a drafted token depends on how it compares, or on its own row: "
            + "; ".join(dict.fromkeys(draft.value.key for _, draft in found))
        )

    def _leaf(self, case: Case, drafted: Drafted) -> Draft:
        masses: tuple[Masses, ...] = ()
        value = None
        if self.touches(drafted):
            trees = [part(drafted) for part in self.parts] or [drafted] * len(self.verifiers)
            masses = tuple(map(partial(self._masses, case), trees, self.verifiers))
            value = self.share(case, masses)
        value = Ratio(case.ring, case.ring.zero) if value is None else value
        return Draft(leaf=Leaf(drafted, masses) if self.records else None, value=value)

    def _masses(self, case: Case, drafted: Drafted, verifier: Verifier, node: type[ClassNode] = ClassNode) -> Masses:
        run = ClassRun(case)
        self.account.runs += 1
        if self.progress:
            self.progress(self.account)
        found: Masses = {}
        try:
            with run.following():
                watched = Watched(verifier)
                shown = watched if is_library(verifier) else _Shown(watched)
                verify = guarded(shown, node(run, drafted), library=True)
                for verdict, mass in outcomes(verify, RATIONAL, ClassCoin(run)):
                    block = _block(verdict, drafted)
                    found[block] = found[block] + mass.as_ratio if block in found else mass.as_ratio
        except NotFollowed:
            raise
        except InvalidVerifier as error:
            if not tokens.refused:
                if case.is_impossible():
                    raise Impossible("nothing is claimed about this case") from None
                raise NotShown(f"in a case that is not shown to be impossible the code fails: {error}") from error
        finally:
            if tokens.refused:
                raise tokens.refused[0]
        return found


def depends(first: int, *parts: Polynomial) -> bool:
    """Whether a polynomial has a variable from the position `first` on."""
    return any(degree > 0 for part in parts for degree in part.degrees()[first:])


@dataclass
class _Shown:
    """A verifier of a user, with a node and a coin of its own for every run, as in an enumeration."""

    verifier: Watched

    @property
    def card(self) -> Card:
        return self.verifier.card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        return self.verifier.verify(NodeView(root, lambda node: (node.target, node.draft)), PlainCoin(coin))


def _block(verdict: Any, drafted: Drafted) -> tuple[Context, Token]:
    """A verdict on this tree; raises `InvalidVerifier` for any other, `NotFollowed` for a token of another row."""
    accepted, correction = tuple(verdict.accepted), verdict.correction
    if not all(token in drafted.get(accepted[:depth], ()) for depth, token in enumerate(accepted)):
        raise InvalidVerifier(f"accepted {accepted!r}, which is no node of the draft tree")
    if type(correction) is not Token:
        raise NotFollowed(f"the correction is a number, not a token that was drawn or drafted; {ADVICE}")
    if correction.row != accepted:
        raise NotFollowed(f"the correction was drawn after another context than the accepted one; {ADVICE}")
    return accepted, correction.alike
