"""The conformance checks are chosen by the card, always the same, and cover the corner cases."""

from collections import Counter
from dataclasses import replace

import pytest

from draftproof import verifiers
from draftproof.simulator import Card, Coin, DraftNode, InvalidVerifier, Verdict
from draftproof.simulator.drafts.delayed import SHAPES
from draftproof.simulator.protocol import Draws
from draftproof.simulator.verdicts.conformance import checks_for


class Claims:
    """Naive sampling under another card."""

    def __init__(self, **fields: object) -> None:
        self.card: Card = replace(verifiers.make("nss").card, **fields)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        return verifiers.make("nss").verify(root, coin)


ALWAYS = {"law-sums-to-one", "function-of-tree-and-coin", "float-equals-rational"}
LOSSLESS = {"lossless-random", "lossless-corner"}


def kinds(**fields: object) -> set[str]:
    names = [str(check).split("-V=")[0] for check in checks_for(Claims(**fields))]
    assert set(Counter(names).values()) == {len(SHAPES)}
    return set(names)


def test_every_claim_of_the_card_has_its_check() -> None:
    assert kinds(needs=None, reads_draft=True) == ALWAYS
    assert kinds(needs=Draws.INDEPENDENT_PATHS | Draws.FIXED_LENGTHS, reads_draft=True) == ALWAYS | LOSSLESS
    assert kinds(needs=None, reads_draft=True, control=True) == ALWAYS
    assert kinds(needs=None, reads_draft=False) == ALWAYS | {"does-not-read-draft"}
    assert kinds(needs=None, single_path=True, reads_draft=True) == ALWAYS | {"reads-first-path-only"}
    assert kinds(needs=None, reads_draft=True, exchangeable=True) == ALWAYS, "there is no branch to speak of"


def test_what_a_verifier_offers_has_its_checks() -> None:
    kinds = {str(check).split("-V=")[0] for check in checks_for(verifiers.make("specinfer"))}
    assert kinds == ALWAYS | LOSSLESS | {"structured-equals-enumerated", "branch-ignores-order"}
    kinds = {str(check).split("-V=")[0] for check in checks_for(verifiers.make("spectr"))}
    assert kinds == ALWAYS | LOSSLESS | {"structured-equals-enumerated"}


def test_what_is_no_claim_about_losslessness_is_checked_on_delayed_trees_or_the_first_declared_scheme() -> None:
    def cases(kind: str, needs: Draws | None) -> set[str]:
        names = map(str, checks_for(Claims(needs=needs)))
        return {name.removeprefix(kind) for name in names if name.startswith(kind)}

    hub = cases("lossless-random", Draws.HUB_PAIRS)
    delayed = cases("lossless-random", Draws.INDEPENDENT_PATHS | Draws.FIXED_LENGTHS)
    assert hub
    assert not hub & delayed
    assert cases("law-sums-to-one", Draws.HUB_PAIRS) == hub
    assert cases("lossless-random", Draws.ONE_RANDOM_SIBLING) > hub
    assert not cases("law-sums-to-one", Draws.ONE_RANDOM_SIBLING) & (hub | delayed)
    assert cases("law-sums-to-one", Draws.FIRST_CHILD_FROM_Q) == delayed
    assert cases("law-sums-to-one", None) == delayed


@pytest.mark.parametrize(("name", "honest"), [("nss", True), ("naive", False), ("spectr", False)])
def test_a_verifier_that_reads_the_draft_is_told_from_one_that_does_not(name: str, honest: bool) -> None:
    class Blind:
        card = replace(verifiers.make(name).card, reads_draft=False)
        verify = verifiers.make(name).verify

    asked = [each for each in checks_for(Blind()) if str(each).startswith("does-not-read-draft")]
    assert len(asked) == len(SHAPES)
    for each in asked[1:3]:
        if honest:
            each()
        else:
            with pytest.raises((AssertionError, InvalidVerifier)):
                each()
