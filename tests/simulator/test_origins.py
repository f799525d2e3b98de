"""Whose code a verifier is: the library's, unless somebody else's is in it."""

from functools import cache, partial

import pytest

from draftproof.simulator.origins import is_library
from draftproof.simulator.theorems.proof.watch import Watch
from draftproof.verifiers import STANDALONE, make
from draftproof.verifiers._programs import memoised
from draftproof.verifiers.spectr import SpecTr, smallest_rho


class Divider:
    def solve(self, p, q, k):
        return smallest_rho(p, q, k)


@pytest.mark.parametrize("name", STANDALONE)
def test_a_verifier_of_the_library_is_known_as_one_and_followed_without_a_look_at_its_code(name):
    assert is_library(make(name))
    assert not Watch(make(name))._needed


@pytest.mark.parametrize(
    "solver",
    [Divider().solve, cache(lambda p, q, k: 1), partial(Divider.solve, None), memoised(lambda p, q, k: 1)],
    ids=["method", "cached", "partial", "memoised"],
)
def test_a_verifier_with_a_solver_of_others_is_none_of_the_library(solver):
    assert not is_library(SpecTr(solver))
    assert Watch(SpecTr(solver))._needed
