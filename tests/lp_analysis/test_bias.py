"""What a bias buys: theorems 9 and 10 of the README, and biases over many blocks."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.lp_analysis import frontier
from draftproof.simulator import Delayed, Instance, TableProcess, block_law, check
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Stratified, WithoutReplacement
from draftproof.simulator.instances.families import FAMILIES
from draftproof.verifiers import make

#: A bias so small that the curve is still straight there on most instances.
SMALL = Fraction(1, 10**4)
#: Both bounds of the curve are exact; they are so far apart at most.
GAP = Fraction(1, 10**7)
LOSSY = ("ensemble:w=7/10", "lenience:l=1/2", "truncation", "fuzzy", "typical", "threshold", "budgeted:eps=1/10")
PATH = Delayed(1, 0, 3)


def instance_of(V, L, seed):
    family = ("perturbed", "dirichlet", "temperature", "zeros")[seed % 4]
    return FAMILIES[family].instance(V, L, np.random.default_rng(seed), denominator=64)


def constant(p, q, L):
    tables = [[[row] * len(row) ** depth for depth in range(L + 1)] for row in (p, q)]
    return Instance(TableProcess(tables[0], "target"), TableProcess(tables[1], "draft"))


def slope(instance, scheme, bias=SMALL):
    """Tokens a unit of bias, up to this bias: at most the price at 0, as the curve is concave."""
    none, some = frontier(instance.target, instance.draft, scheme, [0, bias], gap=float(GAP) / 10)
    return float((some.lower - none.upper) / bias), float((some.upper - none.lower) / bias)


@pytest.mark.parametrize("spec", LOSSY)
def test_a_depth_is_reached_more_often_by_at_most_depth_times_bias(spec):
    ahead = 0
    for seed in range(8):
        instance = instance_of(2, 3, seed)
        own, best = (
            check(find_verifier(name).verifier, instance.target, instance.draft, PATH) for name in (spec, "block")
        )
        bias = Fraction(own.total_variation)
        for depth in range(1, 4):
            more = sum(own.metrics.depth_distribution[depth:]) - sum(best.metrics.depth_distribution[depth:])
            assert more <= depth * bias
            ahead += more > bias
    assert ahead or spec not in ("budgeted:eps=1/10", "fuzzy"), "more than the bias itself at some depth"


SCHEMES = [(3, Delayed(1, 0, 2)), (2, Delayed(1, 0, 4)), (2, Delayed(2, 0, 2)), (2, Delayed(2, 1, 2))]
SCHEMES += [(2, Stratified(2, 0, 2)), (2, WithoutReplacement(2, 0, 2))]


def test_the_curve_rises_by_at_most_a_triangular_number_a_unit():
    above = 0
    for (V, scheme), seed in product(SCHEMES, range(4)):
        L = scheme.depth
        instance = instance_of(V, L, seed)
        none, *others = frontier(instance.target, instance.draft, scheme, [0, SMALL, "1/20", "1/2"])
        for found in others:
            assert found.lower <= none.upper + found.bias * L * (L + 1) / 2
            above += found.lower > none.upper + found.bias * L
    assert above, "prices above L are common"


@pytest.mark.parametrize("L", [1, 2, 3, 4])
def test_for_one_path_no_smaller_number_bounds_the_price(L):
    for part in (20, 100):
        h = Fraction(1, part)
        instance = constant([1 - h, h], [1 - h / 2, h / 2], L)
        bias = h**L / 2**L  # so little is spent that the curve is straight
        (found,) = frontier(instance.target, instance.draft, Delayed(1, 0, L), [bias], gap=float(bias) / 10**4)
        own = check(make("budgeted", eps=bias), instance.target, instance.draft, Delayed(1, 0, L)).block_efficiency
        least = check(make("block"), instance.target, instance.draft, Delayed(1, 0, L)).block_efficiency
        assert least + bias * (1 - L * h) * L * (L + 1) / 2 <= own <= found.upper
        assert own <= least + bias * L * (L + 1) / 2


def test_the_price_is_zero_where_the_rows_are_equal_and_at_least_what_is_left_of_the_path():
    row, other = ["1/3", "2/3"], ["2/3", "1/3"]
    for first in range(4):
        draft = [[other if depth == first else row] * 2**depth for depth in range(4)]
        target = [[row] * 2**depth for depth in range(4)]
        instance = Instance(TableProcess(target, "target"), TableProcess(draft, "draft"))
        most = slope(instance, PATH)[1]
        if first == 3:  # no row of the draft that is used
            assert most <= float(2 * GAP / SMALL)
        else:
            assert most >= 3 - first


def spent_at(instance, scheme, law):
    """`S_i`: the output's mass in excess of the target's at depth `i + 1`, less that at depth `i`."""
    V, done, wanted = instance.vocab_size, RATIONAL.vector([0]), RATIONAL.vector([1])
    over = [0]
    for depth in range(scheme.depth):
        rows = np.array([instance.target.row(c) for c in product(range(V), repeat=depth)], dtype=object)
        done = (done[:, None] * rows).reshape(-1) + law.correction[depth].reshape(-1)
        wanted = (wanted[:, None] * rows).reshape(-1)
        excess = law.reach[depth + 1] + done - wanted
        over.append(sum(x for x in excess.tolist() if x > 0))
    return [later - here for here, later in pairwise(over)]


def test_what_is_spent_at_a_depth_is_accepted_to_the_end_of_the_path():
    first = others = 0
    for seed in range(15):
        instance, eps = instance_of(2, 3, seed), ("1/100", "1/10", "2/5")[seed % 3]
        law = block_law(make("budgeted", eps=eps), instance.target, instance.draft, PATH, "rational")
        spent = spent_at(instance, PATH, law)
        own, least = (
            check(verifier, instance.target, instance.draft, PATH)
            for verifier in (make("budgeted", eps=eps), make("block"))
        )
        assert all(part >= 0 for part in spent)
        assert as_python(sum(spent)) == own.total_variation
        assert own.block_efficiency >= least.block_efficiency + as_python(
            sum((3 - depth) * part for depth, part in enumerate(spent))
        )
        first, others = first + spent[0], others + sum(spent[1:])
    assert first > others > 0, "on the first tokens, as far as these allow"


def written(law, V, length):
    """The law of the first `length` tokens of block after block, and the mean number of blocks; rows are constant."""
    block = {}
    for depth, masses in enumerate(law.correction):
        for tokens, mass in zip(product(range(V), repeat=depth + 1), masses.reshape(-1).tolist(), strict=True):
            block[tokens] = block.get(tokens, 0) + mass
    texts, done, blocks = {(): RATIONAL.number(1)}, {}, RATIONAL.number(0)
    while texts:
        blocks = blocks + sum(texts.values())
        later = {}
        for text, mass in texts.items():
            for tokens, part in block.items():
                whole = (text + tokens)[:length]
                into = done if len(whole) == length else later
                into[whole] = into.get(whole, 0) + mass * part
        texts = {text: mass for text, mass in later.items() if mass > 0}
    return done, blocks


@pytest.mark.parametrize("eps", ["1/100", "1/5"])
def test_biases_of_blocks_add_up_at_most(eps):
    length, near = 4, []
    for p, q in (
        (["1/3", "2/3"], ["2/3", "1/3"]),
        (["9/10", "1/10"], ["1/2", "1/2"]),
        (["1/5", "4/5"], ["1/4", "3/4"]),
    ):
        for L in (1, 2):
            instance, scheme = constant(p, q, L), Delayed(1, 0, L)
            law = block_law(make("budgeted", eps=eps), instance.target, instance.draft, scheme, "rational")
            verdict = check(make("budgeted", eps=eps), instance.target, instance.draft, scheme)
            texts, blocks = written(law, 2, length)
            assert sum(texts.values()) == 1
            row, apart = instance.target.row(()), 0
            for text in product(range(2), repeat=length):
                wanted = RATIONAL.number(1)
                for token in text:
                    wanted = wanted * row[token]
                apart = apart + max(texts.get(text, wanted * 0) - wanted, wanted * 0)
            most = Fraction(as_python(blocks)) * verdict.total_variation
            assert 0 < Fraction(as_python(apart)) <= most
            assert as_python(blocks) <= (length + L) / verdict.block_efficiency
            near.append(Fraction(as_python(apart)) / most)
    assert max(near) > Fraction(1, 3)
