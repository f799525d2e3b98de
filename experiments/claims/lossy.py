"""Claims about verifiers that give up the target's law for more tokens, and about what such a bias can bring."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial

from flint import arb

from draftproof.experiments.claims.cases import PATHS
from draftproof.experiments.claims.claim import Cases, Claim, Exact, Figures, Measured, Variant
from draftproof.experiments.claims.measures import ROOTS, roots
from draftproof.experiments.claims.statements import Efficiency, Holds, Run, check_spec, verifier
from draftproof.lp_analysis import measure
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.protocol import DraftScheme, Source
from draftproof.simulator.verdicts.lossless import block_law
from draftproof.verifiers.lossy.cactus import raised, tested_row

#: One drafted token.
STEP = Cases(tuple((size, Delayed(1, 0, 1)) for size in (2, 3, 4)), count=12)
ENSEMBLE = "ensemble:w=19/20"
#: Lossy verifiers of one path; those with a budget are near the most that a bias can bring.
LOSSY = (
    *(ENSEMBLE, "ensemble:w=1/2", "lenience:l=1/2", "truncation", "cactus", "fuzzy", "typical", "threshold"),
    *("budgeted:eps=1/100", "budgeted:eps=1/10"),
)
LENGTHS = (3, 4, 5, 6)
HALF = Fraction(1, 2)


def claims() -> Iterator[Claim]:
    """All of them."""
    more = partial(Efficiency, relation="<=")
    yield Exact(
        "ensemble-never-below-lossless", Source("wang2026diversed", "Pareto-optimality of the static ensemble"),
        "What the ensemble gives up in bias it gains in tokens: at w = 19/20 it brings at least what a lossless "
        "verifier of the same path does.",
        more(left=Run("block"), right=Run(ENSEMBLE)), PATHS,
        Variant("block never brings more than naive", more(left=Run("block"), right=Run("naive"))),
        true_variant=Variant("it brings at least what naive does", more(left=Run("naive"), right=Run(ENSEMBLE))),
        note="At one drafted token it is optimal at its bias. On longer paths a lossless verifier can be ahead in "
        "both: the ensemble verifies token by token.",
    )  # fmt: skip
    yield Measured(
        "block-ahead-of-ensemble-on-text", Source("draftproof", "what a bias buys"),
        "On text block verification, which is lossless, brings more tokens than the ensemble at w = 19/20.",
        partial(tokens_on_text, "block", ENSEMBLE),
        Variant("than at w = 1/2, too", partial(tokens_on_text, "block", "ensemble:w=1/2")),
    )  # fmt: skip
    yield Exact(
        "typical-at-least-rejection", Source("cai2024medusa", "typical acceptance in place of rejection sampling"),
        "Typical acceptance brings at least as many tokens as rejection sampling.",
        more(left=Run("naive"), right=Run("typical")), PATHS,
        Variant("and never more", more(left=Run("typical"), right=Run("naive"))),
        true_variant=Variant(
            "with a threshold of a billionth", more(left=Run("naive"), right=Run("typical:epsilon=1/1000000000"))
        ),
        note="It rejects every token below its threshold, also one that the draft has no more often than the target.",
    )  # fmt: skip
    yield Exact(
        "cactus-keeps-its-bound", Source("hao2026cactus", "constrained acceptance"),
        "The row that the drafted token is tested with has a divergence of at most d from the target's, where the "
        "raised probability of the token is at most 1/2.",
        Holds(partial(within_divergence, HALF)), STEP,
        Variant("above 1/2, too", Holds(partial(within_divergence, Fraction(1)))),
    )  # fmt: skip
    yield Exact(
        "one-step-price", Source("yin2024theoretical", "theorem 5"),
        "With one drafted token no verifier accepts with a probability above 1 - TV(p, q) by more than its bias.",
        Holds(partial(gains_at_most, lambda _: Fraction(1))), STEP,
        Variant("on paths of several tokens, too", Holds(partial(gains_at_most, lambda _: Fraction(1))), PATHS),
    )  # fmt: skip
    yield Exact(
        "price-of-a-path", Source("draftproof", "what a bias buys, theorem 9"),
        "On a path of L tokens no verifier brings more than L(L+1)/2 tokens a unit of bias above block verification.",
        Holds(partial(gains_at_most, lambda L: Fraction(L * (L + 1), 2))), PATHS,
        Variant("no more than L", Holds(partial(gains_at_most, Fraction))),
        note="The other claim is its case of one token. budgeted comes as near to it as one likes.",
    )  # fmt: skip


def gains_at_most(price: Callable[[int], Fraction], instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether every lossy verifier is above `block` by at most `price(L)` times its bias."""
    least = check_spec("block", instance, scheme).block_efficiency
    for spec in LOSSY:
        own = check_spec(spec, instance, scheme)
        assert own.total_variation is not None
        if own.block_efficiency > least + price(scheme.depth) * own.total_variation:
            return f"{spec}: {own.block_efficiency} tokens at bias {own.total_variation}, block {least}"
    return None


def within_divergence(highest: Fraction, instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether the row that Cactus tests each token with, raised to at most `highest`, is within `d` of `p`, exactly."""
    p = instance.target.row(())
    for d in (Fraction(1, 100), Fraction(1, 10), Fraction(3, 4)):
        high = raised(p, d)
        for token in range(len(p)):
            if 0 < p[token] < 1 and as_python(high[token]) <= highest:
                row = tested_row(p, high[token], token)
                parts = [arb(x) * (arb(x) / arb(y)).log() for x, y in zip(row, p, strict=True) if x > 0]
                if sum(parts, arb(0)) > arb(d.numerator) / d.denominator:
                    return f"token {token} is raised to {as_python(high[token])}, beyond a divergence of {d}"
    return None


def tokens_on_text(first: str, second: str, times: int) -> Figures:
    """Tokens of two verifiers on one path, by its length, and the bias of the second, as means over roots."""
    chosen, texts, ahead = roots(ROOTS * times), [], True
    for length in LENGTHS:
        (one, _), (other, bias) = (_means(spec, length, chosen) for spec in (first, second))
        texts.append(f"{one:.3f} and {other:.3f} at bias {bias:.3f}")
        ahead &= one > other
    shown = f"L = {', '.join(map(str, LENGTHS))}: {'; '.join(texts)}"
    return Figures(ahead, f"{first} and {second} at {shown}", len(chosen), ("text topics",))


def _means(spec: str, length: int, chosen: Sequence[Case]) -> tuple[float, float]:
    """Tokens and bias."""
    tokens, bias, whole = 0.0, 0.0, 0.0
    for root in chosen:
        law, weight = block_law(verifier(spec), root.target, root.draft, Delayed(1, 0, length)), float(root.weight)
        tables = tabulate(root.target, length, RATIONAL, "target").tables
        whole, tokens = whole + weight, tokens + weight * float(law.block_efficiency)
        bias += weight * float(measure("block", law, tables))
    return tokens / whole, bias / whole
