"""Joint verification of a layer: lossless for every race, and the equalised one is the best of them."""

from functools import partial
from itertools import product

import numpy as np
import pytest

from draftproof.simulator import Delayed, check
from draftproof.simulator.verdicts.cases import conformance_instances
from draftproof.verifiers import make
from draftproof.verifiers._equalised import by_rounds, equalised
from draftproof.verifiers._race import Race, exact_law, race_law
from draftproof.verifiers.layer_transport import LayerTransport, law_of
from draftproof.verifiers.layer_verification import RULES

SHAPES = ((2, 3, 0, 2), (3, 2, 0, 2), (2, 2, 1, 2), (3, 3, 0, 1), (2, 2, 0, 3))
#: The shapes of the long check, (V, K, L1, L2).
MANY = ((2, 2, 0, 3), (2, 3, 0, 2), (2, 4, 0, 2), (3, 2, 0, 2), (3, 3, 0, 2), (4, 2, 0, 2), (3, 2, 1, 2), (2, 3, 1, 2))
#: Those of them that take a second an instance.
LARGE = ((2, 4, 0, 2), (3, 3, 0, 2), (4, 2, 0, 2), (3, 2, 1, 2))
#: Sums of a few products of numbers of at most 1, and the error of the integral.
ROUNDING = 1e-11


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


def random_races_are_lossless(shape, count: int) -> int:
    refused = 0
    for number, instance in enumerate(conformance_instances(shape, count)):
        for verifier in (RandomRace(number), make("layer_transport")):
            found = check(verifier, instance.target, instance.draft, Delayed(*shape[1:]), engine="enumerate")
            assert found.max_deviation == 0
            refused += isinstance(verifier, RandomRace)
    return refused


@pytest.mark.heavy
@pytest.mark.parametrize("shape", MANY, ids=str)
def test_many_random_races_are_lossless(shape):
    count = 20 if shape in LARGE else 200
    assert random_races_are_lossless(shape, count) == count


def test_a_law_that_is_not_the_one_of_the_race_is_refuted():
    class Wrong(RandomRace):
        def race_of(self, target_mass, draft, branches):
            race, law = super().race_of(target_mass, draft, branches)
            return race, law[::-1].copy()

    found = [
        check(Wrong(number), instance.target, instance.draft, Delayed(2, 0, 2), engine="enumerate")
        for number, instance in enumerate(conformance_instances((2, 2, 0, 2), 2))
    ]
    assert any(not one.lossless for one in found)


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


@pytest.mark.parametrize("rule", RULES)
def test_layer_verification_is_lossless_with_every_rule(rule):
    for shape in SHAPES[2:4]:
        for instance in conformance_instances(shape, 2):
            verifier = make("layer_verification", rule=rule)
            found = check(verifier, instance.target, instance.draft, Delayed(*shape[1:]), engine="enumerate")
            assert found.max_deviation == 0


def test_layer_transport_equals_optimal_transport_at_one_step():
    for shape in ((3, 3, 0, 1), (2, 4, 0, 1), (4, 2, 0, 1)):
        for instance in conformance_instances(shape, 8):
            ours, best = (
                check(make(name), instance.target, instance.draft, Delayed(*shape[1:]), "float64").block_efficiency
                for name in ("layer_transport", "optimal_transport")
            )
            assert best - 2e-4 <= ours <= best + ROUNDING
