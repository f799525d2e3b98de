"""Rows in classes in place of programs: lossless however coarse, structured alike, and as good as the programs."""

from fractions import Fraction
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
import pytest

import draftproof.verifiers._scores as scores_module
from draftproof.simulator import FAMILIES, Delayed, TableProcess, block_law, check
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Greedy
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.structures import declared
from draftproof.simulator.verdicts.cases import case_instances
from draftproof.verifiers import _programs, khisti, layer_greedy, make, optimal_transport, path_transport
from draftproof.verifiers._classes import Group, Sorted, by_classes, classes_of, race_classes
from draftproof.verifiers._layers import Scored
from draftproof.verifiers._scores import DENOMINATOR, Scores, scored, winning_shares, with_scores
from draftproof.verifiers.layer_transport import LayerTransport
from draftproof.verifiers.optimal_transport import one_step
from tests.lp_analysis.cases import best_acceptance

#: Laws of scores are rounded to multiples of 1/DENOMINATOR: what a law of twenty tokens can lose by it.
ROUNDED = 100 / DENOMINATOR
#: Sums of a hundred thousand terms of at most 1 in double precision.
ROUNDING = 1e-10
#: The middle of numbers with the same four digits is off by a 32nd at most, and by less on average.
MIDDLES = 1 / 32
#: How many classes there are, and how many of them halve p/q: those in use, two, and one.
COARSE = [*(pytest.param(coarse, marks=pytest.mark.heavy) for coarse in (None, (2, 1))), (1, 1)]
KINDS = ["float64", "float32", "torch", "torch half"]


class TokensAlone(LayerTransport):
    """A weight for every token at any vocabulary size."""

    most_tokens = 1000


class InClasses(LayerTransport):
    """Classes of tokens at any vocabulary size."""

    most_tokens = 0


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
        patch.setattr(layer_greedy, "CLASSES", classes)
        for module in (scores_module, khisti):
            patch.setattr(module, "FINE", classes)
            patch.setattr(module, "AN_OCTAVE", an_octave)


#: A verifier that goes by classes, with a vocabulary size and a scheme.
BY_CLASSES = [
    *((make(name), size, scheme) for name in ("optimal_transport", "path_transport", "khisti")
      for size, scheme in ((3, Delayed(2, 0, 1)), (2, Delayed(2, 0, 2)), (2, Delayed(2, 1, 1)))),
    (make("layer_verification"), 3, Delayed(2, 0, 1)),
    *((InClasses(), size, scheme) for size, scheme in ((3, Delayed(2, 0, 1)), (2, Delayed(2, 1, 2)))),
    *((make("layer_greedy"), 3, scheme) for scheme in (Greedy(2, 0, 2), Greedy(3, 0, 1), Greedy(2, 1, 1))),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("coarse", COARSE, ids=str)
@pytest.mark.parametrize(("verifier", "size", "scheme"), BY_CLASSES, ids=lambda part: getattr(part, "card", part))
def test_lossless_with_however_few_classes_and_structured_alike(
    verifier: Any, size: int, scheme: Any, coarse: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_coarse(monkeypatch, coarse)
    for instance in case_instances((size, scheme), 1):
        given = instance.target, instance.draft, scheme
        assert check(verifier, *given, engine="enumerate").max_deviation == 0
        if declared(verifier) is not None and isinstance(scheme, Delayed):
            enumerated, structured = (
                block_law(verifier, *given, "rational", engine) for engine in ("enumerate", "structured")
            )
            pairs = zip(enumerated.correction, structured.correction, strict=True)
            assert all((ours == theirs).all() for ours, theirs in pairs)


def test_a_law_that_is_not_that_of_the_scores_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks above can fail: `r` computed for one draft more."""
    make_coarse(monkeypatch, None)
    right = scores_module.gains
    monkeypatch.setattr(scores_module, "gains", lambda low, high, alive: right(low, high, (0, *alive)))
    instance = next(iter(case_instances((2, Delayed(2, 0, 1)), 1)))
    assert check(make("optimal_transport"), instance.target, instance.draft, Delayed(2, 0, 1)).max_deviation > 0


def test_a_long_vocabulary_goes_by_classes_in_its_structure() -> None:
    """Two ratios in one class: a target of 1.95 times the draft mass gets no more than one of 1.55 times."""
    size, k = 35, 2
    ratios = np.where(np.arange(size) % 5 == 0, 1.55, np.where(np.arange(size) % 5 == 1, 1.95, 0.5))
    q = np.full(size, 1 / size)
    p = q * ratios / (q * ratios).sum()
    target, draft = TableProcess([p[None], np.tile(p, (size, 1))]), TableProcess([q[None]])

    def passed(verifier: LayerTransport) -> float:
        """The mean of what passes, over all pairs of drafts; pairs of one kind pass alike."""
        total, known = 0.0, {}
        for first, second in product(range(size), repeat=k):
            kind = first % 5, second % 5, first == second
            if kind not in known:
                root = DraftTree.from_paths((), [(first,), (second,)]).root(target, draft)
                known[kind] = sum(map(float, verifier.step([Scored(root, 1.0)]).scores.values()))
            total += known[kind] / size**k
        return total

    structured = block_law(LayerTransport(), target, draft, Delayed(k, 0, 1), "float64")
    assert structured.block_efficiency == pytest.approx(1 + passed(LayerTransport()), abs=ROUNDING)
    assert passed(TokensAlone()) > passed(LayerTransport()) + 1e-5


# The classes of a row.


def given_as(kind: str, *rows: Any) -> tuple[list[Any], list[Any]]:
    """Rows of this kind, and the float64 that they stand for."""
    if kind.startswith("torch"):
        torch = pytest.importorskip("torch")
        given = [torch.tensor(row, dtype=torch.bfloat16 if "half" in kind else torch.float64) for row in rows]
        return given, [row.double().numpy() for row in given]
    given = [row.astype(kind) for row in rows]
    return given, [row.astype(np.float64) for row in given]


def random_rows(size: int, distance: float, zeros: bool = False, seed: int = 0) -> tuple[Any, Any]:
    """Rows `p` and `q` whose logits differ by so much; with zeros most entries of each are 0."""
    generator = np.random.default_rng(seed)
    logits = 2.5 * generator.normal(size=size)
    p, q = np.exp(logits), np.exp(logits + distance * generator.normal(size=size))
    if zeros:
        p, q = p * (generator.random(size) < 0.3), q * (generator.random(size) < 0.3)
    return p / p.sum(), q / q.sum()


def with_a_large_token(p: Any, q: Any) -> tuple[Any, Any]:
    p[7], q[7] = 1, 0.9
    return p / p.sum(), q / q.sum()


@pytest.mark.parametrize("case", [(12.0, False), (1.0, True)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [(32, 2), (1, 1)], ids=str)
def test_a_row_by_classes(kind: str, case: tuple[float, bool], classes: tuple[int, int]) -> None:
    """Ordered by ratio; the masses of `q` are exact, those of `p` for a race are close to theirs."""
    given, (p, q) = given_as(kind, *with_a_large_token(*random_rows(3000, *case)))
    (node,) = race_classes(given[0], [Group(given[1], (0,))], *classes)
    exact, drafted = by_classes(p, q, *classes), q > 0
    places = np.asarray(node.place)
    assert (places[drafted] == exact.place[drafted]).all()
    assert (np.diff(places[drafted][np.argsort(p[drafted] / q[drafted], kind="stable")]) >= 0).all()
    assert classes_of(node, [7, 5]) == places[[7, 5]].tolist()
    assert np.allclose(node.q, exact.q, rtol=0, atol=ROUNDING)
    assert np.allclose(exact.q, np.bincount(exact.place, q, classes[0]), rtol=0, atol=ROUNDING)
    assert np.allclose(exact.p, np.bincount(exact.place, p, classes[0]), rtol=0, atol=ROUNDING)
    met = np.bincount(places, np.where(drafted, p, 0), classes[0])  # what no draft comes to is not aimed at
    within = (p <= 2.0**32 * q) & (p >= 2.0**-32 * q)
    off = np.bincount(places, np.where(drafted & ~within, p, 0), classes[0])
    assert (abs(node.p - met) <= MIDDLES * met + off + ROUNDING).all()
    large = places[7]
    assert abs(node.p[large] - met[large]) <= MIDDLES * (met[large] - p[7]) + off[large] + ROUNDING


def test_rational_rows_have_exact_masses_and_the_aim_of_floats() -> None:
    units = np.random.default_rng(1).integers(0, 50, (2, 40)).tolist()
    exact = [RATIONAL.vector(row) / sum(row) for row in units]
    floats = [row.astype(np.float64) for row in exact]
    (ours,), (theirs,) = (race_classes(p, [Group(q, (0,))], 32, 2) for p, q in (exact, floats))
    assert (ours.place == theirs.place).all()
    assert sum(ours.q.tolist()) == 1
    assert abs(ours.q.astype(np.float64) - theirs.q).max() <= ROUNDING
    assert abs(ours.p - theirs.p).max() <= ROUNDING


@pytest.mark.parametrize("kind", ["float64", "torch"])
def test_laws_of_parts_meet_their_parts_of_the_target(kind: str) -> None:
    p, q = with_a_large_token(*random_rows(3000, 1.0))
    inside = np.arange(len(q)) < 200
    laws = [part / part.sum() for part in (np.where(inside, q, 0), np.where(inside, 0, q))]
    (target, *given), _ = given_as(kind, p, *laws)
    nodes = race_classes(target, [Group(given[0], (0,)), Group(given[1], (0, 0))], 32, 2)
    mean = (laws[0] + 2 * laws[1]) / 3
    for node, law, count in zip(nodes, laws, (1, 2), strict=True):
        assert (node.place == by_classes(p, mean).place).all()
        assert np.allclose(node.q, np.bincount(node.place, law, 32), rtol=0, atol=ROUNDING)
        wanted = np.bincount(node.place, p * count * law / (3 * mean), 32)
        assert (abs(node.p - wanted) <= MIDDLES * wanted + ROUNDING).all()


# Scores.


def tokens_as_classes(size: int, k: int, seed: int) -> tuple[Scores, list[Fraction], list[Fraction]]:
    """A node whose classes are its tokens, in rationals, with `p` and `q`."""
    instance = FAMILIES["dirichlet"].instance(size, 1, np.random.default_rng(seed), 64)
    p, q = instance.target.row(()), instance.draft.row(())
    scores = with_scores(Sorted(np.arange(size), p, q), tuple(RATIONAL.vector([0] * (k - 1) + [1])))
    return scores, [as_python(x) for x in p], [as_python(x) for x in q]


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
    for size, seed in product((2, 5), range(6)):
        scores, p, q = tokens_as_classes(size, k, seed)
        law = [mass * as_python(rate) for mass, rate in zip(q, scores.rates(range(size)), strict=True)]
        assert sum(law) == 1
        sets = [chosen for n in range(size + 1) for chosen in combinations(range(size), n)]
        hit = {chosen: 1 - (1 - sum(q[y] for y in chosen)) ** k for chosen in sets}
        assert all(sum(law[y] for y in chosen) <= hit[chosen] for chosen in sets)  # in the base polytope, exactly
        best = min(1 - sum(p[y] for y in chosen) + hit[chosen] for chosen in sets)
        assert best - ROUNDED <= sum(map(min, p, law)) <= best


@pytest.mark.parametrize(("k", "distance"), [(2, 3.0), (4, 0.05), (4, 0.7)])
def test_classes_of_a_real_vocabulary_come_within_a_thousandth_of_the_optimum(k: int, distance: float) -> None:
    p, q = random_rows(32_000, distance)
    scores = scored(p, q, (*[0] * (k - 1), 1))
    law = q * scores.rho[scores.node.place]
    assert law.sum() == pytest.approx(1, abs=ROUNDING)
    accepted, best = np.minimum(p, law).sum(), best_acceptance(p, q, k)
    assert 0.999 * best <= accepted <= best + ROUNDING


@pytest.mark.parametrize("name", ["optimal_transport", "khisti"])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_laws_given_the_drafts_are_those_of_the_target_in_torch_too(name: str, precision: str) -> None:
    torch = pytest.importorskip("torch")
    p, q = random_rows(200, 0.7, seed=1)
    rows = [torch.tensor(row, dtype=getattr(torch, precision)) for row in (p, q)]
    limit = ROUNDING if precision == "float64" else 2e-5  # two hundred roundings of 2**-24
    structure: Any = declared(make(name))
    for drafted in ((3, 5, 3), (7, 8, 9), (1, 1, 1)):
        ours, theirs = structure.branch(p, q, drafted), structure.branch(*rows, drafted)
        assert abs(ours - theirs.double().numpy()).max() <= limit
        assert abs(ours.sum() - 1) <= ROUNDING
    law = structure.child_law(p, q, 3)
    rate, best = law[1:].sum(), best_acceptance(p, q, 3)
    assert 0.97 * best <= rate <= best + ROUNDING
    assert abs(law.sum(0) - p).max() <= ROUNDING
    assert abs(law - structure.child_law(*rows, 3).double().numpy()).max() <= limit


@pytest.mark.parametrize("kind", [*KINDS, "float16"])
def test_a_single_draft_is_kept_as_far_as_it_is_owed_at_any_precision(kind: str) -> None:
    """Sums of a row of low precision are not of that precision: whole numbers of scores would be infinite there."""
    generator = np.random.default_rng(2)
    (p, q), _ = given_as(kind, *(generator.dirichlet(np.full(900, 0.3)) for _ in range(2)))
    scores = one_step(p, q, 1)
    assert scores.edges.dtype == np.float64
    for token in np.flatnonzero(np.asarray(p < q))[:5].tolist():
        assert scores.accepted(p, q, [token])[token] == pytest.approx(float(p[token]) / float(q[token]), abs=ROUNDING)
