"""A batch of requests and the exact law of all their blocks together under a cut.

Each request drafts its own delayed tree, independently of the others. Only `budget` drafted tokens of all requests are
verified in the one target pass; a *cut* says which, from what was drafted. The output is lossless if the blocks of all
requests, each continued by its target, are independent with the targets' laws.

A cut *peeks* unless, whatever it keeps, the kept tokens alone decide that it keeps just these. If it does not peek, the
batch is lossless with `naive`: the outputs given longer drafts, averaged over the tokens that are not kept, are those
given the kept ones, so keeping everything has the same law. If it peeks, the law of the tokens that it keeps is no
longer the draft's, or requests depend on each other. It may still be lossless, as where a request that keeps nothing
serves as a coin; and verifiers of several paths may ask more of a tree, such as that a sibling is drafted whatever the
others are. So all of it is computed.

A slot is one place of the draft tree: those of the trunk first, then those of each branch. What is kept of a request is
a set of slots with the slots above them.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce
from itertools import chain, combinations, product
from math import prod
from typing import Any, Protocol

import numpy as np
from flint import fmpq

from draftproof.simulator.arithmetic import RATIONAL, exact_fraction
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import DraftproofError, InvalidInput, TooLarge
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import context_at, context_index
from draftproof.simulator.laws.enumeration import verdicts
from draftproof.simulator.laws.law import BlockLaw, Violation
from draftproof.simulator.protocol import Context, TokenProcess, Vector, Verifier
from draftproof.simulator.raised import short_repr, user_lines
from draftproof.simulator.shown import fields_html, number_text
from draftproof.simulator.user_code import to_user
from draftproof.simulator.vectors import acceptance, minimum

#: Refused are batches of more drafts of all requests together, and of more products of numbers.
MOST_DRAFTS, MOST_PRODUCTS = 100_000, 20_000_000

#: What is kept of one request: its slots, and their tokens in the same order.
Kept = tuple[tuple[int, ...], tuple[int, ...]]
NOTHING: Kept = ((), ())
#: The drafted tokens of all requests, by slot.
Tokens = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Drafted:
    """What a cut sees of one request, by slot.

    tokens: the drafted tokens. parents: the slot above, -1 at the root. rows: the rows `q` that the tokens were drawn
    from, shape `(V,)`. acceptance: `sum min(p, q)` there, the probability that token-by-token verification accepts a
    token not drawn yet: what a calibrated confidence head says. accepted: `min(1, p/q)` of the token itself.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    rows: tuple[Vector, ...]
    acceptance: tuple[Any, ...]
    accepted: tuple[Any, ...]


class Cut(Protocol):
    """A rule that says which slots of each request are verified; a function of its arguments alone."""

    def __call__(self, drafts: Sequence[Drafted], budget: int) -> Sequence[Collection[int]]: ...


@dataclass(frozen=True)
class Peek:
    """A drafted token that is not kept and yet decides what is kept.

    request: its number, from 1. context: where the token was drafted. token, other: with the one the batch keeps
    `keeps` slots of each request, with the other one, all other drafts being the same, `keeps_else`.
    """

    request: int
    context: Context
    token: int
    other: int
    keeps: tuple[tuple[int, ...], ...]
    keeps_else: tuple[tuple[int, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """The fields."""
        where = {"request": self.request, "context": self.context, "token": self.token, "other": self.other}
        return {**where, "keeps": self.keeps, "keeps_else": self.keeps_else}

    def __str__(self) -> str:
        sizes, others = (tuple(map(len, kept)) for kept in (self.keeps, self.keeps_else))
        change = f"{sizes} tokens of the requests are kept, with token {self.other} {others}"
        if sizes == others:
            change = f"the slots {self.keeps} are kept, with token {self.other} {self.keeps_else}"
        where = f"request {self.request}, after context {self.context}"
        return f"{where}: with token {self.token}, which is not kept, {change}"


@dataclass(frozen=True)
class Dependence:
    """Outputs of all requests, the targets' probability of them and the one that they have."""

    outputs: tuple[Context, ...]
    expected: Fraction
    found: Fraction

    def to_dict(self) -> dict[str, Any]:
        """The fields."""
        return {"outputs": self.outputs, "expected": self.expected, "found": self.found}

    def __str__(self) -> str:
        return (
            f"the outputs {', '.join(map(str, self.outputs))} must have probability {self.expected} together; "
            f"they have {self.found}"
        )


@dataclass(frozen=True, repr=False)
class BatchCheck:
    """The exact verdict on a cut; a proof for the batch.

    tokens: mean tokens of each request. used: mean number of slots in use. total_variation: of all outputs together,
    each request's block continued by its target, from independent outputs with the targets' laws. violations: for each
    request where its own balance fails most, None where it does not. dependence: outputs together, where that is wrong.
    """

    cut: str
    verifier: str
    scheme: Delayed
    budget: int
    tokens: tuple[Fraction, ...]
    used: Fraction
    peek: Peek | None
    total_variation: Fraction
    violations: tuple[Violation | None, ...]
    dependence: Dependence | None

    @property
    def lossless(self) -> bool:
        """Whether the outputs of all requests together have the law of independent targets."""
        return self.total_variation == 0

    @property
    def all_tokens(self) -> Fraction:
        """Mean tokens of all requests in one target pass."""
        return sum(self.tokens, Fraction(0))

    @property
    def violation(self) -> str | None:
        """Where a lossy batch fails: in a request, or else in outputs of several."""
        for number, worst in enumerate(self.violations, start=1):
            if worst is not None:
                return f"request {number}: {worst}"
        return None if self.dependence is None else f"each request is lossless; {self.dependence}"

    def to_dict(self) -> dict[str, Any]:
        """The fields, exact numbers as `Fraction`."""
        return {
            "cut": self.cut,
            "verifier": self.verifier,
            "scheme": str(self.scheme),
            "requests": len(self.tokens),
            "budget": self.budget,
            "tokens": self.all_tokens,
            "tokens_by_request": list(self.tokens),
            "used": self.used,
            "peeks": self.peek is not None,
            "peek": None if self.peek is None else self.peek.to_dict(),
            "lossless": self.lossless,
            "total_variation": self.total_variation,
            "violation": self.violation,
        }

    def __repr__(self) -> str:
        verdict = "lossless" if self.lossless else f"NOT lossless, bias {number_text(self.total_variation)}"
        looks = "peeks" if self.peek else "does not peek"
        tokens = f"{number_text(self.all_tokens)} tokens of {len(self.tokens)} requests"
        return f"BatchCheck({self.cut} with {self.verifier}, {self.budget} slots: {verdict}; {looks}; {tokens})"

    def _repr_html_(self) -> str:
        return fields_html(f"{self.cut} with {self.verifier} on {self.scheme}", self.to_dict())


@dataclass(frozen=True)
class Outcome:
    """The block of a request whose kept tokens are given.

    masses: by accepted context and correction. tokens: their mean number. outputs: the law of the first `L + 1` tokens,
    shape `(V**(L + 1),)`.
    """

    masses: dict[tuple[Context, int], Any]
    tokens: Any
    outputs: Any


class Request:
    """One request: its rows, and the outcome of every part of its draft that can be kept."""

    def __init__(self, target: TokenProcess, draft: TokenProcess, scheme: Delayed, verifier: Verifier) -> None:
        instance = Instance.of(target, draft, scheme.depth, RATIONAL)
        if instance.draft.told is not None:
            raise InvalidInput("verifiers that are told another q are not for batches; leave out what is told")
        self.target, self.draft = instance.target, instance.draft
        self.verifier, self.depth = verifier, scheme.depth
        self.parents = parents_of(scheme)
        self._outcomes: dict[Kept, Outcome] = {}

    @property
    def vocab_size(self) -> int:
        """`V`."""
        return self.target.vocab_size

    @cached_property
    def drafts(self) -> list[tuple[Drafted, Any]]:
        """All drafts with their probabilities."""
        return [(self.seen(tokens), mass) for tokens, mass in self._drawn((), fmpq(1))]

    def _drawn(self, tokens: tuple[int, ...], mass: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
        if len(tokens) == len(self.parents):
            yield tokens, mass
            return
        row = self.draft.row(self.context(tokens, self.parents[len(tokens)]))
        for token, share in enumerate(row):
            if share > 0:
                yield from self._drawn((*tokens, token), mass * share)

    def context(self, tokens: Sequence[int] | Mapping[int, int], slot: int) -> Context:
        """The tokens from the root down to a slot; tokens: by slot."""
        return () if slot < 0 else (*self.context(tokens, self.parents[slot]), tokens[slot])

    def seen(self, tokens: tuple[int, ...]) -> Drafted:
        """What a cut sees of this draft."""
        contexts = [self.context(tokens, parent) for parent in self.parents]
        rows = tuple(self.draft.row(context) for context in contexts)
        rates = tuple(minimum(self.target.row(context), row).sum() for context, row in zip(contexts, rows, strict=True))
        own = tuple(
            fmpq(1) * acceptance(self.target.row(context), row, token)
            for context, row, token in zip(contexts, rows, tokens, strict=True)
        )
        return Drafted(tokens, self.parents, to_user(rows), to_user(rates), to_user(own))

    def probability(self, kept: Kept) -> Any:
        """The probability that these tokens are drafted in these slots."""
        tokens = dict(zip(*kept, strict=True))
        mass = fmpq(1)
        for slot, token in tokens.items():
            mass *= self.draft.row(self.context(tokens, self.parents[slot]))[token]
        return mass

    def row_at(self, kept: Kept, slot: int) -> Vector:
        """The row that the token of a slot is drawn from, where those above it are kept."""
        return self.draft.row(self.context(dict(zip(*kept, strict=True)), self.parents[slot]))

    def drawn(self, part: tuple[int, ...]) -> list[Kept]:
        """All tokens that can be in these slots."""
        found: list[Kept] = [NOTHING]
        for slot in part:
            found = [
                ((*slots, slot), (*tokens, token))
                for slots, tokens in found
                for token, mass in enumerate(self.row_at((slots, tokens), slot))
                if mass > 0
            ]
        return found

    def outcome(self, kept: Kept) -> Outcome:
        """The exact block of the tree that is kept."""
        if kept not in self._outcomes:
            tokens = dict(zip(*kept, strict=True))
            children: dict[Context, tuple[int, ...]] = {}
            for slot, token in tokens.items():
                above = self.context(tokens, self.parents[slot])
                children[above] = (*children.get(above, ()), token)
            masses = verdicts(self.verifier, DraftTree(children), self.target, self.draft, RATIONAL)
            mean = sum(((len(accepted) + 1) * mass for (accepted, _), mass in masses.items()), fmpq(0))
            self._outcomes[kept] = Outcome(masses, mean, self._outputs(masses))
        return self._outcomes[kept]

    def _outputs(self, masses: dict[tuple[Context, int], Any]) -> Any:
        outputs = RATIONAL.zeros(self.vocab_size ** (self.depth + 1))
        for (accepted, token), mass in masses.items():
            rest = self.continued((*accepted, token))
            start = context_index((*accepted, token), self.vocab_size) * len(rest)
            outputs[start : start + len(rest)] += mass * rest
        return outputs

    def continued(self, context: Context) -> Any:
        """The target's law of the tokens after a context, up to `L + 1` in all."""
        law = RATIONAL.vector([1])
        for depth in range(len(context), self.depth + 1):
            first = context_index(context, self.vocab_size) * len(law)
            law = (law[:, None] * self.target.tables[depth][first : first + len(law)]).ravel()
        return law

    @cached_property
    def parts(self) -> list[tuple[int, ...]]:
        """All sets of slots that can be kept."""
        slots = range(len(self.parents))
        sets = chain.from_iterable(combinations(slots, size) for size in range(len(slots) + 1))
        return [kept for kept in sets if not missing(kept, self.parents)]

    @property
    def choices(self) -> int:
        """The number of parts with their tokens, at most."""
        return int(sum(self.vocab_size ** len(part) for part in self.parts))


def parents_of(scheme: Delayed) -> tuple[int, ...]:
    """The slot above each slot: the trunk, then every branch."""
    trunk = range(-1, scheme.L1 - 1)
    first = [scheme.L1 + branch * scheme.L2 for branch in range(scheme.K)]
    return (*trunk, *(scheme.L1 - 1 if step == 0 else at + step - 1 for at in first for step in range(scheme.L2)))


def missing(kept: Collection[int], parents: Sequence[int]) -> list[int]:
    """The slots of `kept` whose slot above is not in it."""
    return [slot for slot in kept if parents[slot] >= 0 and parents[slot] not in kept]


@dataclass(frozen=True)
class Size:
    """What a batch takes, from the vocabulary size of each request."""

    vocab_sizes: Sequence[int]
    scheme: Delayed

    @property
    def drafts(self) -> int:
        """The number of drafts of all requests together, at most."""
        return prod(size**self.scheme.nodes for size in self.vocab_sizes)

    @property
    def products(self) -> int:
        """Products of numbers in the law of all outputs together, at most."""
        parts = [size**self.scheme.nodes for size in self.vocab_sizes]
        outputs = [size ** (self.scheme.depth + 1) for size in self.vocab_sizes]
        return sum(prod(parts[: r + 1]) * prod(outputs[r:]) for r in range(len(parts)))

    @property
    def seconds(self) -> float:
        """A rough time for the check of one cut."""
        return self.products / 5_000_000 + self.drafts / 20_000

    def assert_small(self) -> None:
        """Raise `TooLarge` for a batch that takes too long."""
        if self.drafts > MOST_DRAFTS or self.products > MOST_PRODUCTS:
            drafts = f"{self.drafts:,}" if self.drafts < 10**15 else "too many"
            time = f", about {self.seconds:,.0f} seconds a cut" if self.drafts < 10**9 else ""
            raise TooLarge(
                f"{len(self.vocab_sizes)} requests of {self.scheme.nodes} drafted tokens at V = "
                f"{max(self.vocab_sizes)} have {drafts} drafts together{time}; take fewer requests, shorter drafts or "
                "a smaller V"
            )


@dataclass(frozen=True)
class Batch:
    """Requests with one budget of slots; see the module.

    pairs: target and draft of each request. scheme: what each of them drafts. budget: drafted tokens that are verified.
    Raises `InvalidInput` for a negative budget or no request, `TooLarge` for a batch that takes too long.
    """

    pairs: Sequence[tuple[TokenProcess, TokenProcess]]
    scheme: Delayed
    verifier: Verifier
    budget: int
    requests: tuple[Request, ...] = field(init=False)

    def __post_init__(self) -> None:
        if self.budget < 0:
            raise InvalidInput(f"a budget of {self.budget} slots is none; give 0 or more")
        if not self.pairs:
            raise InvalidInput("a batch of no requests is nothing to check; give 1 or more")
        self._size.assert_small()
        made = tuple(Request(*pair, self.scheme, self.verifier) for pair in self.pairs)
        object.__setattr__(self, "requests", made)

    @property
    def _size(self) -> Size:
        return Size([target.vocab_size for target, _ in self.pairs], self.scheme)

    def check(self, cut: Cut, name: str = "") -> BatchCheck:
        """The exact verdict on a cut. name: for the result; that of the cut by default.

        Raises `InvalidInput` for a cut that is no function, keeps more than the budget, or a token without those above.
        """
        name = name or str(getattr(cut, "name", getattr(cut, "__name__", type(cut).__name__)))
        kept_of, shares = self._groups(cut, name)
        peek = self._peek(kept_of, shares)
        tokens = [
            sum((mass * request.outcome(kept[r]).tokens for kept, mass in shares.items()), fmpq(0))
            for r, request in enumerate(self.requests)
        ]
        used = sum((mass * sum(len(slots) for slots, _ in kept) for kept, mass in shares.items()), fmpq(0))
        violations = tuple(self._violation(r, shares) for r in range(len(self.requests)))
        distance, dependence = self._together(shares)
        return BatchCheck(
            name,
            self.verifier.card.name,
            self.scheme,
            self.budget,
            tuple(exact_fraction(mean) for mean in tokens),
            exact_fraction(used),
            peek,
            distance,
            violations,
            dependence,
        )

    def _groups(self, cut: Cut, name: str) -> tuple[dict[Tokens, tuple[Kept, ...]], dict[tuple[Kept, ...], Any]]:
        """What is kept of every draft of the batch, and the probability of everything that can be kept."""
        kept_of: dict[Tokens, tuple[Kept, ...]] = {}
        shares: dict[tuple[Kept, ...], Any] = defaultdict(lambda: fmpq(0))
        everything = [
            tuple(zip(*drawn, strict=True)) for drawn in product(*(request.drafts for request in self.requests))
        ]
        for drafts, masses in everything:
            kept = self._kept(cut, name, drafts)
            kept_of[tuple(drafted.tokens for drafted in drafts)] = kept
            shares[kept] += prod(masses, start=fmpq(1))
        for drafts, _ in reversed(everything):
            if self._kept(cut, name, drafts) != kept_of[tuple(drafted.tokens for drafted in drafts)]:
                raise InvalidInput(f"cut {name} kept others the second time; it must be a function of what is drafted")
        return kept_of, dict(shares)

    def _kept(self, cut: Cut, name: str, drafts: tuple[Drafted, ...]) -> tuple[Kept, ...]:
        try:
            chosen = cut(drafts, self.budget)
        except DraftproofError:
            raise
        except Exception as error:
            raise InvalidInput(f"cut {name} raised {user_lines(error)}") from error
        try:
            sets = [tuple(sorted({operator.index(slot) for slot in slots})) for slots in chosen]
        except TypeError:
            raise InvalidInput(
                f"cut {name} returned {short_repr(chosen)}; give the kept slots of each request, whole numbers"
            ) from None
        except Exception as error:  # of a generator
            raise InvalidInput(f"cut {name} raised {user_lines(error)}") from error
        if len(sets) != len(drafts):
            raise InvalidInput(f"cut {name} returned slots of {len(sets)} requests; there are {len(drafts)}")
        for number, (slots, drafted) in enumerate(zip(sets, drafts, strict=True), start=1):
            if slots and not 0 <= slots[0] <= slots[-1] < len(drafted.tokens):
                raise InvalidInput(
                    f"cut {name} keeps slots {slots} of request {number}, which has {len(drafted.tokens)}, from 0"
                )
            if left := missing(slots, drafted.parents):
                raise InvalidInput(
                    f"cut {name} keeps slot {left[0]} of request {number} without slot {drafted.parents[left[0]]} "
                    "above it; keep whole beginnings of paths"
                )
        if sum(map(len, sets)) > self.budget:
            raise InvalidInput(f"cut {name} keeps {sum(map(len, sets))} tokens, more than the budget of {self.budget}")
        return tuple((slots, tuple(d.tokens[slot] for slot in slots)) for slots, d in zip(sets, drafts, strict=True))

    def _peek(self, kept_of: dict[Tokens, tuple[Kept, ...]], shares: dict[tuple[Kept, ...], Any]) -> Peek | None:
        """A token that a cut reads without keeping it; None where all drafts with the kept tokens are kept alike."""
        for kept, share in shares.items():
            alone = prod((r.probability(part) for r, part in zip(self.requests, kept, strict=True)), start=fmpq(1))
            if share != alone:
                return self._peek_at(kept, kept_of)
        return None

    def _peek_at(self, kept: tuple[Kept, ...], kept_of: dict[Tokens, tuple[Kept, ...]]) -> Peek:
        """Two drafts with the kept tokens, one of them kept otherwise; they differ in one token if no row has zeros."""
        one = next(tokens for tokens, chosen in kept_of.items() if chosen == kept)
        fixed = [(r, slot) for r, (slots, _) in enumerate(kept) for slot in slots]
        others = [
            tokens
            for tokens, chosen in kept_of.items()
            if chosen != kept and all(tokens[r][slot] == one[r][slot] for r, slot in fixed)
        ]
        other = min(others, key=lambda tokens: len(_differences(one, tokens)))
        for r, slot in _differences(one, other):
            between = tuple(
                (*x[:slot], y[slot], *x[slot + 1 :]) if i == r else x
                for i, (x, y) in enumerate(zip(one, other, strict=True))
            )
            if between not in kept_of:
                break
            if kept_of[between] != kept:
                other = between
                break
            one = between
        r, slot = _differences(one, other)[0]
        request = self.requests[r]
        sets, sets_else = (tuple(slots for slots, _ in item) for item in (kept, kept_of[other]))
        context = request.context(one[r], request.parents[slot])
        return Peek(r + 1, context, one[r][slot], other[r][slot], sets, sets_else)

    def _violation(self, r: int, shares: dict[tuple[Kept, ...], Any]) -> Violation | None:
        request = self.requests[r]
        size = request.vocab_size
        correction = [RATIONAL.zeros(size**depth, size) for depth in range(request.depth + 1)]
        by_part: dict[Kept, Any] = defaultdict(lambda: fmpq(0))
        for kept, mass in shares.items():
            by_part[kept[r]] += mass
        for part, share in by_part.items():
            for (accepted, token), mass in request.outcome(part).masses.items():
                correction[len(accepted)][context_index(accepted, size), token] += share * mass
        worst = BlockLaw(correction, RATIONAL).violation(request.target)
        return worst if worst.deviation else None

    def _together(self, shares: dict[tuple[Kept, ...], Any]) -> tuple[Fraction, Dependence | None]:
        """The distance of all outputs together from independent targets, and the outputs where it is largest."""
        laws: dict[tuple[Kept, ...], Any] = {kept: RATIONAL.vector([mass]) for kept, mass in shares.items()}
        for r in range(len(self.requests) - 1, -1, -1):
            shorter: dict[tuple[Kept, ...], Any] = {}
            for kept, law in laws.items():
                mine = np.multiply.outer(self.requests[r].outcome(kept[r]).outputs, law).ravel()
                shorter[kept[:r]] = shorter[kept[:r]] + mine if kept[:r] in shorter else mine
            laws = shorter
        found = laws[()]
        wanted = reduce(
            lambda one, other: np.multiply.outer(one, other).ravel(), (r.continued(()) for r in self.requests)
        )
        gaps = abs(found - wanted)
        distance = exact_fraction(gaps.sum()) / 2
        if not distance:
            return distance, None
        place = int(np.argmax(gaps))
        outputs, index = [], place
        for request in reversed(self.requests):
            index, own = divmod(index, request.vocab_size ** (request.depth + 1))
            outputs.append(context_at(own, request.depth + 1, request.vocab_size))
        return distance, Dependence(tuple(outputs[::-1]), exact_fraction(wanted[place]), exact_fraction(found[place]))


def _differences(one: Tokens, other: Tokens) -> list[tuple[int, int]]:
    """The requests and slots whose tokens differ."""
    pairs = enumerate(zip(one, other, strict=True))
    return [(r, slot) for r, (x, y) in pairs for slot in range(len(x)) if x[slot] != y[slot]]
