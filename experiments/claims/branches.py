"""Claims about how the branches of a tree are drawn: one from each piece of a row, apart or all at one number."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import chain, combinations
from math import prod

from draftproof.experiments.claims.claim import Cases, Claim, Exact, Variant
from draftproof.experiments.claims.statements import GAP, Holds, Optima, fractions, same_scheme
from draftproof.lp_analysis import optimum
from draftproof.simulator.drafts import Delayed, Stratified, Systematic
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme, Source
from draftproof.simulator.verdicts.cases import CASES

SOURCE = "draftproof"
#: Branches of all shapes on which the scheme is checked, and at one node of more tokens.
STRATIFIED = Cases(
    (*CASES["stratified"], (4, Stratified(2, 0, 1)), (4, Stratified(3, 0, 1, "number"))),
    for_deep=((2, Stratified(4, 0, 3)), (4, Stratified(2, 0, 2)), (3, Stratified(4, 1, 2))),
)
#: One step, where all sets of tokens can be listed.
ONE_STEP = Cases(
    tuple((V, Stratified(K, 0, 1)) for V, K in ((2, 2), (3, 2), (3, 3), (4, 2), (4, 3))),
    for_deep=((5, Stratified(3, 0, 1)), (5, Stratified(4, 0, 1))),
)
ONE_BRANCH = tuple((V, Stratified(1, L1, L2)) for V, L1, L2 in ((2, 0, 3), (3, 1, 1)))
FEW_TOKENS = Cases(
    tuple((V, Systematic(K, L1, L2)) for V, K, L1, L2 in ((2, 3, 0, 2), (3, 2, 0, 2), (3, 3, 0, 1), (3, 4, 0, 1))),
    for_deep=((3, Systematic(3, 0, 2)), (3, Systematic(2, 1, 2))),
)
#: The smallest vocabulary and tree on which systematic branches can be worse: on about one in fifty of these.
FOUR_TOKENS = Cases(((4, Systematic(2, 0, 1)),), count=160)


def claims() -> Iterator[Claim]:
    """All of them."""
    never_worse = Optima(iid, "<=", same_scheme)
    yield Exact(
        "stratified-at-least-iid", Source(SOURCE, "theorem 8"),
        "Whatever p, q, V, K and L, some lossless verifier brings on stratified branches at least what any brings on "
        "i.i.d. ones.",
        never_worse, STRATIFIED,
        Variant("and none brings more", Optima(same_scheme, "<=", iid)),
    )  # fmt: skip
    yield Exact(
        "stratified-equal-iid", Source(SOURCE, "theorem 8, equality"),
        "The optima on stratified and on i.i.d. branches are equal where K = 1, where p = q, where every row of q has "
        "one token, and where p and q share none.",
        Optima(iid, "=", same_scheme, only=same_for_any_branches),
        Cases((*STRATIFIED.shapes, *ONE_BRANCH), for_deep=STRATIFIED.for_deep),
        Variant("on every instance", Optima(iid, "=", same_scheme)),
    )  # fmt: skip
    yield Exact(
        "stratified-equal-at-one-step", Source(SOURCE, "theorem 8, equality"),
        "At one drafted token the optima on stratified and on i.i.d. branches are equal if and only if a set S of "
        "tokens that minimises 1 - p(S) + 1 - (1 - q(S))^K has the same mass in all pieces, or all mass of q.",
        Holds(partial(equal_at_one_step, True)), ONE_STEP,
        Variant("if and only if any set does", Holds(partial(equal_at_one_step, False))),
    )  # fmt: skip
    yield Exact(
        "systematic-at-least-iid", Source(SOURCE, "branches at one random number"),
        "Branches that all take their tokens at one random number a node (systematic) are at least as good as i.i.d. "
        "ones.",
        never_worse, FOUR_TOKENS,
        Variant("and as stratified ones", Optima(stratified, "<=", same_scheme)),
        true_variant=Variant("drawn apart they are (stratified)", Optima(iid, "<=", stratified)),
        note="Two tokens that lie half a row apart are drafted together or not at all.",
    )  # fmt: skip
    yield Exact(
        "systematic-three-tokens", Source(SOURCE, "branches at one random number"),
        "With at most three tokens systematic branches are at least as good as i.i.d. ones.",
        never_worse, FEW_TOKENS,
        Variant("with four, too", never_worse, FOUR_TOKENS),
    )  # fmt: skip


def iid(scheme: DraftScheme) -> DraftScheme:
    """As many independent branches of the same lengths."""
    assert isinstance(scheme, Stratified)
    return Delayed(scheme.K, scheme.L1, scheme.L2)


def stratified(scheme: DraftScheme) -> DraftScheme:
    """The same branches, drawn apart from one another."""
    assert isinstance(scheme, Stratified)
    return Stratified(scheme.K, scheme.L1, scheme.L2, scheme.order)


def same_for_any_branches(instance: Instance, scheme: DraftScheme) -> bool:
    """Whether K = 1, p = q, every row of q has one token, or no token has mass in both rows."""
    assert isinstance(scheme, Stratified)
    levels = list(zip(instance.target.tables, instance.draft.tables[: scheme.depth], strict=False))
    return (
        scheme.K == 1
        or all((p == q).all() for p, q in levels)
        or all(((q > 0).sum(axis=1) == 1).all() for _, q in levels)
        or not any(((p > 0) & (q > 0)).any() for p, q in levels)
    )


def equal_at_one_step(tight: bool, instance: Instance, scheme: DraftScheme) -> str | None:
    """None where the optima are equal if and only if some set is drafted alike by all pieces, else the values.

    tight: whether the set must minimise the bound for i.i.d. branches. An optimum of one step is
    `2 + min over sets S of P(S is drafted) - p(S)`, here in rationals; certified bounds of both agree with it.
    """
    assert isinstance(scheme, Stratified)
    K, p, q = scheme.K, fractions(instance.target.row(())), fractions(instance.draft.row(()))
    pieces = [fractions(piece.law(instance.draft.row(()))) for piece in scheme.pieces(K)]
    sets = list(chain.from_iterable(combinations(range(len(p)), size) for size in range(len(p) + 1)))
    apart, together = ({some: _bound(some, p, laws) for some in sets} for laws in (pieces, [q] * K))
    values = min(together.values()), min(apart.values())
    for each, value in zip((iid(scheme), scheme), values, strict=True):
        found = optimum(instance.target, instance.draft, each, gap=GAP)
        if not found.lower <= value <= found.upper:
            return f"{each}: {value} by sets, {float(found.lower)} to {float(found.upper)} by certificates"
    alike = [
        some
        for some in sets
        if len({_mass(law, some) for law in pieces}) == 1 or _mass(q, some) == 1
        if not tight or together[some] == values[0]
    ]
    if bool(alike) == (values[0] == values[1]):
        return None
    return f"optimum {values[0]} of i.i.d. branches, {values[1]} of stratified ones, {len(alike)} such sets"


def _bound(some: Sequence[int], p: Sequence[Fraction], laws: Sequence[Sequence[Fraction]]) -> Fraction:
    """The most tokens of a block if the set is tight."""
    return 2 - _mass(p, some) + 1 - prod((1 - _mass(law, some) for law in laws), start=Fraction(1))


def _mass(law: Sequence[Fraction], some: Sequence[int]) -> Fraction:
    return sum((law[token] for token in some), start=Fraction(0))
