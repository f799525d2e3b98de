"""Other measures of bias: against outputs that are listed one by one, and against the most tokens at such a budget."""

from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pytest

from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.lp_analysis import direct_bound, measure
from draftproof.lp_analysis.bias_measures import MEASURES
from draftproof.simulator import Delayed, block_law, check
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.processes import tabulate
from tests.lp_analysis.cases import pair
from tests.quick import quick

SPECS = ("ensemble:w=7/10", "lenience:l=1/2", "truncation", "budgeted:eps=1/10", "typical", "block")
PATH = Delayed(1, 0, 2)
#: Clarabel solves to 1e-8 relative, HiGHS to 1e-10.
SOLVED = 1e-5


def instance_of(V, scheme, seed):
    return FAMILIES["perturbed"].instance(V, scheme.depth, np.random.default_rng(seed), denominator=64)


def law_of(spec, V, scheme, seed):
    instance = instance_of(V, scheme, seed)
    tables = tabulate(instance.target, scheme.depth, RATIONAL, "target").tables
    return block_law(find_verifier(spec).verifier, instance.target, instance.draft, scheme, "rational"), tables


def listed(law, instance, length):
    """The law of the first tokens, from every accepted context and correction, and the target's."""
    own, V = {}, instance.vocab_size
    for depth, masses in enumerate(law.correction):
        for tokens, mass in zip(product(range(V), repeat=depth + 1), masses.reshape(-1).tolist(), strict=True):
            for more in product(range(V), repeat=max(length - depth - 1, 0)):
                text, part = tokens, Fraction(as_python(mass))
                for token in more:
                    part, text = part * Fraction(as_python(instance.target.row(text)[token])), (*text, token)
                own[text[:length]] = own.get(text[:length], 0) + part
    wanted = {}
    for text in product(range(V), repeat=length):
        mass = Fraction(1)
        for place, token in enumerate(text):
            mass *= Fraction(as_python(instance.target.row(text[:place])[token]))
        wanted[text] = mass
    return own, wanted


@pytest.mark.parametrize("spec", SPECS)
def test_measures_are_those_of_the_listed_outputs(spec):
    for seed in range(3):
        law, tables = law_of(spec, 2, PATH, seed)
        instance, laws = instance_of(2, PATH, seed), {}
        for length in (1, 2, 3):
            own, wanted = laws[length] = listed(law, instance, length)
            assert measure(f"first:{length}", law, tables) == sum(max(own[x] - wanted[x], 0) for x in wanted)
        verdict = check(find_verifier(spec).verifier, instance.target, instance.draft, PATH)
        assert measure("block", law, tables) == verdict.total_variation
        own, wanted = laws[3]
        divergence = sum(float(own[x]) * log(own[x] / wanted[x]) for x in wanted if own[x])
        assert measure("entropy_per_token", law, tables) * float(verdict.block_efficiency) == pytest.approx(divergence)
        assert measure("per_token", law, tables) * verdict.block_efficiency == verdict.total_variation
        laws[0] = ({(): Fraction(1)}, None)
        shares = [
            sum(max(laws[d + 1][0][(*c, y)] / mass - Fraction(as_python(instance.target.row(c)[y])), 0) for y in (0, 1))
            for d in range(3)
            for c, mass in laws[d][0].items()
            if mass
        ]
        assert measure("token", law, tables) == max(shares)


@pytest.mark.parametrize("name", [*MEASURES, "first:1"])
@pytest.mark.parametrize("scheme", quick([PATH, Delayed(2, 0, 1)], [PATH]), ids=str)
def test_no_verifier_has_more_tokens_than_the_most_at_its_measure(name, scheme):
    pytest.importorskip("cvxpy")
    specs = SPECS if scheme.K == 1 else ("typical", "threshold", "budgeted_tree:eps=1/10")
    for seed, spec in enumerate(specs):
        law, tables = law_of(spec, 2, scheme, seed)
        instance = instance_of(2, scheme, seed)
        if spec == "truncation":  # biased after the last draft, too, which the program leaves to the target
            continue
        own = check(find_verifier(spec).verifier, instance.target, instance.draft, scheme).block_efficiency
        value = float(measure(name, law, tables))
        most = direct_bound(instance.target, instance.draft, scheme, value + 1e-9, name)
        assert float(own) <= most + SOLVED


@pytest.mark.parametrize("name", [*MEASURES, "first:1"])
def test_more_budget_brings_more_and_none_the_optimum(name):
    pytest.importorskip("cvxpy")
    instance = instance_of(2, PATH, 1)
    least = direct_bound(instance.target, instance.draft, PATH)
    none, some, more = (direct_bound(*pair(instance), PATH, budget, name) for budget in (1e-9, 0.02, 0.1))
    if name == "first:1":  # later tokens are free
        assert none > least + SOLVED
    else:
        assert none == pytest.approx(least, abs=1e-3 if "entropy" in name else SOLVED)  # divergence is flat at 0
    assert none <= some + SOLVED
    assert some < more


def test_names_that_are_no_measure_are_refused():
    law, tables = law_of("block", 2, PATH, 0)
    with pytest.raises(InvalidInput, match="measure 'x' is not known; known: block, token"):
        measure("x", law, tables)
    with pytest.raises(InvalidInput, match="n = 4: a block has a bias in its first 1 to 3 tokens"):
        measure("first:4", law, tables)
