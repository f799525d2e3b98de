"""The computed matrix of verifiers and schemes says what the cards declare: no claim too many, none too few."""

import numpy as np
import pytest

from draftproof.simulator import (
    FAMILIES,
    SCHEMES,
    Card,
    Coin,
    DraftNode,
    InvalidVerifier,
    UnsupportedTree,
    Verdict,
    check,
)
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.verdicts.cases import CASES
from draftproof.simulator.verdicts.compatibility import compatibility
from draftproof.verifiers import STANDALONE, make


def test_every_scheme_has_its_cases() -> None:
    assert list(CASES) == list(SCHEMES)
    assert all(case[1].name == name for name, cases in CASES.items() for case in cases)


@pytest.mark.one_in(60, first=1)
@pytest.mark.parametrize("name", STANDALONE)
def test_declared_schemes_are_exactly_those_on_which_nothing_refutes_it(name: str) -> None:
    declared = lossless_for(make(name).card)  # there random instances are asked by the conformance checks
    cells = {scheme: compatibility(make(name), scheme, 0 if scheme in declared else 4) for scheme in SCHEMES}
    lossless = {scheme for scheme, cell in cells.items() if cell.status == "lossless"}
    assert lossless == set(declared)
    assert all(cells[scheme].instances > 0 for scheme in lossless)


def test_cell_counts_what_was_proved_and_holds_the_witness() -> None:
    steps: list[int] = []
    proved = compatibility(make("nss"), "delayed", 2, steps.append)
    assert (proved.instances, proved.undefined, proved.witness) == (6 * (2 + 5), 0, None)
    assert steps == [1] * len(CASES["delayed"])
    refuted = compatibility(make("naive_from_target"), "delayed", 2)
    assert refuted.status == "witness"
    assert refuted.witness is not None
    assert refuted.witness.violation.deviation > 0
    instance, scheme = refuted.witness.instance, refuted.witness.instance.scheme
    assert scheme is not None
    found = check(make("naive_from_target"), instance.target, instance.draft, scheme, engine="enumerate")
    assert found.violation == refuted.witness.violation


class RefusesBranches:
    """Naive sampling for single paths only."""

    card: Card = make("nss").card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        if len(root.children) > 1:
            raise UnsupportedTree("one path only")
        return make("nss").verify(root, coin)


def test_refused_trees_are_not_defined() -> None:
    cell = compatibility(RefusesBranches(), "delayed", 1)
    assert cell.status == "not defined"
    assert cell.undefined == sum(scheme.as_dict()["L1"] == 0 for _, scheme in CASES["delayed"])


class DividingByZero:
    card = make("spectr").card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        return Verdict((), 1 // 0)


def test_a_cell_whose_verifier_fails_is_not_defined_and_has_the_instance() -> None:
    scheme = SCHEMES["sequoia"](nodes=4, depth=2, tree=(2, 2, 0, 0, 0))
    zeros = [FAMILIES["zeros"].instance(3, 2, np.random.default_rng(0), 20)]
    dividing = DividingByZero()
    cell = compatibility(dividing, "sequoia", cases=[(3, scheme)], given=lambda case: zeros)
    assert (cell.status, cell.instances, cell.undefined, cell.witness) == ("not defined", 0, 1, None)
    assert "ZeroDivisionError" in str(cell.error)
    assert cell.broken is not None
    with pytest.raises(InvalidVerifier, match="ZeroDivisionError"):
        check(dividing, cell.broken.target, cell.broken.draft, cell.broken.scheme, engine="enumerate")
