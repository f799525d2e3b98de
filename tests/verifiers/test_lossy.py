"""What lossy verifiers promise, exact: the law of the next token, acceptance, and bounds on the bias of a token.

Logarithms are intervals (`flint.arb`), so that a bound on a divergence is decided without a tolerance.
"""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from draftproof import InvalidInput
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.simulator import CallableProcess, Delayed, DraftTree, Instance, Verifier, block_law
from draftproof.simulator.arithmetic import FLOAT64, to_fmpq
from draftproof.simulator.drafts import WithoutReplacement
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.residual import positive_part
from draftproof.simulator.tables import context_index
from draftproof.simulator.vectors import minimum
from draftproof.simulator.verdicts.cases import case_instances
from draftproof.verifiers import make
from draftproof.verifiers.lossy import cactus
from draftproof.verifiers.lossy._rows import ROUNDING
from draftproof.verifiers.lossy.mentored import BITS, smallest_a, upper

#: Rules whose next token has a known law, with several parameters.
RULES = [
    *("ensemble:w=0", "ensemble:w=7/10", "ensemble:w=19/20", "ensemble:w=1", "lenience:l=1/10", "lenience:l=1/2"),
    *("lenience:l=1", "truncation", "truncation:top_p=1/2", "truncation:min_p=1/4", "eta", "eta:epsilon=1/3"),
    *("cactus:d=0", "cactus:d=1/20", "cactus", "fuzzy:t=0", "fuzzy", "fuzzy:t=1/5", "mentored:d=0", "mentored:d=1/50"),
    *("slack", "slack:eps=0", "slack:eps=1/3,eta=1/2", "slack:eps=1,eta=1/2,target=1/2", "slack:eta=0,target=1"),
    *("mentored", "cascade", "cascade:diff=1/10", "cascade:chow=1/2", "cascade:token=1/2"),
]
PATH = Delayed(1, 0, 2)
#: Verifiers that `toward` may have inside, each with a scheme on which it is lossless.
INSIDE = [
    *((name, PATH) for name in ("naive", "block", "hsd", "layer_transport", "traversal")),
    *((name, Delayed(2, 0, 2)) for name in ("specinfer", "block", "traversal", "gbv", "layer_transport")),
    *((name, WithoutReplacement(2, 0, 2)) for name in ("rejection_without_replacement", "naive_tree")),
]


def rows(size: int = 3) -> list[tuple[Any, Any]]:
    """Rows `p` and `q` of the conformance instances of one step."""
    given = case_instances((size, Delayed(1, 0, 1)), 30)
    return [(instance.target.row(()), instance.draft.row(())) for instance in given]


ROWS = [*rows(2), *rows(3), *rows(4)]


def made(spec: str) -> Any:
    return find_verifier(spec).verifier


def divergence(p: Any, q: Any) -> arb:
    """`sum p log(p/q)` as an interval; infinite where `q = 0 < p`."""
    if any(y == 0 < x for x, y in zip(p, q, strict=True)):
        return arb("inf")
    terms = (arb(x) * (arb(x) / arb(y)).log() for x, y in zip(p, q, strict=True) if x > 0)
    return sum(terms, arb(0))


def total_variation(p: Any, q: Any) -> Any:
    return positive_part(p - q).sum()


def assert_tokens_have_law(verifier: Verifier, rule: Any, instance: Instance, scheme: Any) -> None:
    """`D(c) t(y|c) = D(c, y) + e(c, y)` at every context: after every accepted prefix the next token has law `t`."""
    law = block_law(verifier, instance.target, instance.draft, scheme, "rational", engine="enumerate")
    for depth in range(scheme.depth + 1):
        for context in product(range(instance.vocab_size), repeat=depth):
            place = context_index(context, instance.vocab_size)
            q = instance.draft.row(context) if depth < scheme.depth else None
            wanted = law.reach[depth][place] * rule.surrogate(instance.target.row(context), q)
            given = law.correction[depth][place]
            if depth < scheme.depth:
                first = place * instance.vocab_size
                given = given + law.reach[depth + 1][first : first + instance.vocab_size]
            assert wanted.tolist() == given.tolist()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("spec", RULES)
def test_the_next_token_has_the_law_that_the_rule_says(spec: str) -> None:
    for size in (2, 3):
        for instance in case_instances((size, PATH), 6):
            assert_tokens_have_law(made(spec), made(spec), instance, PATH)


@pytest.mark.one_in(8)
@pytest.mark.parametrize(("inner", "scheme"), INSIDE, ids=str)
@pytest.mark.parametrize("target", ["ensemble:w=19/20", "lenience", "truncation", "mentored", "cascade:token=1/2"])
def test_any_verifier_is_lossless_towards_the_law_of_any_rule(target: str, inner: str, scheme: Any) -> None:
    verifier = make("toward", inner=inner, target=target)
    for instance in case_instances((2, scheme), 3):
        assert_tokens_have_law(verifier, made(target), instance, scheme)


@pytest.mark.parametrize(
    ("inner", "target"), [("block", "ensemble"), ("specinfer", "cactus"), ("khisti", "fuzzy"), ("nss", "ensemble")]
)
def test_the_structure_inside_gives_the_enumerated_law(inner: str, target: str) -> None:
    verifier = make("toward", inner=inner, target=target)
    for scheme in (PATH, Delayed(2, 0, 2), Delayed(2, 1, 1)):
        for instance in case_instances((2, scheme), 4):
            one, other = (
                block_law(verifier, instance.target, instance.draft, scheme, "rational", engine)
                for engine in ("structured", "enumerate")
            )
            assert [x.tolist() for x in one.correction] == [x.tolist() for x in other.correction]


def test_verifiers_inside_are_named_with_their_parameters_or_given() -> None:
    assert made("toward:inner=mixed_order:a=1/4,target=ensemble:w=19/20") == make(
        "toward", inner=make("mixed_order", a=Fraction(1, 4)), target=make("ensemble", w=Fraction(19, 20))
    )
    with pytest.raises(InvalidInput, match="'w' in 'ensemble:w' is no parameter; write ensemble:key=value"):
        make("toward", target="ensemble:w")
    with pytest.raises(InvalidInput, match=r"toward: target = block must be a verifier with `surrogate`"):
        make("toward", target="block")
    with pytest.raises(InvalidInput, match="truncation: top_p and min_p are different rules; give one of them"):
        make("truncation", top_p="1/2", min_p="1/2")


def accepted(spec: str, p: Any, q: Any) -> Any:
    """The probability that one draft is accepted."""
    return made(spec).structure.child_law(p, q, 1)[1].sum()


#: What a rule accepts is the overlap of the draft with this.
RAISED = {
    **{f"ensemble:w={w}": lambda p, q, w=w: p * to_fmpq(w) + q * to_fmpq(1 - w) for w in (Fraction(0), Fraction(1, 3))},
    **{f"lenience:l=1/{n}": lambda p, q, n=n: p * n for n in (10, 2, 1)},
    **{f"cactus:d={d}": lambda p, q, d=d: cactus.raised(p, d) for d in (Fraction(1, 100), Fraction(1, 10))},
    "slack:eps=1/5": lambda p, q: p + q / 5,
    **{
        spec: lambda p, q, spec=spec: made(spec).surrogate(p, q)
        for spec in ("cascade:opt=1/2", "cascade:diff=1/10", "cascade:chow=1/2", "cascade:token=1/2", "mentored")
    },
}


@pytest.mark.parametrize("spec", RAISED)
def test_a_rule_accepts_the_overlap_of_the_draft_with_what_it_says(spec: str) -> None:
    rule = made(spec)
    for p, q in ROWS:
        assert accepted(spec, p, q) == minimum(RAISED[spec](p, q), q).sum()
        floats = rule.surrogate(FLOAT64.vector(p), FLOAT64.vector(q))
        assert abs(floats - rule.surrogate(p, q).astype(np.float64)).max() <= FLOAT64.tolerance


def test_what_is_chosen_of_the_slack_is_no_mixture_of_the_two_laws() -> None:
    p, q = (np.array([fmpq(*x) for x in row], dtype=object) for row in (((1, 2), (1, 2)), ((3, 4), (1, 4))))
    law = made("slack:eps=1,eta=1/2,target=1/2").surrogate(p, q)
    assert law.tolist() == [fmpq(21, 32), fmpq(11, 32)]
    assert law.tolist() != ((p + made("slack:eps=1,target=1").surrogate(p, q)) / 2).tolist()


class Uniforms:
    """A coin whose flips are comparisons with these numbers, in order of the drafts; the correction is token 0."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = list(numbers)

    def flip(self, probability: Any) -> bool:
        return bool(self.numbers.pop(0) <= probability)

    def choose(self, weights: Any) -> int:
        return 0


#: A row that is unsure, one that is sure, and one without token 1.
UNSURE, SURE, WITHOUT = [0.4, 0.3, 0.3], [0.97, 0.02, 0.01], [0.5, 0.0, 0.5]


@pytest.mark.parametrize(
    ("count", "first", "uniforms"),
    [
        (5, UNSURE, (0.5, 0.1, 0.1, 0.1)),  # overridden, and all others pass
        (1, SURE, (0.5, 0.1, 0.1, 0.1)),
        (1, WITHOUT, (0.5, 0.1, 0.1, 0.1)),
        (1, UNSURE, (0.5, 0.9, 0.1, 0.1)),  # the next one does not pass
        (1, UNSURE, (0.5, 0.1, 0.9, 0.1)),
        (4, UNSURE, (0.5, 0.1, 0.1, 0.9)),  # a rejection too near the end stands
    ],
)
def test_fly_overrides_where_the_vector_of_vllm_does(count: int, first: list[float], uniforms: tuple[float]) -> None:
    """Its test has four drafts and a window of two, and counts tokens: 5, and 1 wherever a condition fails."""
    q = np.array([0.0, 1.0, 0.0])
    rows = [np.array(first), *[np.array(UNSURE)] * 4]
    target = CallableProcess(3, lambda context: rows[len(context)])
    tree = DraftTree.from_paths((), [(1, 1, 1, 1)])
    verdict = made("fly:w=2").verify(tree.root(target, CallableProcess(3, lambda context: q)), Uniforms(*uniforms))
    assert len(verdict.accepted) + 1 == count


def test_fly_has_its_law_of_two_tokens_and_is_naive_without_a_window() -> None:
    """`D(x y) = q(x) q(y) a(y)` where `x` may be overridden, else times `a(x)`, with `a = min(1, p/q)`."""
    overridden = 0
    for instance in case_instances((3, PATH), 8):
        laws = [
            block_law(made(spec), instance.target, instance.draft, PATH)
            for spec in ("fly:w=1,h=1/2", "fly:w=2", "fly:w=1,h=2", "naive")
        ]
        fly, long, sure, naive = laws
        for other in (long, sure):
            assert [x.tolist() for x in other.correction] == [x.tolist() for x in naive.correction]
        p, q = instance.target.row(()), instance.draft.row(())
        for x, y in product(range(3), repeat=2):
            unsure = p[x] > 0 and -sum((arb(mass) * arb(mass).log() for mass in p if mass > 0), arb(0)) >= 0.5
            passes = minimum(instance.target.row((x,)), instance.draft.row((x,)))[y]
            expected = passes * (q[x] if unsure else minimum(p, q)[x])
            assert fly.reach[2][3 * x + y] == expected
            overridden += bool(unsure and p[x] < q[x])
    assert overridden > 20


@pytest.mark.parametrize(
    ("spec", "sampling"),
    [("truncation:top_p=7/10", "top_p=.7"), ("truncation", "top_p=.9"), ("truncation:min_p=1/4", "min_p=.25")],
)
def test_truncation_keeps_what_sampling_keeps_and_bounds_the_mass_that_is_lost(spec: str, sampling: str) -> None:
    rule, setting = made(spec), Sampling.parse(sampling)
    for p, q in ROWS:
        law = rule.surrogate(p, q)
        assert law.tolist() == setting.rows(p[None])[0].tolist()
        if rule.top_p is not None:
            assert total_variation(p, law) <= to_fmpq(1 - rule.top_p)
        floats = rule.surrogate(FLOAT64.vector(p), None)
        assert abs(floats - law.astype(np.float64)).max() <= FLOAT64.tolerance  # rounding must not change the set


def test_eta_leaves_out_no_token_above_epsilon_and_none_above_its_share_of_the_entropy() -> None:
    for epsilon in (Fraction(1, 10), Fraction(1, 3)):
        for p, q in ROWS:
            law = made(f"eta:epsilon={epsilon}").surrogate(p, q)
            entropy = -sum((arb(x) * arb(x).log() for x in p if x > 0), arb(0))
            level = arb(to_fmpq(epsilon)).sqrt() * (-entropy).exp()
            for x, y in zip(p, law, strict=True):
                if y == 0:
                    assert x <= to_fmpq(epsilon)
                    assert not arb(x) > level
                elif x < max(p):
                    assert x > to_fmpq(epsilon) or not arb(x) < level


@pytest.mark.parametrize("d", [Fraction(1, 100), Fraction(1, 10), Fraction(3, 4)])
def test_cactus_keeps_its_bound_below_one_half_and_never_leaves_the_draft_behind(d: Fraction) -> None:
    bounded = exceeded = 0
    for p, q in ROWS:
        high = cactus.raised(p, d)
        for token in range(len(p)):
            if not 0 < p[token] < 1:
                continue
            h = cactus.tested_row(p, high[token], token)
            assert h.sum() == 1
            assert h[token] == high[token] >= p[token]
            if high[token] <= fmpq(1, 2):
                assert not divergence(h, p) > arb(to_fmpq(d))
                bounded += 1
            else:
                exceeded += bool(divergence(h, p) > arb(to_fmpq(d)))
        law = made(f"cactus:d={d}").surrogate(p, q)
        assert p.tolist() == law.tolist() or not divergence(law, p) > divergence(q, p)
    assert bounded > 20
    assert exceeded > 20, "the bound is not kept above one half"


@pytest.mark.parametrize("t", [Fraction(1, 100), Fraction(1, 20), Fraction(1, 5)])
def test_fuzzy_has_the_law_of_the_draft_only_within_its_threshold(t: Fraction) -> None:
    near = 0
    for p, q in ROWS:
        middle = (p + q) / 2
        close = not (divergence(p, middle) + divergence(q, middle)) / 2 > arb(to_fmpq(t))
        assert made(f"fuzzy:t={t}").surrogate(p, q).tolist() == (q if close else p).tolist()
        assert accepted(f"fuzzy:t={t}", p, q) == close
        assert accepted(f"toward:inner=specinfer,target=fuzzy:t={t}", p, q) >= close
        near += close and p.tolist() != q.tolist()
    assert near > 3


def clipped(p: Any, q: Any, a: int) -> list[Any]:
    """`q` within `p/b` and `p/a`, with this numerator of `a`."""
    low = fmpq(a, 2**BITS)
    kept = minimum(p / low, q)
    high = upper(kept, p, q)
    return q.tolist() if kept.sum() == 1 else [min(max(y, x / high), x / low) for x, y in zip(p, q, strict=True)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("d", [Fraction(0), Fraction(1, 100), Fraction(1, 10), Fraction(1, 2)])
def test_mentored_keeps_its_divergence_and_no_law_of_that_divergence_accepts_more(d: Fraction) -> None:
    """Optimal by duality among laws with the zeros of `p`: `v` is the best one of its own divergence, for every `a`.

    For it maximises `sum min(q, v) - m sum p log(p/v)` with `m = 1/(b - a)`, term by term. It is enough that the next
    smaller `a` has a divergence above `d`, but for the margin that rounding gets.
    """
    tight = 0
    for p, q in ROWS:
        law = made(f"mentored:d={d}").surrogate(p, q)
        if d == 0:
            assert law.tolist() == p.tolist()
            continue
        left = arb(to_fmpq(d)) - divergence(p, law)
        assert not left < 0
        a = smallest_a(FLOAT64.vector(p), FLOAT64.vector(q), float(d))
        if a == 0:
            assert law.tolist() == q.tolist()
            continue
        if a == 1:  # whatever the target could take is accepted
            assert minimum(law, q).sum() == sum(y for x, y in zip(p, q, strict=True) if x > 0)
            continue
        assert law.tolist() == clipped(p, q, a)
        assert divergence(p, np.array(clipped(p, q, a - 1), dtype=object)) > arb(to_fmpq(d)) - 2 * ROUNDING
        tight += 1
    assert d == 0 or tight > 10
