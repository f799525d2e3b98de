"""The standard check: every control and every liar of these tests is found out by it, and honest verifiers pass."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from draftproof.simulator import (
    FAMILIES,
    Check,
    Delayed,
    Instance,
    InvalidInput,
    InvalidVerifier,
    TableProcess,
    UnsupportedTree,
    assert_lossless,
    check,
)
from draftproof.simulator.drafts import UserScheme, lossless_for
from draftproof.simulator.protocol import DraftScheme, Draws
from draftproof.simulator.verdicts.grids import grid_size
from draftproof.simulator.verdicts.standard import (
    BRANCHES,
    CORE,
    CORE_RANDOM,
    ENUMERATED,
    MOST_GRID,
    RANDOM,
    THIRDS,
    Standard,
    instances_of,
    judge_of,
    standard_check,
    standard_jobs,
)
from draftproof.verifiers import STANDALONE, make
from tests.modules import module_of
from tests.quick import quick

TESTS = Path(__file__).resolve().parents[2]


BUGS, OFFERS = (module_of(TESTS / path) for path in ("mutants/test_liars.py", "data/liars.py"))
CONTROLS = [name for name in STANDALONE if make(name).card.control or not lossless_for(make(name).card)]
LIARS = [
    *BUGS.LIARS,
    *(kind for name, kind in vars(OFFERS).items() if name.startswith("Lying")),
    OFFERS.LikeliestHalf,
]
#: Those on trees of which `make test` asks nothing else, and some that offer what they do not do.
FEW = [*(kind for place, kind in enumerate(BUGS.ON_TREES) if place % 3), OFFERS.LikeliestHalf]


def verdict(verifier: Any) -> str:
    """`refuted` with a witness, `broken` for a contract that does not hold, or `lossless`."""
    try:
        found = standard_check(verifier)
    except InvalidVerifier:
        return "broken"
    return "lossless" if found.lossless else "refuted"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CONTROLS)
def test_every_control_is_refuted(name: str) -> None:
    found = standard_check(make(name))
    assert found.failed is not None
    assert not found.lossless
    assert found.failed[1].max_deviation > 0


@pytest.mark.parametrize("liar", quick(LIARS, FEW), ids=lambda kind: kind.__name__)
def test_every_liar_is_found_out(liar: type) -> None:
    assert verdict(liar()) in ("refuted", "broken")


def test_the_first_failure_ends_the_check() -> None:
    verifier, asked = make(CONTROLS[0]), []

    def judge(instance: Instance, scheme: DraftScheme) -> Check:
        asked.append(instance)
        return judge_of(verifier)(instance, scheme)

    found = standard_check(verifier, judge)
    assert found.failed is not None
    assert found.failed[0] is asked[-1]
    assert found.instances == len(asked)


def test_nothing_is_lossless_that_was_not_checked_to_the_end() -> None:
    case, instance = (2, Delayed(1, 0, 1)), FAMILIES["ties"].instance(2, 1, np.random.default_rng(0))
    wrong = check(make("ensemble"), instance.target, instance.draft, case[1])
    done = Standard("own", ("delayed",), {case: 1}, complete=True)
    assert done.lossless
    for missing in (
        {"complete": False},
        {"covered": {}},
        {"failed": (instance, wrong)},
        {"complete": False, "covered": {}},
    ):
        assert not replace(done, **missing).lossless


def test_the_face_of_the_library_refutes_without_an_instance() -> None:
    with pytest.raises(AssertionError, match="is not lossless on delayed"):
        assert_lossless(make("block_by_weights"))
    with pytest.raises(InvalidInput, match="or no instance"):
        assert_lossless(make("block"), next(instances_of((2, Delayed(1, 0, 1)))).target)


class Refusing(BUGS.Liar):  # type: ignore[name-defined]
    """Declares delayed trees and takes none."""

    def verify(self, root: Any, coin: Any) -> Any:
        raise UnsupportedTree("not today")


def test_a_declared_scheme_that_is_refused_is_a_lie() -> None:
    with pytest.raises(InvalidVerifier, match="declares the scheme delayed"):
        standard_check(Refusing())


class TopKOnly(BUGS.Liar):  # type: ignore[name-defined]
    """A control for trees of the likeliest tokens."""

    card = replace(BUGS.Liar.card, name="top_k_only", needs=Draws.FIXED_BRANCHES, control=True)


def lossless_on(*schemes: str) -> Any:
    """A judge for whom everything is lossless on these schemes, and nothing else is a tree."""
    passed = check(make("naive"), *[TableProcess([np.full((1, 2), 0.5)])] * 2, Delayed(1, 0, 0), "float64")

    def judge(instance: Any, scheme: Any) -> Any:
        if scheme.name not in schemes:
            raise UnsupportedTree("not these")
        return passed

    return judge


@pytest.mark.parametrize("needs", quick([Draws.FIXED_BRANCHES, Draws.HUB_PAIRS], [Draws.HUB_PAIRS]))
def test_what_is_refused_does_not_count_and_takes_nothing_from_the_rest(needs: Draws) -> None:
    class Verifier(TopKOnly):
        card = replace(TopKOnly.card, needs=needs)

    declared = lossless_for(Verifier.card)
    jobs = [job for job in standard_jobs(names=(*declared, "delayed")) if job.case[0] < 4]
    found = standard_check(Verifier(), lossless_on(*declared), facts=False, jobs=jobs)
    assert found.refused == ("delayed",)
    assert found.schemes == declared
    assert found.covered == Counter(job.case for job in jobs if job.case[1].name in declared)
    assert found.lossless
    named = [each for each in found.missing if each.startswith("K > ")]
    assert named == ([f"K > {max(BRANCHES)}"] if "top_k" in declared else [])


def test_the_grid_is_sampled_evenly_where_it_is_large() -> None:
    random = CORE + RANDOM - CORE_RANDOM
    gridded = 0
    for case, count in Counter(job.case for job in standard_jobs(names=("delayed", "top_k"))).items():
        whole = grid_size(case[0], case[1].depth, THIRDS) if case[0] == 2 else 0
        assert random <= count <= random + MOST_GRID
        if 0 < whole <= 10**4:
            gridded += 1
            assert count - random >= min(whole, MOST_GRID / 2)
    assert gridded > 5


def test_few_trees_are_enumerated_and_many_are_not() -> None:
    instance = FAMILIES["ties"].instance(3, 2, np.random.default_rng(0))
    judge = judge_of(make("specinfer"))
    for scheme in (Delayed(1, 0, 2), Delayed(2, 0, 1), Delayed(2, 0, 2), Delayed(3, 0, 2)):
        few = scheme.count(instance.draft) <= ENUMERATED
        assert judge(instance, scheme).engine.startswith("enumerate" if few else "structured")
        assert judge(instance, scheme).lossless
    assert Delayed(3, 0, 2).count(instance.draft) > ENUMERATED


@dataclass
class TwoTokens:
    """Two tokens from q, different ones or not."""

    different: bool
    depth: int = 1

    def draw(self, draft, coin):
        row = draft.row(())
        first = coin.choose(row)
        if not self.different:
            return [(first,), (coin.choose(row),)]
        left = np.array([0 if token == first else mass for token, mass in enumerate(row)], dtype=object)
        return [(first,), (coin.choose(left),)] if any(left) else [(first,)]


def test_a_scheme_of_ones_own_is_judged_on_many_instances():
    verifier = make("specinfer")
    found = standard_check(verifier, scheme=UserScheme(TwoTokens(different=False)))
    assert (found.lossless, found.instances, found.schemes) == (True, 55, ("TwoTokens",))
    assert {size for size, _ in found.covered} == {2, 3, 4}
    with pytest.raises(AssertionError, match="TwoTokens"):
        assert_lossless(verifier, scheme=UserScheme(TwoTokens(different=True)))
