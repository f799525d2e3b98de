"""Joint verification of a layer: lossless for every race and for every weights of sets, and near the best of them."""

from functools import partial
from itertools import product

import numpy as np
import pytest

from draftproof.lp_analysis.direct import direct_bound
from draftproof.simulator import Delayed, check
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import Greedy, WithoutReplacement
from draftproof.simulator.verdicts.cases import case_instances, conformance_instances
from draftproof.verifiers import _equalised, make
from draftproof.verifiers import layer_without_replacement as sets_module
from draftproof.verifiers._equalised import by_rounds, equalised, newton_weights
from draftproof.verifiers._race import Race, exact_law, race_law
from draftproof.verifiers.layer_transport import LayerTransport, law_of
from draftproof.verifiers.layer_without_replacement import _law, greedy_sets, without_replacement_sets

#: The shapes of the long check, (V, K, L1, L2).
MANY = ((2, 2, 0, 3), (2, 3, 0, 2), (2, 4, 0, 2), (3, 2, 0, 2), (3, 3, 0, 2), (4, 2, 0, 2), (3, 2, 1, 2), (2, 3, 1, 2))
#: Those of them that take a second an instance.
LARGE = ((2, 4, 0, 2), (3, 3, 0, 2), (4, 2, 0, 2), (3, 2, 1, 2))
#: Sums of a few products of numbers of at most 1, and the error of the integral.
ROUNDING = 1e-11
#: A sum of minima may lose what the weights lose by keeping a few bits, and the error at which steps end.
CLOSE = 2e-3
#: The solver's tolerance on a few dozen variables.
SOLVED = 1e-7


class RandomRace(LayerTransport):
    """Any blocks and any whole weights, zeros included: a function of the layer, as far from the best as may be."""

    def __init__(self, seed: int) -> None:
        object.__setattr__(self, "seed", seed)

    def race_of(self, target_mass, draft, branches):
        digest = [round(float(value) * 1e6) for value in (*target_mass.tolist(), *draft.tolist())]
        generator = np.random.default_rng((self.seed, *digest, *branches))
        shape = (len(branches), len(target_mass) // len(branches))
        blocks, weights = generator.integers(0, 3, shape), generator.integers(0, 6, shape)
        race = Race(blocks, weights, *(int(number) for number in generator.integers(0, 4, 2)))
        return race, law_of(race, draft, branches)


class WrongLaw(RandomRace):
    """Takes the law of the race for another one."""

    def race_of(self, target_mass, draft, branches):
        race, law = super().race_of(target_mass, draft, branches)
        return race, law[::-1].copy()


def verdicts(kind, shape, count):
    for number, instance in enumerate(conformance_instances(shape, count)):
        yield check(kind(number), instance.target, instance.draft, Delayed(*shape[1:]), engine="enumerate").lossless


@pytest.mark.heavy
@pytest.mark.parametrize("shape", MANY, ids=str)
def test_many_random_races_are_lossless(shape):
    assert all(verdicts(RandomRace, shape, 20 if shape in LARGE else 200))


def test_random_races_are_lossless_and_a_law_that_is_not_the_one_of_the_race_is_refuted():
    assert all(verdicts(RandomRace, (2, 2, 0, 2), 2))
    assert not all(verdicts(WrongLaw, (2, 2, 0, 2), 2))


def layers(n: int, J: int, count: int, seed: int):
    """Random layers: target and draft masses, of shape `(count, n, J)`; some entries are zero."""
    generator = np.random.default_rng((seed, n, J))
    scores = generator.dirichlet(np.ones(n), count) * generator.random((count, 1))
    target_mass, draft = (generator.dirichlet(np.full(J, 0.7), (count, n)) for _ in range(2))
    target_mass[:, 0, 0] *= generator.random(count) > 0.2
    return scores[:, :, None] * target_mass, draft


def largest_step(target_mass, draft, branches) -> float:
    """`min over S of t(not S) + f(S)`, over all sets of pairs: what any transport of the layer can reach."""
    n, J = target_mass.shape
    best = np.inf
    for chosen in product((False, True), repeat=n * J):
        inside = np.array(chosen).reshape(n, J)
        missed = ((1 - (draft * inside).sum(axis=1)) ** np.array(branches)).prod()
        best = min(best, (target_mass * ~inside).sum() + 1 - missed)
    return float(best)


@pytest.mark.parametrize("branches", [(4,), (2, 1), (1, 1, 1), (2, 2)], ids=str)
def test_the_law_of_a_race_by_sums_and_by_the_integral(branches):
    target_mass, draft = layers(len(branches), 3, 20, 0)
    race = equalised(target_mass, draft, branches)
    by_integral = race_law(race, draft, branches)
    for one, masses, law in zip(race.layers(), draft, by_integral, strict=True):
        assert np.allclose(exact_law(one, masses.tolist(), branches), law, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("branches", [(3,), (1, 2), (1, 1, 1)], ids=str)
def test_the_closed_form_gets_as_far_as_any_transport_of_the_layer(branches):
    target_mass, draft = layers(len(branches), 4 if len(branches) < 3 else 3, 25, 1)
    law = race_law(equalised(target_mass, draft, branches, partial(by_rounds, rounds=200)), draft, branches)
    for t, q, r in zip(target_mass, draft, law, strict=True):
        most = largest_step(t, q, branches)
        assert most - 1e-4 <= np.minimum(t, r).sum() <= most + ROUNDING  # weights keep a few bits


@pytest.mark.parametrize("branches", [(4,), (1, 1, 1), (1, 3), (2, 2)], ids=str)
def test_newtons_method_gets_as_far_as_many_rounds(branches):
    for seed in range(3):
        masses = layers(len(branches), 12, 1, seed)
        rates = [
            np.minimum(masses[0], race_law(equalised(*masses, branches, solve), masses[1], branches)).sum()
            for solve in (newton_weights, partial(by_rounds, rounds=200))
        ]
        assert rates[0] >= rates[1] - CLOSE


@pytest.mark.parametrize("limit", ["MOST", "NEAR"])
def test_rounds_take_over_from_newtons_method(monkeypatch, limit):
    """Above so many pairs, and where no step comes near."""
    monkeypatch.setattr(_equalised, limit, 0)
    masses, branches = layers(2, 12, 1, 1), (2, 2)
    races = [equalised(*masses, branches, solve) for solve in (newton_weights, by_rounds)]
    assert (races[0].weights == races[1].weights).all()


def test_layer_transport_equals_optimal_transport_at_one_step():
    for shape in ((3, 3, 0, 1), (2, 4, 0, 1), (4, 2, 0, 1)):
        for instance in conformance_instances(shape, 8):
            ours, best = (
                check(make(name), instance.target, instance.draft, Delayed(*shape[1:]), "float64").block_efficiency
                for name in ("layer_transport", "optimal_transport")
            )
            assert best - 2e-4 <= ours <= best + ROUNDING


# Layers whose nodes draw sets of different tokens.
SETS = {
    "layer_without_replacement": (WithoutReplacement, without_replacement_sets),
    "layer_greedy": (Greedy, greedy_sets),
}
ON_SETS = pytest.mark.parametrize("name", SETS)


@ON_SETS
def test_the_listed_sets_are_those_of_the_scheme(name):
    scheme, listing = SETS[name]
    for size, k in ((3, 1), (3, 2), (3, 3), (4, 2), (4, 3)):
        for instance in case_instances((size, scheme(k, 0, 1)), 3):
            q = instance.draft.row(())
            drawable = sum(1 for mass in q if mass > 0)
            wanted: dict = {}
            for tokens, mass in outcomes(partial(scheme(k, 0, 1).children, q, k=min(k, drawable)), RATIONAL):
                wanted[tuple(sorted(tokens))] = wanted.get(tuple(sorted(tokens)), 0) + mass
            assert dict(listing(q, min(k, drawable))) == wanted


@ON_SETS
def test_any_weights_are_lossless_and_a_wrong_law_is_refuted(name, monkeypatch):
    scheme, lossless = SETS[name][0](2, 1, 1), {}

    def race_of(target_mass, draft, key):
        listing, *numbers = key
        rows = draft.reshape(len(numbers), -1)
        digest = [round(float(value) * 1e6) for value in (*target_mass.tolist(), *draft.tolist())]
        weights = np.random.default_rng(digest).integers(0, 6, rows.shape)
        law = _law(weights, [listing(row, k) for row, k in zip(rows, numbers, strict=True)], draft)
        return weights, law if honest else law[::-1].copy()

    monkeypatch.setattr(sets_module, "_race_of", race_of)
    for honest in (True, False):
        found = [
            check(make(name), instance.target, instance.draft, scheme, engine="enumerate").lossless
            for instance in conformance_instances((3, 2, 1, 1), 1)
        ]
        lossless[honest] = all(found)
    assert lossless == {True: True, False: False}


@ON_SETS
def test_choosing_a_node_first_is_lossless_too(name, monkeypatch):
    monkeypatch.setattr(sets_module, "MOST_TOGETHER", 1)
    scheme = WithoutReplacement(2, 1, 1) if name == "layer_without_replacement" else Greedy(2, 0, 2)
    for instance in case_instances((3, scheme), 1):
        assert check(make(name), instance.target, instance.draft, scheme, engine="enumerate").max_deviation == 0


@ON_SETS
def test_one_step_is_near_the_optimum_and_no_step_is_above_it(name):
    scheme = SETS[name][0]
    for shape in (scheme(2, 0, 1), scheme(3, 0, 1), scheme(2, 1, 1)):
        for instance in case_instances((3, shape), 1):
            most = direct_bound(instance.target, instance.draft, shape)
            ours = float(check(make(name), instance.target, instance.draft, shape, engine="enumerate").block_efficiency)
            assert ours <= most + SOLVED
            assert shape.depth > 1 or ours >= most - 2e-3
