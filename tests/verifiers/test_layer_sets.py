"""Joint verification of layers whose nodes draw different tokens: without replacement, greedy trees, top tokens."""

from functools import partial

import numpy as np
import pytest

from draftproof.lp_analysis.direct import direct_bound
from draftproof.simulator import check
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import Greedy, WithoutReplacement
from draftproof.simulator.protocol import Card
from draftproof.simulator.verdicts.cases import case_instances
from draftproof.verifiers import _layer_sets as sets_module
from draftproof.verifiers import make
from draftproof.verifiers._layer_sets import _law, greedy_sets, set_step, without_replacement_sets
from draftproof.verifiers._layers import sweep

KINDS = [(WithoutReplacement, without_replacement_sets, "without_replacement"), (Greedy, greedy_sets, "greedy")]
#: The solver's tolerance on a few dozen variables, and what weights of 20 bits may lose.
SOLVED, ROUNDED = 1e-7, 1e-4


@pytest.mark.parametrize(("scheme", "listing", "name"), KINDS, ids=lambda part: getattr(part, "__name__", part))
def test_the_listed_sets_are_those_of_the_scheme(scheme, listing, name):
    for size, k in ((3, 1), (3, 2), (3, 3), (4, 2), (4, 3)):
        for instance in case_instances((size, scheme(k, 0, 1)), 3):
            q = instance.draft.row(())
            drawable = sum(1 for mass in q if mass > 0)
            wanted: dict = {}
            for tokens, mass in outcomes(partial(scheme(k, 0, 1).children, q, k=min(k, drawable)), RATIONAL):
                wanted[tuple(sorted(tokens))] = wanted.get(tuple(sorted(tokens)), 0) + mass
            assert dict(listing(q, min(k, drawable))) == wanted


class RandomWeights:
    """Any whole weights, zeros included, with the law that they induce, or with another."""

    card = Card(name="random_weights", title="Random weights", source=None, needs=None)

    def __init__(self, listing, seed: int, honest: bool = True) -> None:
        self.listing, self.seed, self.honest = listing, seed, honest

    def verify(self, root, coin):
        return sweep(root, coin, partial(set_step, listing=self.listing))

    def race_of(self, target_mass, draft, key):
        listing, *numbers = key
        rows = [
            draft[place * len(draft) // len(numbers) :][: len(draft) // len(numbers)] for place in range(len(numbers))
        ]
        digest = [round(float(value) * 1e6) for value in (*target_mass.tolist(), *draft.tolist())]
        weights = np.random.default_rng((self.seed, *digest)).integers(0, 6, (len(numbers), len(rows[0])))
        law = _law(weights, [listing(row, k) for row, k in zip(rows, numbers, strict=True)], draft)
        return weights, law if self.honest else law[::-1].copy()


@pytest.mark.heavy
@pytest.mark.parametrize(("scheme", "listing", "name"), KINDS, ids=lambda part: getattr(part, "__name__", part))
def test_any_weights_are_lossless_and_a_wrong_law_is_refuted(scheme, listing, name, monkeypatch):
    refuted = 0
    for number, instance in enumerate(case_instances((3, scheme(2, 1, 1)), 1)):
        for honest in (True, False):
            verifier = RandomWeights(listing, number, honest)
            monkeypatch.setattr(sets_module, "_race_of", verifier.race_of)
            found = check(verifier, instance.target, instance.draft, scheme(2, 1, 1), engine="enumerate")
            assert not honest or found.max_deviation == 0
            refuted += not found.lossless
    assert refuted > 0


@pytest.mark.parametrize("name", ["layer_without_replacement", "layer_greedy"])
def test_choosing_a_node_first_is_lossless_too(name, monkeypatch):
    monkeypatch.setattr(sets_module, "MOST_TOGETHER", 1)
    scheme = WithoutReplacement(2, 1, 1) if name == "layer_without_replacement" else Greedy(2, 0, 2)
    for instance in case_instances((3, scheme), 1):
        assert check(make(name), instance.target, instance.draft, scheme, engine="enumerate").max_deviation == 0


@pytest.mark.parametrize(("scheme", "listing", "name"), KINDS, ids=lambda part: getattr(part, "__name__", part))
def test_one_step_is_near_the_optimum_and_no_step_is_above_it(scheme, listing, name):
    verifier = make("layer_greedy" if name == "greedy" else "layer_without_replacement")
    for shape in (scheme(2, 0, 1), scheme(3, 0, 1), scheme(2, 1, 1)):
        for instance in case_instances((3, shape), 1):
            most = direct_bound(instance.target, instance.draft, shape)
            ours = float(check(verifier, instance.target, instance.draft, shape, engine="enumerate").block_efficiency)
            assert ours <= most + SOLVED
            assert shape.depth > 1 or ours >= most - 2e-3
