"""Rows on request: tokens of probability zero must not come out, and from NaN nothing may."""

import random

import pytest

from draftproof.simulator import assert_lossless
from draftproof.simulator.audit import default_cases, interface_named, make_audit
from draftproof.simulator.audit.broken_rows import silent_output
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


def test_a_function_raises_on_rows_of_nan_or_fails(planted):
    judged(planted, "right_nan", ["nan"])
    with pytest.raises(AssertionError, match="fails where rows of NaN, or without any token") as error:
        judged(planted, "wrong_nan", ["nan"])
    assert "it returns token 0 from a row of NaN (p after ())" in str(error.value)
    assert "from a row without any token (p after ())" in str(error.value)


def test_the_errors_on_such_rows_are_named(planted):
    audit = make_audit(planted("special_rows", "right_nan"), "chain")
    assert silent_output(audit, None)[1:] == (None, ["it raised ValueError"])


def test_a_row_that_is_not_read_is_no_matter():
    def ignores_the_draft(tokens, q, p):
        if sum(p[0]) != 1:
            raise ValueError
        return 0, random.choices(range(len(p[0])), weights=p[0])[0]

    assert silent_output(make_audit(ignores_the_draft, "chain"), None)[1] is None


@pytest.mark.parametrize(
    ("options", "also", "message"),
    [
        ({}, ["naan"], "there are no rows 'naan' to be added; choose from masked, nan"),
        ({"arithmetic": "rational"}, ["nan"], "fractions hold no NaN"),
        ({"processing": "temperature=.5"}, ["nan"], "rows that are handed over as they are"),
        ({"interface": "coins", "batch": 2}, ["nan"], "an error ends the call of a whole batch"),
    ],
)
def test_what_cannot_be_asked_is_said(planted, options, also, message):
    with pytest.raises(InvalidInput, match=message):
        judged(planted, "right_nan", also, **options)
