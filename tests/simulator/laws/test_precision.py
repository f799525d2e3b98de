"""The audit of low precision agrees with numbers rounded by hand, and tells what breaks from what is only inexact."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from draftproof.simulator import Card, Coin, Delayed, DraftNode, Instance, InvalidInput, TableProcess, Verdict
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.laws.precision import (
    EXACT_DENOMINATOR,
    PRECISIONS,
    Breakdown,
    low_precision_law,
    precision_named,
    rows_bias,
)
from draftproof.simulator.verdicts.cases import conformance_instances
from draftproof.verifiers import REGISTRY, STANDALONE, make

LOSSLESS = [name for name in STANDALONE if "delayed" in lossless_for(REGISTRY[name].card)]
STEP = Delayed(1, 0, 1)


def needs_torch_for(precision: str) -> None:
    """bfloat16 is computed by torch."""
    if precision == "bfloat16":
        pytest.importorskip("torch")


@dataclass(frozen=True)
class Mine:
    """A verifier made of one function."""

    run: Callable[[DraftNode, Coin], Any]
    card = Card(name="mine", title="mine", source=None)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        found = self.run(root, coin)
        return found if isinstance(found, Verdict) else Verdict((), coin.choose(root.target))


def pair(p: list[str], q: list[str], depth: int = 1) -> Instance:
    """The same two rows at every context."""
    size = len(p)
    target = TableProcess([[p] * size**length for length in range(depth + 1)], "target")
    return Instance(target, TableProcess([[q] * size**length for length in range(max(depth, 1))], "draft"))


def law_of(verifier: Any, instance: Instance, precision: str, scheme: Delayed = STEP) -> BlockLaw:
    return low_precision_law(verifier, instance.target, instance.draft, scheme, PRECISIONS[precision])


#: p = (1/4, 3/4) and q = (3/4, 1/4): token 0 is drafted with probability 3/4 and accepted with 1/3, rounded. To 11
#: significant bits that is 1365/4096, to 8 it is 171/512, to 24 it is 11184811/2^25; 3/4 of it misses 1/4 by:
THIRDS = {"float16": Fraction(1, 2**14), "bfloat16": Fraction(1, 2**11), "float32": Fraction(1, 2**27)}


@pytest.mark.parametrize(("precision", "bias"), THIRDS.items())
def test_one_step_of_naive_is_off_by_its_rounded_quotient(precision, bias):
    needs_torch_for(precision)
    instance = pair(["1/4", "3/4"], ["3/4", "1/4"])
    law = law_of(make("naive"), instance, precision)
    assert law.total == 1
    assert law.total_variation(instance.target) == bias
    assert law.max_deviation(instance.target) == bias
    assert rows_bias(instance.target, PRECISIONS[precision]) == 0


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", LOSSLESS)
def test_bias_shrinks_with_the_precision_and_the_law_is_whole(name):
    pytest.importorskip("torch")
    scheme = Delayed(2, 0, 2)
    (instance,) = conformance_instances((3, 2, 0, 2), 1)
    biases = {}
    for precision in PRECISIONS:
        law = law_of(make(name), instance, precision, scheme)
        assert law.total == 1
        biases[precision] = law.total_variation(instance.target)
        assert law.max_deviation(instance.target) <= 2 * biases[precision]
    assert 0 < biases["float64"] < 1e-12  # rows over 20 are no dyadic fractions
    assert biases["float64"] < biases["float32"] < 1e-5
    assert biases["float32"] < biases["float16"] < 1e-2
    assert biases["float16"] < biases["bfloat16"] < 1e-1


@pytest.mark.parametrize("precision", PRECISIONS)
def test_without_arithmetic_exact_rows_have_no_bias(precision):
    needs_torch_for(precision)
    scheme = Delayed(2, 0, 2)
    instance = FAMILIES["dirichlet"].instance(3, 2, np.random.default_rng(0), EXACT_DENOMINATOR)
    law = law_of(make("nss"), instance, precision, scheme)
    assert law.total_variation(instance.target) == 0
    assert law.max_deviation(instance.target) == 0
    assert law_of(make("block"), instance, precision, scheme).total_variation(instance.target) > 0


@pytest.mark.one_in(3)
@pytest.mark.parametrize("family", ["zeros", "ties", "point_masses", "equal", "disjoint"])
@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_every_lossless_verifier_computes_in_low_precision_on_corner_cases(family, precision):
    needs_torch_for(precision)
    instance = FAMILIES[family].instance(3, 1, np.random.default_rng(1), EXACT_DENOMINATOR)
    for name in LOSSLESS:
        law = law_of(make(name), instance, precision, Delayed(3, 0, 1))
        assert law.total == 1
        assert law.total_variation(instance.target) < 0.05, name


#: What is asked of the coin, and what the finding must say; p = (1/4, 3/4), drafted from q = (3/4, 1/4).
NONSENSE = {
    "flip of NaN": (lambda root, coin: coin.flip(root.target[0] * 0 / (root.target[0] * 0)), "flip(nan): not a number"),
    "choice of NaN": (lambda root, coin: coin.choose(root.target * 0 / 0), "not a number"),
    "no weight": (lambda root, coin: coin.choose(root.target * 0), "question 1 to the coin, choose([0.0, 0.0])"),
    "no weights": (lambda root, coin: coin.choose([]), "not all 0"),
    "infinite": (lambda root, coin: coin.choose(root.target / 0), "finite"),
    "second question": (
        lambda root, coin: (coin.choose(root.target), coin.choose(root.target * 0)),
        "question 2 to the coin",
    ),
    "float64": (lambda root, coin: coin.flip(float(root.target[0]) / 3), "has more digits than float16"),
    "wider row": (
        lambda root, coin: coin.choose(root.target.astype(np.float32)),
        "float32 numbers come from another precision",
    ),
    "text": (lambda root, coin: coin.flip("1/2"), "'1/2' is no float16 number"),
    "exception": (lambda root, coin: root.target.nothing, "verify raised AttributeError"),
    "no verdict": (lambda root, coin: Verdict((7,), 0), "no node of the draft tree"),
}


@pytest.mark.parametrize("what", NONSENSE)
def test_what_breaks_is_reported_with_its_tree_and_question(what):
    run, said = NONSENSE[what]
    with pytest.raises(Breakdown) as caught:
        law_of(Mine(run), pair(["1/4", "3/4"], ["3/4", "1/4"]), "float16")
    assert said in caught.value.reason
    assert caught.value.tree == {(): (0,)}
    assert caught.value.probability == 1
    assert "[drafted after () 0]" in str(caught.value)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_what_lies_beside_probabilities_is_clamped_as_a_sampler_does(precision):
    needs_torch_for(precision)

    def run(root: DraftNode, coin: Coin) -> Verdict:
        assert coin.flip(root.target.sum() * 2)
        assert not coin.flip(root.target[0] * -1)
        assert coin.flip(root.target[0] / (root.target[0] * 0))
        return Verdict((), coin.choose(root.target - root.target[0] * 2))

    law = law_of(Mine(run), pair(["1/4", "3/4"], ["1/2", "1/2"]), precision)
    assert [str(mass) for mass in law.correction[0][0]] == ["0", "1"]


def test_float_rows_and_an_unknown_precision_are_refused():
    with pytest.raises(InvalidInput, match="'float8'; choose from float64, float32, float16, bfloat16"):
        precision_named("float8")
    instance = pair(["1/4", "3/4"], ["3/4", "1/4"])
    floats = TableProcess([np.array([[0.25, 0.75]]), np.array([[0.25, 0.75]] * 2)])
    with pytest.raises(InvalidInput, match="rationalise"):
        low_precision_law(make("naive"), floats, instance.draft, STEP, PRECISIONS["float16"])
