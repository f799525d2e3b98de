"""Scores and classes in place of programs: lossless however coarse, and as good as the programs where they are fine."""

from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
import pytest

import draftproof.verifiers._scores as scores_module
from draftproof.lp_analysis import single_step_optimum
from draftproof.simulator import FAMILIES, Delayed, block_law, check
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Greedy
from draftproof.simulator.structures import declared
from draftproof.simulator.verdicts.cases import case_instances
from draftproof.verifiers import (
    _programs,
    _tournament,
    khisti,
    layer_greedy,
    make,
    optimal_transport,
    path_transport,
)
from draftproof.verifiers._classes import Sorted
from draftproof.verifiers._scores import DENOMINATOR, Scores, scored, winning_shares, with_scores
from draftproof.verifiers.optimal_transport import one_step
from tests.quick import quick

#: Laws of scores are rounded to multiples of 1/DENOMINATOR: what a law of twenty tokens can lose by it.
ROUNDED = 100 / DENOMINATOR
#: Sums of a hundred thousand terms of at most 1 in double precision.
ROUNDING = 1e-10
SHAPES = [
    (2, 2, 0, 2),
    (3, 2, 0, 1),
    *(pytest.param(shape, marks=pytest.mark.heavy) for shape in ((2, 3, 0, 1), (2, 2, 1, 1))),
]
#: How many classes there are, and how many of them halve p/q: those in use, two, and one.
COARSE = [*(pytest.param(coarse, marks=pytest.mark.heavy) for coarse in (None, (2, 1))), (1, 1)]


def make_coarse(patch: pytest.MonkeyPatch, coarse: tuple[int, int] | None) -> None:
    """Every verifier takes its way for large vocabularies at any size, with so many classes.

    Nothing is remembered: other tests ask for the same rows with the usual classes.
    """
    patch.setattr(_programs, "LONGEST", 0)
    patch.setattr(optimal_transport, "MOST_LISTED_SETS", 0)
    patch.setattr(path_transport, "MOST_TOKENS", 0)
    patch.setattr(layer_greedy, "MOST_TOKENS", 0)
    patch.setattr(khisti, "CLASSES", 0)
    if coarse:
        classes, an_octave = coarse
        patch.setattr(scores_module, "FINE", classes)
        patch.setattr(scores_module, "AN_OCTAVE", an_octave)
        patch.setattr(layer_greedy, "CLASSES", classes)
        patch.setattr(_tournament, "FINE", classes)
        patch.setattr(_tournament, "AN_OCTAVE", an_octave)


@pytest.mark.parametrize("coarse", COARSE, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", quick(["optimal_transport", "path_transport", "khisti"], ["path_transport"]))
def test_lossless_with_however_few_classes_and_structured_alike(
    name: str, shape: tuple[int, ...], coarse: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_coarse(monkeypatch, coarse)
    scheme = Delayed(*shape[1:])
    for instance in case_instances((shape[0], scheme), 1):
        assert check(make(name), instance.target, instance.draft, scheme, engine="enumerate").max_deviation == 0
        enumerated, structured = (
            block_law(make(name), instance.target, instance.draft, scheme, "rational", engine)
            for engine in ("enumerate", "structured")
        )
        for ours, theirs in zip(enumerated.correction, structured.correction, strict=True):
            assert (ours == theirs).all()


@pytest.mark.parametrize("coarse", COARSE, ids=str)
@pytest.mark.parametrize("rule", ["khisti", "optimal_transport"])
def test_layers_are_lossless_with_however_few_classes(
    rule: str, coarse: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_coarse(monkeypatch, coarse)
    for instance in case_instances((3, Delayed(2, 0, 1)), 1):
        verifier = make("layer_verification", rule=rule)
        assert check(verifier, instance.target, instance.draft, Delayed(2, 0, 1)).max_deviation == 0
    for instance in case_instances((2, Delayed(2, 0, 2)), 1):
        verifier = make("layer_verification", rule=rule)
        assert check(verifier, instance.target, instance.draft, Delayed(2, 0, 2)).max_deviation == 0


@pytest.mark.one_in(3, first=1)
@pytest.mark.parametrize("coarse", COARSE, ids=str)
@pytest.mark.parametrize("scheme", [Greedy(2, 0, 2), Greedy(3, 0, 1), Greedy(2, 1, 1)], ids=str)
def test_greedy_layers_are_lossless_with_however_few_classes(
    scheme: Greedy, coarse: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_coarse(monkeypatch, coarse)
    for instance in case_instances((3, scheme), 2):
        assert check(make("layer_greedy"), instance.target, instance.draft, scheme).max_deviation == 0


def test_a_law_that_is_not_that_of_the_scores_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks above can fail: `r` computed for one draft more."""
    make_coarse(monkeypatch, None)
    right = scores_module.gains
    monkeypatch.setattr(scores_module, "gains", lambda low, high, alive: right(low, high, (0, *alive)))
    instance = next(iter(case_instances((2, Delayed(2, 0, 1)), 1)))
    assert check(make("optimal_transport"), instance.target, instance.draft, Delayed(2, 0, 1)).max_deviation > 0


def tokens_as_classes(size: int, k: int, seed: int) -> tuple[Scores, list[Fraction], list[Fraction]]:
    """A node whose classes are its tokens, in rationals, with `p` and `q`."""
    instance = FAMILIES["dirichlet"].instance(size, 1, np.random.default_rng(seed), 64)
    p, q = instance.target.row(()), instance.draft.row(())
    alive = tuple(RATIONAL.vector([0] * (k - 1) + [1]))
    found = with_scores(Sorted(np.arange(size), p, q), alive)
    return found, [as_python(x) for x in p], [as_python(x) for x in q]


def by_definition(scores: Scores, drafted: tuple[int, ...]) -> list[Fraction]:
    """The probability of each draft to be taken: every cell for every draft, the best wins, among equals by lot."""
    laws = [[Fraction(int(units), DENOMINATOR) for units in scores.units[scores.rows[token]]] for token in drafted]
    chances = [Fraction(0)] * len(drafted)
    for cells in product(range(len(laws[0])), repeat=len(drafted)):
        chance = prod(law[cell] for law, cell in zip(laws, cells, strict=True))
        winners = [i for i, cell in enumerate(cells) if cell == max(cells)]
        for i in winners:
            chances[i] += chance / len(winners)
    return chances


@pytest.mark.parametrize("k", [1, 2, 3])
def test_chances_rates_and_shares_are_those_of_the_definition(k: int) -> None:
    for seed in range(3):
        scores, _, q = tokens_as_classes(3, k, seed)
        taken = [[Fraction(0)] * (k + 1) for _ in q]
        for drafted in product(range(3), repeat=k):
            chances = by_definition(scores, drafted)
            assert [as_python(chance) for chance in scores.chances(drafted)] == chances
            for token, chance in zip(drafted, chances, strict=True):
                taken[token][drafted.count(token)] += prod(q[other] for other in drafted) * chance
        rates = [as_python(rate) for rate in scores.rates(range(3))]
        assert [mass * rate for mass, rate in zip(q, rates, strict=True)] == [sum(row) for row in taken]
        shares = winning_shares(scores, range(3), RATIONAL.vector(q))
        assert [[as_python(x) for x in row] for row in shares] == [[row[m] for row in taken] for m in range(1, k + 1)]


@pytest.mark.parametrize("k", [2, 3, 4])
def test_tokens_as_classes_attain_the_optimum_of_one_step(k: int) -> None:
    for size, seed in product((2, 3, 5, 8), range(6)):
        scores, p, q = tokens_as_classes(size, k, seed)
        law = [mass * as_python(rate) for mass, rate in zip(q, scores.rates(range(size)), strict=True)]
        assert sum(law) == 1
        sets = [chosen for n in range(size + 1) for chosen in combinations(range(size), n)]
        hit = {chosen: 1 - (1 - sum(q[y] for y in chosen)) ** k for chosen in sets}
        assert all(sum(law[y] for y in chosen) <= hit[chosen] for chosen in sets)  # in the base polytope, exactly
        best = min(1 - sum(p[y] for y in chosen) + hit[chosen] for chosen in sets)
        assert best - ROUNDED <= sum(map(min, p, law)) <= best


def spread_rows(size: int, distance: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    logits = 2.5 * generator.normal(size=size)
    p, q = np.exp(logits), np.exp(logits + distance * generator.normal(size=size))
    return p / p.sum(), q / q.sum()


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("distance", [0.05, 0.7, 3.0])
def test_classes_of_a_real_vocabulary_come_within_a_thousandth_of_the_optimum(k: int, distance: float) -> None:
    p, q = spread_rows(32_000, distance, 0)
    scores = scored(p, q, (*[0] * (k - 1), 1))
    law = q * scores.rho[scores.node.place]
    assert law.sum() == pytest.approx(1, abs=ROUNDING)
    accepted, best = np.minimum(p, law).sum(), single_step_optimum(p, q, k) - 1
    assert 0.999 * best <= accepted <= best + ROUNDING


@pytest.mark.parametrize("name", ["optimal_transport", "khisti"])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_laws_given_the_drafts_are_those_of_the_target_in_torch_too(name: str, precision: str) -> None:
    torch = pytest.importorskip("torch")
    p, q = spread_rows(200, 0.7, 1)
    rows = [torch.tensor(row, dtype=getattr(torch, precision)) for row in (p, q)]
    limit = ROUNDING if precision == "float64" else 2e-5  # two hundred roundings of 2**-24
    verifier = make(name)
    for drafted in ((3, 5, 3), (7, 8, 9), (1, 1, 1)):
        ours, theirs = declared(verifier).branch(p, q, drafted), declared(verifier).branch(*rows, drafted)
        assert abs(ours - theirs.double().numpy()).max() <= limit
        assert abs(ours.sum() - 1) <= ROUNDING
    law = declared(verifier).child_law(p, q, 3)
    rate, best = law[1:].sum(), single_step_optimum(p, q, 3) - 1
    assert 0.97 * best <= rate <= best + ROUNDING
    assert abs(law.sum(0) - p).max() <= ROUNDING
    assert abs(law - declared(verifier).child_law(*rows, 3).double().numpy()).max() <= limit


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "torch", "torch half"])
def test_a_single_draft_is_kept_as_far_as_it_is_owed_at_any_precision(kind):
    """Sums of a row of low precision are not of that precision: whole numbers of scores would be infinite there."""
    generator = np.random.default_rng(2)
    p, q = (generator.dirichlet(np.full(900, 0.3)) for _ in range(2))
    if kind.startswith("torch"):
        torch = pytest.importorskip("torch")
        p, q = (torch.tensor(row, dtype=torch.float16 if kind.endswith("half") else torch.float64) for row in (p, q))
    else:
        p, q = p.astype(kind), q.astype(kind)
    scores = one_step(p, q, 1)
    drafted = [int(token) for token in np.flatnonzero(np.asarray(p < q))[:5]]
    assert scores.edges.dtype == np.float64
    for token in drafted:
        assert scores.accepted(p, q, [token])[token] == pytest.approx(float(p[token]) / float(q[token]), abs=ROUNDING)
