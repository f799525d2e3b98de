"""Claims about noise that draft and target share, decided by the exact probabilities of orders of exponentials."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from flint import fmpq

from draftproof.experiments.claims import formulas
from draftproof.experiments.claims.cases import PATHS, TREES
from draftproof.experiments.claims.claim import Cases, Claim, Exact, Variant
from draftproof.experiments.claims.statements import Acceptance, Efficiency, Holds, Lossless, Run, fractions, verifier
from draftproof.simulator.arithmetic import as_python, exact_fraction, to_fmpq
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme, Source
from draftproof.simulator.verdicts.lossless import block_law

#: `(a, b, c)`: the exponential `a` is at least `c` times the exponential `b`.
Order = tuple[Any, Any, Fraction]
Row = Sequence[Fraction]
ONE_DRAFT = Cases(tuple((size, Delayed(1, 0, 1)) for size in (2, 3, 4)), count=8)
STEP = Cases(
    tuple((size, Delayed(K, 0, 1)) for size, K in ((2, 1), (2, 2), (3, 2), (3, 3))), for_deep=((4, Delayed(4, 0, 1)),)
)
#: Positions are two, which is what a path of one drafted token and its bonus token have.
INVARIANCE = Cases(((2, Delayed(1, 0, 1)), (3, Delayed(1, 0, 1))))
TWO_PATHS = Cases(((2, Delayed(2, 0, 1)),))


def claims() -> Iterator[Claim]:
    """All of them."""
    coupling, lists = "daliri2024coupling", "rowan2025list"
    yield Exact(
        "gumbel-one-draft-formula", Source(coupling, "Gumbel sampling"),
        "Draft and target that read one noise agree with probability sum_i 1 / sum_j max(p_j/p_i, q_j/q_i).",
        Acceptance("gls", formulas.gumbel), ONE_DRAFT,
        Variant("with that of weighted MinHash, sum min(p, q) / sum max(p, q)", Acceptance("gls", formulas.minhash)),
    )  # fmt: skip
    yield Exact(
        "gumbel-at-least-minhash", Source(coupling, "Pareto improvement over weighted MinHash"),
        "Draft and target that read one noise agree with probability at least (1 - TV) / (1 + TV).",
        Holds(partial(agrees_at_least, formulas.minhash)), ONE_DRAFT,
        Variant("at least 1 - TV, as with communication", Holds(partial(agrees_at_least, formulas.naive))),
    )  # fmt: skip
    yield Exact(
        "gls-list-matching", Source(lists, "list matching lemma"),
        "One of K drafts equals the target's token with probability at least "
        "sum_j K / (sum_i max(q_i/q_j, p_i/p_j) + (K - 1)/p_j).",
        Holds(partial(agrees_at_least, formulas.list_matching)), STEP,
        Variant("and with no other probability", Acceptance("gls", formulas.list_matching)),
        note="The bound counts only drafts on the path that has the smallest S/p, so it is exact for one draft.",
    )  # fmt: skip
    yield Exact(
        "gumbel-drafter-invariant", Source(coupling, "drafter-invariant speculative decoding"),
        "Where the noise is given, the output of one path does not depend on the draft model.",
        Holds(same_output), INVARIANCE, Variant("nor that of two paths", Holds(same_output), TWO_PATHS),
        note="Two drafts, that of the instance and the uniform one, on the first two tokens. With several paths the "
        "second token reads the noise of those that agree with the first, and which ones do depends on the draft.",
    )  # fmt: skip
    yield Exact(
        "gls-unbiased-over-keys", Source(lists, "Gumbel-max list sampling"),
        "The mean over all keys of what shared noise gives is the target's law.",
        Lossless("gls"), TREES,
        Variant("also where a key serves two positions", Lossless("gls_reused_noise"), PATHS),
    )  # fmt: skip
    yield Exact(
        "gls-at-most-naive", Source("draftproof", "what shared noise costs"),
        "On one path shared noise brings no more tokens than token-by-token verification.",
        Efficiency(Run("gls"), "<=", Run("naive")), PATHS,
        Variant("nor does that bring more", Efficiency(Run("naive"), "<=", Run("gls"))),
    )  # fmt: skip


def agrees_at_least(formula: Any, instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether the acceptance probability of one step with shared noise is at least that of the formula."""
    assert isinstance(scheme, Delayed)
    rate = block_law(verifier("gls"), instance.target, instance.draft, scheme, engine="enumerate").block_efficiency - 1
    least = as_python(formula(instance.target.row(()), instance.draft.row(()), scheme.K))
    return None if rate >= least else f"gls accepts with probability {rate}, below {least}"


def same_output(instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether two drafts lead to the same two tokens where they read the same noise, with probability 1."""
    assert isinstance(scheme, Delayed)
    size = instance.target.vocab_size
    drafts = [fractions(instance.draft.row(())), [Fraction(1, size)] * size]
    differ = Fraction(0)
    for token, read, mass in first_tokens(fractions(instance.target.row(())), drafts, scheme.K):
        if read[0] != read[1]:
            differ += mass * (1 - same_winner(fractions(instance.target.row((token,))), *read))
    return None if differ == 0 else f"with probability {differ} the outputs of two drafts differ"


def first_tokens(p: Row, drafts: Sequence[Row], K: int) -> Iterator[tuple[int, list[frozenset[int]], Fraction]]:
    """The first token, for each draft the paths whose noise the second token reads, and the probability."""
    tokens, paths = range(len(p)), range(K)
    for y, least in product(tokens, paths):
        for drafted in product(product(tokens, repeat=K), repeat=len(drafts)):
            if p[y] and all(q[x] for q, row in zip(drafts, drafted, strict=True) for x in row):
                orders = [*smallest(p, y, least, paths)]
                for q, row in zip(drafts, drafted, strict=True):
                    orders += [order for path, x in enumerate(row) for order in smallest(q, x, path, [path])]
                agree = [frozenset(path for path in paths if row[path] == y) for row in drafted]
                mass = probability([(i, path) for i in tokens for path in paths], orders)
                yield y, [read or frozenset(paths) for read in agree], mass


def same_winner(p: Row, one: Iterable[int], other: Iterable[int]) -> Fraction:
    """The probability that the smallest `S / p` is at the same token on two sets of paths."""
    one, other = list(one), list(other)
    paths = sorted({*one, *other})
    everything = [(i, path) for i in range(len(p)) for path in paths]
    return sum(
        (
            probability(everything, [*smallest(p, y, first, one), *smallest(p, y, second, other)])
            for y in range(len(p))
            if p[y]
            for first, second in product(one, other)
        ),
        Fraction(0),
    )


def smallest(row: Row, token: int, path: int, paths: Iterable[int]) -> Iterator[Order]:
    """What makes `S / row` smallest at a token of a path, among all tokens of the paths."""
    for i, other in product(range(len(row)), paths):
        if (i, other) != (token, path):
            yield (i, other), (token, path), row[i] / row[token]


def probability(exponentials: Sequence[Any], orders: Iterable[Order]) -> Fraction:
    """The probability that independent unit exponentials are in these orders, by one integral after the other.

    The integral over one exponential is `exp` at the largest of its lower bounds minus `exp` at the smallest of its
    upper bounds; every bound in turn is taken for that one, which adds orders among the others.
    """
    exact = [(above, below, to_fmpq(factor)) for above, below, factor in orders]
    return exact_fraction(_integral(dict.fromkeys(exponentials, fmpq(1)), _strictest(exact)))


def _strictest(orders: Iterable[tuple[Any, Any, fmpq]]) -> dict[tuple[Any, Any], fmpq] | None:
    """The orders without those that always hold; None if one never does, or on a null set only."""
    kept: dict[tuple[Any, Any], fmpq] = {}
    for above, below, factor in orders:
        if above == below and factor >= 1:
            return None
        if above != below and factor > kept.get((above, below), 0):
            kept[above, below] = factor
    return kept


def _integral(rates: dict[Any, fmpq], orders: dict[tuple[Any, Any], fmpq] | None) -> fmpq:
    """The integral of `exp(-sum rate S)` over the region of the orders."""
    if orders is None:
        return fmpq(0)
    if not rates:
        return fmpq(1)
    variable = min(rates, key=lambda name: sum(name in pair for pair in orders))
    rate = rates[variable]
    left = {name: value for name, value in rates.items() if name != variable}
    lower = {below: factor for (above, below), factor in orders.items() if above == variable}
    upper = {above: 1 / factor for (above, below), factor in orders.items() if below == variable}
    others = [(*pair, factor) for pair, factor in orders.items() if variable not in pair]
    total = fmpq(0)
    for b, factor in lower.items():
        largest = [(b, other, weaker / factor) for other, weaker in lower.items() if other != b]
        bound = [(a, b, factor / up) for a, up in upper.items()]
        total += _at(left, b, rate * factor, [*others, *largest, *bound]) / rate
    if not lower:
        total += _integral(left, _strictest(others)) / rate
    for a, factor in upper.items():
        least = [(other, a, factor / weaker) for other, weaker in upper.items() if other != a]
        bound = [(a, b, low / factor) for b, low in lower.items()]
        total -= _at(left, a, rate * factor, [*others, *least, *bound]) / rate
    return total


def _at(rates: dict[Any, fmpq], name: Any, more: fmpq, orders: Sequence[tuple[Any, Any, fmpq]]) -> fmpq:
    return _integral({**rates, name: rates[name] + more}, _strictest(orders))
