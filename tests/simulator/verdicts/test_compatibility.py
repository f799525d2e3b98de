"""The computed matrix of verifiers and schemes says what the cards declare: no claim too many, none too few."""

import pytest

from draftproof.simulator import (
    SCHEMES,
    Card,
    Coin,
    DraftNode,
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
    proved = compatibility(make("nss"), "delayed", 2)
    assert (proved.instances, proved.status, proved.witness) == (6 * (2 + 5), "lossless", None)
    refuted = compatibility(make("naive_from_target"), "delayed", 2)
    assert refuted.status == "refuted"
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
    assert cell.status == "undefined"
    refused = sum(scheme.as_dict()["L1"] == 0 for _, scheme in CASES["delayed"])
    assert cell.instances == (len(CASES["delayed"]) - refused) * (1 + 5)
