"""One run of a verifier's own code in one case: a comparison that the case leaves open ends the run with a question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from draftproof.simulator.coins import HIDDEN_STATE
from draftproof.simulator.errors import DraftproofError, InvalidVerifier, NoFunction
from draftproof.simulator.protocol import Coin, DraftNode, Verdict
from draftproof.simulator.theorems.algebra.polynomials import ANY, NEGATIVE, POSITIVE, ZERO, mirrored
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Question
from draftproof.simulator.theorems.any_vocabulary import tokens
from draftproof.simulator.theorems.any_vocabulary.cases import Ask, AskClass, AskSign, Case
from draftproof.simulator.theorems.any_vocabulary.rows import ClassRow
from draftproof.simulator.theorems.any_vocabulary.tokens import ADVICE, Context, asked_by_others
from draftproof.simulator.theorems.proof.coin import FollowingCoin
from draftproof.simulator.theorems.proof.numbers import MEMORY, Number, Run
from draftproof.simulator.theorems.proof.watch import HasState, NotFollowed

_SINGLE = (NEGATIVE, ZERO, POSITIVE)


class Undetermined(DraftproofError):
    """The run needs the answer to a question."""

    def __init__(self, ask: Ask) -> None:
        super().__init__("a comparison is open")
        self.ask = ask


class Looked(DraftproofError):
    """The run looks at a node below which nothing is drafted yet."""

    def __init__(self, context: Context) -> None:
        super().__init__("a node is looked at before it is drafted what is below")
        self.context = context


class DraftFirst(DraftproofError):
    """What is below a node has to be drafted before the runs begin: the code may tell otherwise that it was not."""

    def __init__(self, context: Context) -> None:
        super().__init__("what is below a node is drafted first")
        self.context = context


class _NoValue:
    """In place of a value at a sample point: no point decides anything here."""

    def _same(self, *_: Any) -> _NoValue:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = _same


_NO_VALUE = _NoValue()


class ClassRun(Run):
    """A run in one case. What it learns about signs follows from the case."""

    advice = ADVICE

    def __init__(self, case: Case) -> None:
        super().__init__(case.region, ())
        self.case = case
        self._learnt: set[int] = set()
        tokens.refused.clear()

    def number(self, value: Any) -> Number:
        return Number(self, super().number(value).as_ratio, _NO_VALUE)

    def evaluated(self, ratio: Ratio) -> Number:
        return Number(self, ratio, _NO_VALUE)

    def outcomes(
        self, verify: Callable[[Coin], Verdict], begun: Sequence[int]
    ) -> Iterator[tuple[Verdict | Looked, ClassCoin]]:
        """How every run that begins with these answers ends: with a verdict, or with a look; and its coin.

        Raises `DraftFirst` if the code looks at a node below which nothing is drafted yet and does not end with that. A
        refusal comes before what ended the run: what the code has changed by then, it has changed for the next run.
        """
        coin = ClassCoin(self, begun)
        while True:
            coin.start()
            outcome: Any
            try:
                outcome = verify(coin)
            except NotFollowed as error:
                self._failure = error
                raise
            except Exception as error:
                error.__traceback__ = error.__context__ = None  # its frames end here, not within the next run
                outcome = error
            failure = self._failure
            if isinstance(failure, Looked):
                self._failure = None
                if outcome is not failure:
                    raise DraftFirst(failure.context)
            self.assert_going()
            if isinstance(outcome, Exception) and outcome is not failure:
                raise outcome
            yield outcome, coin
            if not coin.advance():
                return

    def assert_going(self) -> None:
        """Raise the error that has ended the run, if the code has caught it."""
        if self._failure is not None:
            raise self._failure

    def holds(self, number: Number, mask: int) -> bool:
        """Whether the sign is in `mask`."""
        if self._over:
            self.fail(HasState(MEMORY))
        return self.sign_in((number.as_ratio.num, number.as_ratio.den), mask)

    def sign_in(self, factors: tuple[Any, ...], mask: int) -> bool:
        """The same for a product of polynomials."""
        atoms = [atom for part in factors for atom, _ in self.ring.factors(part)[1]]
        for atom in atoms:
            self._learn(atom)
        while True:
            answer = self.region.ask(factors, mask)
            if not isinstance(answer, Question):
                return answer
            atom, wanted = answer.atom, answer.mask
            if atom not in atoms:  # a product: one factor after the other
                atom = next(factor for factor in atoms if self.region.allowed(factor) not in _SINGLE)
                wanted = NEGATIVE if self.region.allowed(atom) & NEGATIVE else ZERO
            self._determine(atom, wanted)

    def _learn(self, atom: int) -> None:
        """Carry over to an atom what is known of a class, once."""
        if atom in self._learnt:
            return
        self._learnt.add(atom)
        form = None if self.region.allowed(atom) in _SINGLE else self.case.form_of(self.ring.atoms[atom])
        if form is None:
            return
        token, a, b = form
        known = self.case.classes[self.case.names[token].of_class]
        allowed = known.allowed(Ratio.quotient(self.ring, -b, a))
        if allowed != ANY:
            if self.sign_in((a,), POSITIVE):
                self.region = self.region.with_signs(atom, allowed)
            elif self.sign_in((a,), NEGATIVE):
                self.region = self.region.with_signs(atom, mirrored(allowed))

    def _determine(self, atom: int, wanted: int) -> None:
        """Narrow the signs of an atom, or end the run with a question."""
        form = self.case.form_of(self.ring.atoms[atom])
        if form is not None:
            token, a, b = form
            if not self.sign_in((a,), ZERO):
                mask = wanted if self.sign_in((a,), POSITIVE) else mirrored(wanted)
                self._divide(self.case.names[token].of_class, Ratio.quotient(self.ring, -b, a), mask)
        scope = self.case.scope_of(Ratio(self.ring, self.ring.atoms[atom]))
        earlier = self.case.until(scope)  # of these conditions other draft trees have the same
        for mask in (wanted, ANY & ~wanted):
            if self.case.oracle.is_empty(earlier.with_signs(atom, mask), atom):
                self.region = self.region.with_signs(atom, ANY & ~mask)
                return
        self.fail(Undetermined(AskSign(scope, atom, wanted)))

    def _divide(self, of_class: int, ratio: Ratio, mask: int) -> NoReturn:
        scope = max(self.case.scope_of_class(of_class), self.case.scope_of(ratio))
        self.fail(Undetermined(AskClass(scope, of_class, ratio, mask)))

    def form_in(self, of_class: int, a: Number, b: Number, mask: int) -> bool:
        """Whether the sign of `a p + b q` is in `mask` for all tokens of a class; if some differ it is divided."""
        known = self.case.classes[of_class]
        if a.as_ratio.is_zero and b.as_ratio.is_zero:
            return bool(mask & ZERO)
        if a.as_ratio.is_zero or b.as_ratio.is_zero:
            return self.holds(b if a.as_ratio.is_zero else a, mask)
        if known.ratio is not None:
            return self.holds(a * self.evaluated(known.ratio) + b, mask)
        if self.holds(a, ZERO) or self.holds(b, ZERO):
            return self.holds(b if self.holds(a, ZERO) else a, mask)
        rises = self.holds(a, POSITIVE)
        if rises == self.holds(b, POSITIVE):
            return bool(mask & (POSITIVE if rises else NEGATIVE))
        ratio, wanted = -b.as_ratio / a.as_ratio, mask if rises else mirrored(mask)
        allowed = known.allowed(ratio)
        if allowed & wanted and allowed & ~wanted:
            self._divide(of_class, ratio, wanted)
        return bool(allowed & wanted)


class ClassRows:
    """One side, "p" or "q", as a process; see `TokenProcess`."""

    def __init__(self, run: ClassRun, side: str) -> None:
        self._run, self._side = run, side

    @property
    def vocab_size(self) -> int:
        self._run.refuse("the vocabulary size was asked for")

    def row(self, context: Any) -> ClassRow:
        return ClassRow.of(self._run, context, self._side)


class ClassNode:
    """A node of a draft tree; see `DraftNode`. drafted: the children by context, None where they are drawn later."""

    def __init__(self, run: ClassRun, drafted: Any, context: Context = ()) -> None:
        self.context: Any = context
        self.target = ClassRow.of(run, context, "p")
        self.children: tuple[Any, ...] = drafted.get(context, ())
        self.draft: Any = ClassRow.of(run, context, "q") if self.children else None
        self.laws = (self.draft,) * len(self.children)
        self._run, self._drafted = run, drafted
        self._nodes: dict[Any, ClassNode] = {}

    def __getattribute__(self, name: str) -> Any:
        if asked_by_others():
            object.__getattribute__(self, "_run").refuse(f"a node behind the one that is shown was asked for {name!r}")
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        self._run.refuse("text was made of a node")

    def child(self, token: Any) -> DraftNode:
        if token not in self.children:
            self._run.fail(InvalidVerifier(f"child({token!r}) was asked at {self.context}, where it is not drafted"))
        if token not in self._nodes:
            context = (*self.context, token)
            if self._drafted.get(context, ()) is None:
                self._run.fail(Looked(context))
            self._nodes[token] = ClassNode(self._run, self._drafted, context)
        return self._nodes[token]


class _Drawn(int):
    """The answer to a choice from a row: it stands for a token or a class of one case, and for nothing in another."""


class ClassCoin(FollowingCoin):
    """The coin of such a run. A token whose weight may be 0 is followed, too; that adds 0.

    begun: the answers with which every run begins.
    """

    _run: ClassRun

    def __init__(self, run: ClassRun, begun: Sequence[int] = ()) -> None:
        super().__init__(run)
        self._begun = begun

    @property
    def answers(self) -> tuple[int, ...] | None:
        """The answers of this run; None if one of them stands for nothing in another case."""
        given = [branching.answers[branching.position][0] for branching in self._script]
        return None if any(isinstance(answer, _Drawn) for answer in given) else tuple(given)

    def choose(self, weights: Any) -> Any:
        if not isinstance(weights, ClassRow):
            return super().choose(weights)
        names, values = weights.listed()
        return names[int(self._answered(self._chosen_of_row, values))]

    def _answered(self, answer: Callable[[Any], Any], asked: Any) -> Any:
        self._run.assert_going()
        return super()._answered(answer, asked)

    def _branch(self, asked: Any, answers: list[tuple[Any, Any]]) -> Any:
        if self._next < len(self._begun):
            answers = [(answer, weight) for answer, weight in answers if answer == self._begun[self._next]]
            if not answers:  # all of them were possible before
                self._run.fail(NoFunction(HIDDEN_STATE))
        return super()._branch(asked, answers)

    def _chosen_of_row(self, values: list[Number]) -> int:
        if self._next < len(self._script):
            return int(self._replay(values))
        possible = [i for i, number in enumerate(values) if not number.as_ratio.is_zero]
        total = sum((values[i] for i in possible), start=self._run.number(0))
        if self._run.holds(total, ZERO):
            raise InvalidVerifier("the coin was asked to choose with weights that are all 0; one must be positive")
        scale = self.weight / total
        return int(self._branch(values, [(_Drawn(i), values[i] * scale) for i in possible]))
