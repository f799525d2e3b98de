"""Sums over all draft trees, one drafted token after the other, the last one first.

A token is drafted as one of the named tokens of its row, or as a new one of some class. What follows a new token `z`
of a class must come out as `a p(z) + b q(z)`, where `a` and `b` do not depend on `z`, on its row, or on what is drafted
later; then the sum over all `z` of the class is `a P + b Q`, without what its named tokens would add.

In most trees what is below a drafted token is independent of all that is not below it, see `LATE`. So it is drafted
only where the code looks at that node, after the answers that the coin has given until then: runs that never look there
have one verdict for all that may be drafted. What follows is summed up in cases of its own if it comes out the same in
all of them. If it does not, what is below the node is drafted for all runs, from their beginnings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

from draftproof.simulator.drafts.branching import WithoutReplacement
from draftproof.simulator.drafts.delayed import Delayed
from draftproof.simulator.errors import DraftproofError, InvalidVerifier
from draftproof.simulator.laws.guarded import guarded
from draftproof.simulator.origins import is_library
from draftproof.simulator.protocol import Card, Coin, DraftNode, DraftScheme, Verdict, Verifier
from draftproof.simulator.theorems.algebra.polynomials import Polynomial
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.any_vocabulary import tokens
from draftproof.simulator.theorems.any_vocabulary.cases import Ask, Case
from draftproof.simulator.theorems.any_vocabulary.rows import ClassRow
from draftproof.simulator.theorems.any_vocabulary.runs import (
    ClassNode,
    ClassRows,
    ClassRun,
    DraftFirst,
    Looked,
    Undetermined,
)
from draftproof.simulator.theorems.any_vocabulary.tokens import ADVICE, Context, Token
from draftproof.simulator.theorems.proof.watch import NotFollowed, Watched
from draftproof.simulator.user_code import NodeView

#: Schemes that draw what is below a node from its rows alone, independently of all that is not below it.
LATE = (Delayed, WithoutReplacement)
#: The drafted tokens by context; None where they are drafted once the code looks there.
Drafted: TypeAlias = Mapping[Context, tuple[Token, ...] | None]
#: The drafted tokens by context, those of the next draws missing.
Drawn: TypeAlias = Mapping[Context, tuple[Token, ...]]
#: For each verifier the answers of the coin after which its runs go on, one entry for each set of runs.
Begun: TypeAlias = tuple[tuple[tuple[int, ...], ...], ...]
#: The probability of every verdict on one draft tree.
Masses: TypeAlias = dict[tuple[Context, Token], Ratio]


class NotShown(DraftproofError):
    """A sum is not of the kind that this proof can compute."""


@dataclass
class New:
    """All tokens of a class that have no name yet. weight: `(a, b)` of the probability `a p + b q` of drafting one.

    cases: the sum after such a token, in every case. linear: `(a, b)`, see the module.
    """

    of_class: int
    variables: tuple[Ratio, Ratio]
    weight: tuple[Ratio, Ratio]
    cases: list[tuple[Case, Draft]]
    linear: tuple[Ratio, Ratio]
    value: Ratio


@dataclass
class Later:
    """What is drafted once a node is looked at. masses: the probability of that, for each verifier.

    cases: the sum that follows, in every case. value: what it is in all of them.
    """

    masses: tuple[Ratio, ...]
    cases: list[tuple[Case, Draft]]
    value: Ratio


@dataclass
class Draft:
    """The sum over all continuations. row: of the next token. named: with their probabilities; new: a class each.

    leaf: what the runs end with that look at nothing more, empty where the share is 0 without a run.
    later: what follows for the others.
    """

    row: Context = ()
    named: list[tuple[Token, Ratio, Draft]] = field(default_factory=list)
    new: list[New] = field(default_factory=list)
    leaf: tuple[Masses, ...] | None = None
    later: list[Later] = field(default_factory=list)
    value: Any = None


@dataclass(frozen=True)
class _Look:
    """Runs of a verifier that look at a node below which nothing is drafted yet. answers: of the coin until then."""

    context: Context
    answers: tuple[int, ...]
    mass: Ratio


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


@dataclass(frozen=True)
class _Undrafted:
    """The row of a node below which nothing is drafted yet: one token is drawn from it, and nothing is left."""

    context: Context

    def __mul__(self, _: Any) -> _Undrafted:
        return self

    def __getitem__(self, _: Any) -> int:
        return 0

    def __setitem__(self, *_: Any) -> None:
        pass

    def sum(self) -> int:
        return 0


class _Rows(ClassRows):
    """The draft as a process. drawn: something is drafted after these contexts."""

    def __init__(self, run: ClassRun, drawn: Drawn) -> None:
        super().__init__(run, "q")
        self._drawn = drawn

    def row(self, context: Any) -> Any:
        return super().row(context) if context in self._drawn else _Undrafted(context)


class _Drafting:
    """A coin that drafts given tokens, then asks for the next; where nothing is drafted yet, any token stands there."""

    def __init__(self, run: ClassRun, drawn: Drawn) -> None:
        self._run, self._drawn = run, drawn
        self._used: Counter[Context] = Counter()

    def choose(self, weights: Any) -> Any:
        if not isinstance(weights, (ClassRow, _Undrafted)):
            self._run.fail(NotShown("the scheme draws from something that is not a row of the draft"))
        context = weights.context
        if isinstance(weights, _Undrafted):
            return Token.other(context)
        place, tokens = self._used[context], self._drawn.get(context, ())
        self._used[context] += 1
        if place == len(tokens):
            self._run.fail(_Next(weights))
        return tokens[place]

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
    _together: set[Any] = field(default_factory=set)

    def cases(self, case: Case) -> list[tuple[Case, Draft]]:
        """The sum in every case into which questions that come before all drafts divide this one."""
        begun: Begun = (((),),) * len(self.verifiers)
        return self._resolved(case, 0, lambda inner: self._from(inner, {(): ()}, 0, begun))

    def _resolved(
        self,
        case: Case,
        scope: int,
        compute: Callable[[Case], Draft],
        answered: Callable[[Case, Ask], bool] | None = None,
    ) -> list[tuple[Case, Draft]]:
        """A sum in every case. answered: whether a question is answered here, if not by its scope."""
        waiting, results = [case], []
        while waiting:
            case = waiting.pop()
            try:
                results.append((case, compute(case)))
                self.account.cases += 1
            except Undetermined as open_question:
                ask = open_question.ask
                if not (ask.scope >= scope if answered is None else answered(case, ask)):
                    raise
                waiting += case.answers(ask)
            except Impossible:
                continue
        return results

    def _from(self, case: Case, drawn: Drawn, scope: int, begun: Begun) -> Draft:
        """The sum over all trees in which these tokens are drafted, of the runs that go on after these answers."""
        run, late = ClassRun(case), type(self.scheme) in LATE
        rows: Any = _Rows(run, drawn) if late else ClassRows(run, "q")
        try:
            with run.following():
                tree: Any = self.scheme.draw(rows, _Drafting(run, drawn))
        except _Next as wanted:
            result = self._next(case, wanted, drawn, scope, begun)
        else:
            drafted = {
                context: tokens if not late or context in drawn else None
                for context, tokens in tree.children.items()
                if all(token.is_named for token in context)
            }
            result = self._leaf(case, drawn, drafted, scope, begun)
        looks = not all(drawn.values())  # then this is not the whole sum
        settled = not looks and sum(map(len, drawn.values())) == self.settled
        if settled and not case.equal(result.value, Ratio(case.ring, case.ring.zero)):
            raise NotShown(f"the sum over what is drafted later is not 0: {result.value.key}")
        return result

    def _next(self, case: Case, wanted: _Next, drawn: Drawn, scope: int, begun: Begun) -> Draft:
        """The same as a sum over the next token."""
        context = wanted.context
        result = Draft(context, value=Ratio(case.ring, case.ring.zero))

        def after(inside: Case, token: Token, inner: int) -> Draft:
            return self._from(inside, {**drawn, context: (*drawn.get(context, ()), token)}, inner, begun)

        for token, chance in wanted.named:
            if not chance.is_zero:
                then = after(case, token, scope)
                if self.records:
                    result.named.append((token, chance, then))
                result.value = result.value + chance * then.value
        for number, (a, b) in wanted.terms.items():
            if not (a.is_zero and b.is_zero):
                new = self._new(case, scope, context, number, (a, b), after)
                if self.records:
                    result.new.append(new)
                result.value = result.value + new.value
        return result

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
        sums = self._resolved(inside, scope + 1, lambda inner: after(inner, token, scope + 1))
        first, zero = inside.names[token].first, Ratio(case.ring, case.ring.zero)
        linear: tuple[Ratio, Ratio] | None = (zero, zero)
        if sums:  # without cases there is no such token
            linear = next(
                filter(None, (_linear(chance * value, first) for value in self._common(sums, first + 2))), None
            )
        if linear is None:
            raise NotShown(
                "what follows a drafted token depends on how it compares, on its own row, or not linearly on its own "
                f"probabilities: {_values(sums)}"
            )
        rest = case.rest(of_class)
        total = linear[0] * rest[0] + linear[1] * rest[1]
        return New(of_class, inside.variables(token), weight, sums, linear, total)

    def _common(self, sums: Sequence[tuple[Case, Draft]], first: int) -> Iterator[Ratio]:
        """Functions that a sum is in all cases, of no variable from the position `first` on."""
        if not sums:
            raise Impossible("all cases of what follows are impossible")
        for reduced, (case, draft) in product((False, True), sums):
            candidate = case.reduced(draft.value) if reduced else draft.value
            if not depends(first, candidate.num, candidate.den):
                self.account.equations += len(sums)
                if all(other.equal(candidate, sum_there.value) for other, sum_there in sums):
                    yield candidate

    def _one(self, sums: Sequence[tuple[Case, Draft]], first: int) -> Ratio:
        """One of them; raises `NotShown` if there is none."""
        value = next(self._common(sums, first), None)
        if value is None:
            raise NotShown(f"what follows depends on how drafted tokens compare, or on their rows: {_values(sums)}")
        return value

    def _leaf(self, case: Case, drawn: Drawn, drafted: Drafted, scope: int, begun: Begun) -> Draft:
        """The sum where all that was looked at so far is drafted."""
        result = Draft(leaf=() if self.records else None, value=Ratio(case.ring, case.ring.zero))
        if not self.touches(drafted):
            return result
        trees = [part(drafted) for part in self.parts] or [drafted] * len(self.verifiers)
        masses, looks = list[Masses](), dict[Context, list[list[_Look]]]()
        try:
            for number, (tree, verifier, answers) in enumerate(zip(trees, self.verifiers, begun, strict=True)):
                ended, seen = self._masses(case, tree, verifier, answers)
                masses.append(ended)
                for look in seen:
                    looks.setdefault(look.context, [[] for _ in begun])[number].append(look)
        except DraftFirst as first:
            return self._drafted_for_all(case, drawn, scope, begun, first.context)
        share = self.share(case, masses)
        result.value = result.value if share is None else share
        for context, group in looks.items():
            later = self._later(case, drawn, scope, context, group)
            if later is None:
                return self._drafted_for_all(case, drawn, scope, begun, context)
            result.value = result.value + later.value
            if self.records:
                result.later.append(later)
        if self.records:
            result.leaf = tuple(masses)
        return result

    def _drafted_for_all(self, case: Case, drawn: Drawn, scope: int, begun: Begun, context: Context) -> Draft:
        return self._from(case, {**drawn, context: ()}, scope, begun)

    def _later(
        self, case: Case, drawn: Drawn, scope: int, context: Context, group: Sequence[Sequence[_Look]]
    ) -> Later | None:
        """What follows the runs that look at a node; None if it is not shown to be one function in all its cases."""
        kind = tuple(token if case.scopes[case.names[token].first] == 0 else None for token in context)
        if kind in self._together:
            return None
        begun = tuple(tuple(look.answers for look in looks) for looks in group)
        drawn = {**drawn, context: ()}
        try:
            sums = self._resolved(
                case,
                scope,
                lambda inner: self._from(inner, drawn, scope, begun),
                lambda inner, ask: inner.is_new(ask, case, context),
            )
            value = self._one(sums, len(case.scopes))
        except NotShown:
            self._together.add(kind)
            return None
        zero = Ratio(case.ring, case.ring.zero)
        masses = tuple(sum((look.mass for look in looks), start=zero) for looks in group)
        return Later(masses, sums if self.records else [], value)

    def _masses(
        self,
        case: Case,
        drafted: Drafted,
        verifier: Verifier,
        begun: Sequence[tuple[int, ...]],
    ) -> tuple[Masses, list[_Look]]:
        """The verdicts of the runs that begin with these answers, and those of them that look further.

        Raises `DraftFirst` where it has to be drafted before that what is below a node.
        """
        run = ClassRun(case)
        self.account.runs += 1
        if self.progress:
            self.progress(self.account)
        ended: Masses = {}
        looks = []
        try:
            with run.following():
                watched = Watched(verifier)
                shown = watched if is_library(verifier) else _Shown(watched)
                verify = guarded(shown, ClassNode(run, drafted), library=True)
                for answers in begun:
                    for outcome, coin in run.outcomes(verify, answers):
                        mass = coin.weight.as_ratio
                        if not isinstance(outcome, Looked):
                            block = _block(outcome, drafted)
                            ended[block] = ended[block] + mass if block in ended else mass
                        elif coin.answers is None:
                            raise DraftFirst(outcome.context)
                        else:
                            looks.append(_Look(outcome.context, coin.answers, mass))
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
        return ended, looks


def _linear(value: Ratio, first: int) -> tuple[Ratio, Ratio] | None:
    """`(a, b)` where a function is `a p + b q` of the variables at a position and the next, None if it is not."""
    ring, (a, b) = value.ring, (value.num.derivative(place) for place in (first, first + 1))
    if a * ring.variables[first] + b * ring.variables[first + 1] != value.num or depends(first, a, b, value.den):
        return None
    return Ratio.quotient(ring, a, value.den), Ratio.quotient(ring, b, value.den)


def _values(sums: Sequence[tuple[Case, Draft]]) -> str:
    return "; ".join(dict.fromkeys(draft.value.key for _, draft in sums))


def depends(first: int, *parts: Polynomial) -> bool:
    """Whether a polynomial has a variable from the position `first` on."""
    return any(degree > 0 for part in parts for degree in part.degrees()[first:])


@dataclass
class _Shown:
    """A verifier of a user, with a node of its own for every run, as in an enumeration."""

    verifier: Watched

    @property
    def card(self) -> Card:
        return self.verifier.card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        return self.verifier.verify(NodeView(root, lambda node: (node.target, node.draft)), coin)


def _block(verdict: Any, drafted: Drafted) -> tuple[Context, Token]:
    """A verdict on this tree; raises `InvalidVerifier` for any other, `NotFollowed` for a token of another row."""
    accepted, correction = tuple(verdict.accepted), verdict.correction
    if not all(token in (drafted.get(accepted[:depth]) or ()) for depth, token in enumerate(accepted)):
        raise InvalidVerifier(f"accepted {accepted!r}, which is no node of the draft tree")
    if type(correction) is not Token:
        raise NotFollowed(f"the correction is a number, not a token that was drawn or drafted; {ADVICE}")
    if correction.row != accepted:
        raise NotFollowed(f"the correction was drawn after another context than the accepted one; {ADVICE}")
    return accepted, correction.alike
