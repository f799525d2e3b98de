"""No call at one node holds more than half a GiB: what would is refused before it is begun, with a way out."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from draftproof import verifiers
from draftproof.simulator import Delayed, MarkovProcess, TooLarge, check
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.structures import declared
from draftproof.verifiers._layers import Scored
from draftproof.verifiers._programs import MOST_NUMBERS, check_numbers

V = 50_257
WAY_OUT = "keep the most probable tokens only, renormalised"


def row(size: int) -> Any:
    masses = np.random.default_rng(0).random(size)
    return masses / masses.sum()


@pytest.mark.parametrize(
    "call",
    [
        lambda p, q: declared(verifiers.REGISTRY["khisti"]).child_law(p, q, 40),
        lambda p, q: declared(verifiers.REGISTRY["optimal_transport"]).child_law(p, q, 40),
        lambda p, q: verifiers.REGISTRY["layer_without_replacement"].step([scored_node(p, q)]),
        lambda p, q: check(
            verifiers.REGISTRY["path_transport"], MarkovProcess([p]), MarkovProcess([q]), Delayed(40, 0, 1), "float64"
        ),
    ],
)
def test_programs_over_a_real_vocabulary_are_refused_at_once(call: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(TooLarge) as caught:
        call(row(V), row(V)[::-1].copy())
    assert WAY_OUT in str(caught.value) or "lower V" in str(caught.value) or "smaller" in str(caught.value)
    assert "--" not in str(caught.value)


def scored_node(p: Any, q: Any) -> Scored:
    return Scored(SimpleNamespace(context=(), target=p, draft=q, children=(1, 2, 3, 4)), 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["khisti", "optimal_transport"])
def test_the_law_given_the_drafts_needs_one_pass_over_a_real_vocabulary(name: str) -> None:
    law = declared(verifiers.REGISTRY[name]).branch(row(V), row(V)[::-1].copy(), (1, 2, 3, 4))
    assert law.shape == (V,)
    assert (law >= 0).all()
    assert abs(law.sum() - 1) < 1e-9  # rounding of sums over the vocabulary


def test_exact_numbers_have_an_eighth_of_the_room() -> None:
    floats, exact = np.full(2, 0.5), RATIONAL.vector(["1/2", "1/2"])
    check_numbers("it", MOST_NUMBERS, floats)
    check_numbers("it", MOST_NUMBERS / 8, exact)
    with pytest.raises(TooLarge):
        check_numbers("it", MOST_NUMBERS + 1, floats)
    with pytest.raises(TooLarge):
        check_numbers("it", MOST_NUMBERS / 8 + 1, exact)
