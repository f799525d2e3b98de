"""Verifiers that go layer by layer and select a drafted branch of each, whatever their selection, for every vocabulary.

The branches of a layer are drawn. One of them, or none, is selected with some probability, given what is drafted down
to this layer. `r(y|c)` is the probability that a branch of token `y` after node `c` is selected, averaged over the
drafts of the layer. Nothing else is known here of the selection: its chances are any numbers that have the averages
`r`, zeros included. If a function of the drafts is `f0 + sum of chance * f(c, y)` over the different pairs of a node
and a token that are drafted, where neither `f0` nor `f` depends on the other drafts or on the chances, its average is
`f0 + sum of r(y|c) f(c, y)` over all pairs. So the layer is summed up as if one branch were drawn, from `r`; that the
function is of this kind is shown for all drafted tokens and all chances. A pair that is not selected for these drafts
has no weight. A layer of one branch is drawn from `q`, as in `Sum`.

`r(y|c)` is a number for each node, the sum of its `r`, times a row with the sum 1, which is the `q` of a case there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, permutations, product
from typing import Any

from draftproof.simulator.drafts.delayed import Delayed
from draftproof.simulator.protocol import Verifier
from draftproof.simulator.theorems.algebra.polynomials import POSITIVE, ZERO
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.any_vocabulary.cases import Case
from draftproof.simulator.theorems.any_vocabulary.rows import Entries
from draftproof.simulator.theorems.any_vocabulary.runs import ClassNode, ClassRun
from draftproof.simulator.theorems.any_vocabulary.sums import (
    Account,
    Draft,
    Drafted,
    Drawn,
    Impossible,
    Leaf,
    Masses,
    NotShown,
    Sum,
    depends,
)
from draftproof.simulator.theorems.any_vocabulary.theorem import LOSSLESS, Step, balance, drafts, is_zero, ring_of_cases
from draftproof.simulator.theorems.any_vocabulary.tokens import Context, Token, sorting

Then = Callable[[Case, Token, int], Draft]


@dataclass(frozen=True)
class Paths:
    """What is drafted and selected. branches: of each its path, which ends at a node that has no score.

    trunk: the number of tokens that all branches share. scored: the nodes of the last layer that have a score.
    masses: of a node whose branches are selected the sum of its `r`. chances: of every branch that may be selected.
    totals: the sum of the weights in the layer of this depth, where some branch of it may be selected. given: in how
    many layers, from the first one on, the chances are the scores, whatever the verifier would do there.
    """

    branches: tuple[Context, ...]
    trunk: int
    scored: frozenset[Context] = frozenset(((),))
    masses: Mapping[Context, Ratio] = field(default_factory=dict)
    chances: Mapping[Context, Ratio] = field(default_factory=dict)
    totals: Mapping[int, Ratio] = field(default_factory=dict)
    given: int = 0

    def further(
        self, drawn: Mapping[int, Token], chances: Mapping[Context, Ratio], total: Ratio | None = None
    ) -> Paths:
        """The next layer. drawn: the next token of a branch. chances: of the branches that have a score there."""
        branches = tuple((*path, drawn[i]) if i in drawn else path for i, path in enumerate(self.branches))
        totals = {**self.totals, **({} if total is None else {max(map(len, branches)): total})}
        return replace(
            self, branches=branches, scored=frozenset(chances), chances={**self.chances, **chances}, totals=totals
        )

    @property
    def drafted(self) -> Drawn:
        """The drafted tokens by context, with repetitions."""
        depth = max(map(len, self.branches))
        found: dict[Context, tuple[Token, ...]] = {}
        for length in range(depth):
            for path in self.branches[: None if length >= self.trunk else 1]:
                if len(path) > length:
                    found[path[:length]] = (*found.get(path[:length], ()), path[length])
        return found


class Unknown(Entries):
    """The law of branches of which one is selected; code may do nothing with it."""

    __slots__ = ()

    def __init__(self, run: ClassRun, context: Context) -> None:
        self.run, self.context = run, context


@dataclass
class Part:
    """Some of the drafts and selections for which a sum is one function. cases: the sum in every case, none of them if
    there is no such draft. node: what is drafted there, if anything; of_class: of its token, if it has no name yet.

    chances: of the drafted pairs that may be selected, by their nodes; with them the sum is `nothing`, what it is if
    none is selected, and each chance times its slope. value: the function or, with chances, the first slope.
    """

    value: Ratio
    cases: list[tuple[Case, Draft]]
    node: Context = ()
    of_class: int | None = None
    chances: Mapping[Context, Ratio] = field(default_factory=dict)
    slopes: tuple[Ratio, ...] = ()
    nothing: Ratio | None = None


@dataclass
class Alike(Draft):
    """A sum that is one function, whatever is drafted and selected."""

    parts: list[Part] = field(default_factory=list)


@dataclass
class Layer(Draft):
    """`f0 + sum of r f`. none: `f0`. selected: for each node the sum of its `r`, and the average of `f` over it."""

    none: Draft = field(default_factory=Draft)
    selected: list[tuple[Ratio, Draft]] = field(default_factory=list)


@dataclass
class Selections(Sum):
    """The sum over all drafts of a delayed tree. made: the verifier with these masses and chances; see `Paths`.

    settled: once so many layers are drafted, the sum over the others must be 0, whatever these are. given: see `Paths`.
    less: what is taken from the sum on each tree.
    """

    scheme: Delayed
    made: Callable[[Paths], Verifier] = field(kw_only=True)
    given: int = 0
    less: Callable[[Paths], Ratio | None] = lambda paths: None

    def cases(self, case: Case) -> list[tuple[Case, Draft]]:
        """The sum in every case. The variable of the root's `r` is the first one of the case, where it has one."""
        K, L1 = self.scheme.K, self.scheme.L1
        masses: dict[Context, Ratio] = {(): case.variable(0)} if K > 1 and L1 == 0 and not self.given else {}
        start = Paths(((),) * (K if L1 == 0 else 1), L1, masses=masses, given=self.given)
        return self._resolved(case, 0, lambda each: self._layer(each, start, 0))

    def _layer(self, case: Case, paths: Paths, scope: int) -> Draft:
        """The sum over all that is drafted from the next layer on."""
        result = self._below(case, paths, scope)
        if max(map(len, paths.branches)) == self.settled and not is_zero(case, result.value):
            raise NotShown(f"the sum over what is drafted later is not 0: {result.value.key}")
        return result

    def _below(self, case: Case, paths: Paths, scope: int) -> Draft:
        going = [i for i, path in enumerate(paths.branches) if path in paths.scored]
        depth = len(next(iter(paths.scored), ()))
        if not going or depth == self.scheme.depth:
            return self._end(case, paths)
        if depth == self.scheme.L1 and len(paths.branches) < self.scheme.K:
            paths = replace(paths, branches=paths.branches * self.scheme.K)
            going = list(range(self.scheme.K))
        if len(going) == 1 and depth >= self.given:
            return self._single(case, paths, going[0], scope)
        if depth == 0 or depth < self.given:
            return self._selected(case, paths, going, scope)
        return self._of_any_law(case, paths, going, scope)

    def _single(self, case: Case, paths: Paths, i: int, scope: int) -> Draft:
        """A layer of one branch."""
        context = paths.branches[i]
        one = Ratio(case.ring, case.ring.one)

        def then(each: Case, token: Token, inner: int) -> Draft:
            return self._layer(each, paths.further({i: token}, {(*context, token): one}), inner)

        return self._drawn(case, context, scope, then)

    def _of_any_law(self, case: Case, paths: Paths, going: Sequence[int], scope: int) -> Draft:
        """A layer below drafted tokens. Its `r` may be another one for each of them: the sum may not depend on it."""
        first = len(case.scopes)
        contexts = list(dict.fromkeys(paths.branches[i] for i in going))
        inside = case
        for context in contexts:
            if not any(inside.classes[number].draft.is_zero for number in inside.rows[context]):
                if len(inside.rows[context]) > 1 or any(named.row == context for named in inside.names.values()):
                    raise NotShown("a row was compared before it is known whether its branches are selected")
                inside = inside.with_zeros(context, scope + 1)
        inside, masses = with_chances(inside, contexts, scope + 1, POSITIVE | ZERO)
        below = replace(paths, masses={**paths.masses, **masses})
        found = self._resolved(inside, scope + 1, lambda each: self._selected(each, below, going, scope + 1))
        value = self._one(found, first)
        if any(named.row in contexts for named in case.names.values()) and not is_zero(case, value):
            raise NotShown(f"what a layer adds depends on how its branches are selected: {value.key}")
        return Alike(value=value, parts=self._kept([Part(value, found)]))

    def _selected(self, case: Case, paths: Paths, going: Sequence[int], scope: int) -> Draft:
        """A layer of several branches: `f0 + sum of r f`."""
        if self.settled is not None and len(paths.branches[going[0]]) < self.settled:
            return self._alike(case, paths, going, scope, {}, partial(self._any_selected, paths))
        none = self._alike(case, paths, going, scope, {}, partial(self._none_selected, paths))
        result = Layer(value=none.value, none=none)
        for context in dict.fromkeys(paths.branches[i] for i in going):
            members = [i for i in going if paths.branches[i] == context]

            def then(each: Case, token: Token, inner: int, members: Sequence[int] = members) -> Draft:
                found = []
                for i in members:
                    others = [other for other in going if other != i]
                    end = partial(self._one_more, paths, i, none.value)
                    draft = self._alike(each, paths, others, inner, {i: token}, end)
                    found.append(Part(draft.value, [(each, draft)]))
                return self._equal(each, found)

            mean = self._drawn(case, context, scope, then)
            result.value = result.value + paths.masses[context] * mean.value
            if self.records:
                result.selected.append((paths.masses[context], mean))
        return result

    def _drawn(self, case: Case, context: Context, scope: int, then: Then) -> Draft:
        """The sum over a token drawn from `q`."""
        zero, one = (Ratio(case.ring, constant) for constant in (case.ring.zero, case.ring.one))
        result = Draft(context, value=zero)
        for token, named in case.names.items():
            chance = case.masses(token)[1]
            if named.row == context and not chance.is_zero:
                after = then(case, token, scope)
                result.value = result.value + chance * after.value
                if self.records:
                    result.named.append((token, chance, after))
        for number in case.rows[context]:
            if not case.classes[number].draft.is_zero:
                new = self._new(case, scope, context, number, (zero, one), then)
                result.value = result.value + new.value
                if self.records:
                    result.new.append(new)
        return result

    def _alike(
        self,
        case: Case,
        paths: Paths,
        others: Sequence[int],
        scope: int,
        drawn: Mapping[int, Token],
        end: Callable[[Mapping[int, Token], Case, int], Draft],
    ) -> Draft:
        """What is the same whatever these branches draw."""
        if not others:
            return end(drawn, case, scope)
        i, *rest = others
        context = paths.branches[i]

        def then(each: Case, token: Token, inner: int) -> Draft:
            return self._alike(each, paths, rest, inner, {**drawn, i: token}, end)

        found, zero = list[Part](), Ratio(case.ring, case.ring.zero)
        for token, named in case.names.items():
            if named.row == context:
                after = then(case, token, scope)
                found.append(Part(after.value, [(case, after)], (*context, token)))
        for number in case.rows[context]:
            inside, token = case.with_name(context, number, scope + 1)
            cases = self._resolved(inside, scope + 1, partial(then, token=token, inner=scope + 1))
            value = self._one(cases, len(case.scopes)) if cases else zero
            found.append(Part(value, cases, (*context, token), number))
        return self._equal(case, found)

    def _kept(self, parts: list[Part]) -> list[Part]:
        return parts if self.records else []

    def _equal(self, case: Case, found: list[Part]) -> Draft:
        """The one function that these are."""
        shown = [part for part in found if part.cases]
        if not shown:
            raise Impossible("there is no token to draw")
        first, *others = shown
        self.account.equations += len(others)
        if not all(case.equal(first.value, other.value) for other in others):
            raise NotShown(
                "what a selected branch adds depends on the other drafted tokens, or on its place among them: "
                + "; ".join(dict.fromkeys(each.value.key for each in shown))
            )
        return Alike(value=first.value, parts=self._kept(found))

    def _none_selected(self, paths: Paths, drawn: Mapping[int, Token], case: Case, scope: int) -> Draft:
        return self._layer(case, paths.further(drawn, {}), scope)

    def _any_selected(self, paths: Paths, drawn: Mapping[int, Token], case: Case, scope: int) -> Draft:
        """What follows, for all chances of the drafted pairs: it must be one function."""
        none = self._none_selected(paths, drawn, case, scope)
        found = [Part(none.value, [(case, none)])]
        selectable = selectable_in(case, paths, drawn)
        for count in range(1, len(selectable) + 1):
            for selected in combinations(selectable, count):
                cases = self._with_selected(case, paths, drawn, selected, scope)
                found.append(Part(self._one(cases, len(case.scopes)), cases))
        return self._equal(case, found)

    def _one_more(
        self, paths: Paths, i: int, nothing: Ratio, drawn: Mapping[int, Token], case: Case, scope: int
    ) -> Draft:
        """What the selection of a branch adds for each of its chance, whichever others may be selected.

        nothing: the sum where none is selected.
        """
        pair = (*paths.branches[i], drawn[i])
        others = [other for other in selectable_in(case, paths, drawn) if other != pair]
        found = []
        for count in range(len(others) + 1):
            for beside in combinations(others, count):
                selected = (pair, *beside)
                cases = self._with_selected(case, paths, drawn, selected, scope)
                found.append(self._sloped(cases, nothing, selected, len(case.scopes)))
        return self._equal(case, found)

    def _with_selected(
        self, case: Case, paths: Paths, drawn: Mapping[int, Token], selected: Sequence[Context], scope: int
    ) -> list[tuple[Case, Draft]]:
        """What follows where these pairs have chances; these come next among the variables."""
        inside, chances = with_chances(case, selected, scope + 1, POSITIVE)
        inside, first = inside.with_pair(scope + 1, ())
        total = inside.variable(first)  # weights may have any scale
        below = paths.further(drawn, chances, total)
        inside = inside.assuming(total, POSITIVE)
        return self._resolved(inside, scope + 1, partial(self._layer, paths=below, scope=scope + 1))

    def _sloped(self, found: list[tuple[Case, Draft]], nothing: Ratio, selected: Sequence[Context], first: int) -> Part:
        """A sum that is `nothing + sum of chance * f` in all cases.

        selected: the pairs that have chances. first: the position of the first one among the variables.
        """
        self.account.equations += len(found)
        chances = [found[0][0].variable(first + place) for place in range(len(selected))] if found else []
        for case, draft in sorted(
            found, key=lambda each: sum(mask == ZERO for _, mask in each[0].region)
        ):  # general first
            slopes = [slope(case.reduced(draft.value), chance) for chance in chances]
            if not depends(first, *(part for each in slopes for part in (each.num, each.den))):
                value = nothing
                for chance, each in zip(chances, slopes, strict=True):
                    value = value + chance * each
                if all(other.equal(value, each.value) for other, each in found):
                    return Part(
                        slopes[0],
                        found,
                        chances=dict(zip(selected, chances, strict=True)),
                        slopes=tuple(slopes),
                        nothing=nothing,
                    )
        if not found:
            raise Impossible("all cases of what follows are impossible")
        raise NotShown(
            "what follows is not linear in the chances that drafted tokens are selected: "
            + "; ".join(dict.fromkeys(draft.value.key for _, draft in found))
        )

    def _end(self, case: Case, paths: Paths) -> Draft:
        drafted, masses, value = paths.drafted, list[Masses](), self.less(paths)
        result = Draft(value=Ratio(case.ring, case.ring.zero) if value is None else -value)
        if self.touches(self._open(paths)):
            trees = [part(drafted) for part in self.parts] or [drafted]
            masses = [self._in_every_order(case, paths, tree) for tree in trees]
            share = self.share(case, masses)
            result.value = result.value if share is None else result.value + share
        result.leaf = Leaf(drafted, tuple(masses))
        return result

    def _open(self, paths: Paths) -> Drafted:
        """The drafted tokens, and which nodes could have more below them."""
        ends = {path: None for path in paths.branches if len(path) < self.scheme.depth}
        return {**ends, **paths.drafted}

    def _in_every_order(self, case: Case, paths: Paths, drafted: Drafted) -> Masses:
        """The probability of every verdict, the same in whichever order the code sorts drafted tokens."""
        run = partial(self._masses, case, drafted, self.made(paths), node_with(paths))
        first, *others = orders_of(drafted)
        with sorting(first) as order:
            masses, _ = run()
        for ranks in others if order.asked else ():
            with sorting(ranks):
                again, _ = run()
            if masses.keys() != again.keys() or not all(case.equal(masses[each], again[each]) for each in masses):
                raise NotShown("the verdict depends on the order of the drafted tokens")
        return masses


def selectable_in(case: Case, paths: Paths, drawn: Mapping[int, Token]) -> list[Context]:
    """The different pairs of a node and a drafted token that may be selected."""
    pairs = [(*paths.branches[branch], token) for branch, token in drawn.items()]
    return list(dict.fromkeys(pair for pair in pairs if not case.masses(pair[-1])[1].is_zero))


def node_with(paths: Paths) -> type[ClassNode]:
    """Nodes of a tree with this selection."""

    class Node(ClassNode):
        def _law(self, run: ClassRun, context: Context) -> Any:
            return Unknown(run, context) if context in paths.masses else super()._law(run, context)

        def child(self, token: Any) -> Any:
            context = (*self.context, token)
            if context not in paths.chances and any(context == path[: len(context)] for path in paths.branches):
                self._run.refuse("a drafted token that is not selected was looked at")
            return super().child(token)

    return Node


def orders_of(drafted: Drafted) -> list[dict[Token, int]]:
    """All orders of the children of each node."""
    orders = [permutations(dict.fromkeys(tokens or ())) for tokens in drafted.values()]
    return [{token: rank for row in each for rank, token in enumerate(row)} for each in product(*orders)]


def slope(value: Ratio, variable: Ratio) -> Ratio:
    """The derivative with respect to a variable."""
    ring = value.ring
    position = next(at for at, each in enumerate(ring.variables) if each == variable.num)
    num, den = (part.derivative(position) for part in (value.num, value.den))
    return Ratio.quotient(ring, num * value.den - value.num * den, value.den * value.den)


def with_chances(case: Case, contexts: Sequence[Context], scope: int, mask: int) -> tuple[Case, dict[Context, Ratio]]:
    """A free number for each context, with a sign in `mask`; their sum is at most 1."""
    found: dict[Context, Ratio] = {}
    rest = Ratio(case.ring, case.ring.one)
    for context in contexts:
        if len(found) % 2 == 0:
            case, first = case.with_pair(scope, ())
        found[context] = case.variable(first + len(found) % 2)
        rest = rest - found[context]
        case = case.assuming(found[context], mask)
    return case.assuming(rest, POSITIVE | ZERO), found


@dataclass(frozen=True)
class AnySelection:
    """That a verifier is lossless for every p and q, every V, and every selection; see the module.

    made: the verifier with given laws and chances. given: see `Paths`.
    """

    scheme: Delayed
    made: Callable[[Paths], Verifier]
    kind: str = LOSSLESS
    given: int = 0

    @property
    def depths(self) -> range:
        """The lengths of the contexts that it is about."""
        return range(self.scheme.depth + 1)

    def step(self, depth: int, progress: Callable[[Account], None] | None = None, records: bool = False) -> Step:
        """Try to prove it for contexts of one length: given all that is drafted down to such a context."""
        return self.summed(depth, balance, progress, settled=depth or None, records=records)

    def summed(
        self,
        depth: int,
        share: Callable[..., Ratio | None],
        progress: Callable[[Account], None] | None = None,
        less: Callable[..., Ratio | None] = lambda paths, context: None,
        **options: Any,
    ) -> Step:
        """Whether a sum is 0, for a named context of this length and a named token after it. options: see `Selections`.

        share, less: what a tree adds to it and takes from it, with the context, and with the token for `share`.
        """
        step = Step()
        for case, context, token in self.starts(depth):
            step.context, step.token = context, token
            of, touches = partial(share, context=context, token=token), partial(drafts, context=context)
            options |= {"made": self.made, "given": self.given, "less": partial(less, context=context)}
            step.add(Selections(self.scheme, (), of, touches, progress=progress, **options), case, is_zero)
        return step

    def starts(self, depth: int) -> Iterator[tuple[Case, Context, Token]]:
        """A named context of this length and a named token after it; each of them may have `q = 0`."""
        start = Case.start(*ring_of_cases())
        K, above = self.scheme.K, max(self.scheme.L1, self.given)  # no branch of the layers above is selected
        if K > 1 and above == 0:
            start, _ = with_chances(start, [()], 0, POSITIVE | ZERO)
        waiting: list[tuple[Case, Context]] = [(start, ())]
        for length in range(depth + 1):
            named = []
            for case, context in waiting:
                split = case.with_zeros(context, 0) if K > 1 and length >= above else case
                for number in split.rows[context]:
                    inside, token = split.with_name(context, number, 0)
                    named.append((inside, (*context, token)))
            waiting = named
        return ((case, context[:-1], context[-1]) for case, context in waiting)
