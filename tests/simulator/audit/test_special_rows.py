"""Rows on request: tokens of probability zero must not come out."""

import pytest

from draftproof.simulator import assert_lossless
from draftproof.simulator.audit import default_cases, interface_named
from draftproof.simulator.errors import InvalidInput


def judged(planted, name, also, cases=("short",), **options):
    assert_lossless(planted("special_rows", name), **{"interface": "chain", "cases": cases, "also": also, **options})


@pytest.mark.parametrize(
    ("name", "options"), [("masked", {}), pytest.param("logits", {"logits": True}, marks=pytest.mark.heavy)]
)
def test_a_masked_token_that_comes_out_refutes(planted, name, options):
    judged(planted, f"right_{name}", ["masked"], **options)
    with pytest.raises(AssertionError, match=r"tokens of probability zero .* must have mass 0") as error:
        judged(planted, f"wrong_{name}", ["masked"], ("masked",), **options)
    assert "the block gives it 0." in str(error.value)


def test_masks_are_in_p_in_q_and_in_both():
    for name in ("chain", "paths", "loop"):
        [case] = default_cases(interface_named(name), None, ["masked"])
        p, q = case.instance.target.tables, case.instance.draft.tables
        assert all((table[:, -1] == 0).all() for table in (*p, *q))
        pairs = [(x, y) for one, other in zip(p, q, strict=False) for x, y in zip(one.flat, other.flat, strict=True)]
        assert any(x == 0 < y for x, y in pairs)
        assert any(y == 0 < x for x, y in pairs)


def test_rows_that_cannot_be_added_are_named(planted):
    with pytest.raises(InvalidInput, match="there is no 'naan' to be added; choose from masked"):
        judged(planted, "right_masked", ["naan"])
