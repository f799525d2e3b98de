"""The law of the verdict on every tree agrees with the papers' steps."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from draftproof.simulator import Instance, outcomes
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.laws.guarded import verdicts
from draftproof.simulator.verdicts.cases import CASES, case_instances
from draftproof.verifiers import STANDALONE, make
from tests.verifiers.published import PUBLISHED

#: Drafted tokens of the largest trees; larger ones are left to conformance.
MOST_NODES = 6


def trees(case: tuple[int, Any], count: int) -> Iterator[tuple[Instance, Any]]:
    for instance in case_instances(case, count):
        for tree, _ in outcomes(partial(case[1].draw, instance.draft), RATIONAL):
            yield instance, tree


def positive(law: Any) -> dict[Any, Fraction]:
    return {block: as_python(mass) for block, mass in law.items() if mass}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param(
            name, case, id=f"{name}-V={case[0]}-{case[1]}", marks=[pytest.mark.heavy] * ((place + turn) % 8 > 0)
        )
        for turn, name in enumerate(PUBLISHED)  # every eighth case by default, each with some of the verifiers
        if name in STANDALONE
        for scheme in lossless_for(make(name).card)
        if scheme != "stratified"  # where ours read the law of each branch, which papers do not have
        for place, case in enumerate(CASES[scheme])
        if case[1].nodes <= MOST_NODES
    ],
)
def test_verdicts_agree_with_the_published_steps(name: str, case: tuple[int, Any]) -> None:
    for instance, tree in trees(case, 1):
        ours = verdicts(make(name), tree, instance.target, instance.draft, RATIONAL)
        assert positive(ours) == positive(PUBLISHED[name](tree.root(instance.target, instance.draft)))


@pytest.mark.parametrize("name", [name for name in STANDALONE if make(name).card.status == "published"])
def test_whoever_departs_in_nothing_is_compared_with_the_paper(name: str) -> None:
    assert make(name).card.departs or name in PUBLISHED or name == "gbv"  # gbv: test_one_step.py
