"""The default instances are what they say, and the scheme of ragged paths draws what it counts."""

import math

import numpy as np
import pytest

from draftproof import verifiers
from draftproof.simulator import Delayed, InvalidInput, check
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.audit import INTERFACES, Ragged, default_cases, interface_named
from draftproof.simulator.audit.instances import probe
from draftproof.simulator.coins import outcomes

CHAIN = {case.name: case for case in default_cases(interface_named("chain"))}
TREES = {case.name: case for case in default_cases(interface_named("tree"))}


def rows(process):
    return [row for table in process.tables for row in table]


def to_bits(number, bits):
    """Rounded to a float with so many bits behind the first one."""
    mantissa, exponent = math.frexp(number)
    return math.ldexp(round(mantissa * 2 ** (bits + 1)) / 2 ** (bits + 1), exponent)


@pytest.mark.parametrize("interface", INTERFACES)
def test_rows_that_are_rounded_to_short_floats_or_decimals_are_others(interface):
    given = interface_named(interface)
    masked = default_cases(given, None, ["masked"])
    cases = [*default_cases(given, sorts=True), *masked]
    added = [probe(case.instance, case.scheme) for case in masked]
    for instance in [*(case.instance for case in cases), *added]:
        for row in [*rows(instance.target), *rows(instance.draft)]:
            exact = [float(mass) for mass in row]
            rounded = [[to_bits(mass, bits) for mass in exact] for bits in (3, 7, 10)]  # fp8, bfloat16, float16
            rounded.append([round(mass, 4) for mass in exact])
            assert max(exact) == 1 or all(abs(np.subtract(short, exact)).max() > 1e-6 for short in rounded)


def test_cases_are_what_they_are_called():
    draft = rows(CHAIN["one_hot"].instance.draft)
    assert all(sorted(row)[-1] == 1 for row in draft)
    disjoint = CHAIN["disjoint"].instance
    assert all((p * q).sum() == 0 for p, q in zip(rows(disjoint.target), rows(disjoint.draft), strict=False))
    equal = CHAIN["equal"].instance
    assert all((p == q).all() for p, q in zip(rows(equal.target), rows(equal.draft), strict=False))
    assert any(mass == 0 for row in rows(CHAIN["zeros"].instance.target) for mass in row)
    assert len({tuple(row) for row in rows(CHAIN["context_free"].instance.target)}) == 1
    assert len({tuple(row) for row in rows(CHAIN["context"].instance.target)}) > 1


@pytest.mark.parametrize("name", ["context", "three_tokens", "deep"])
def test_block_and_token_wise_verification_differ_where_they_should_be_told_apart(name):
    case = CHAIN[name]
    naive, block = (
        check(verifiers.make(each), case.instance.target, case.instance.draft, case.scheme).block_efficiency
        for each in ("naive", "block")
    )
    assert naive < block


def test_residuals_of_three_tokens_have_two_of_them():
    instance = CHAIN["three_tokens"].instance
    for p, q in zip(rows(instance.target), rows(instance.draft), strict=False):
        assert sum(int(a > b) for a, b in zip(p, q, strict=True)) == 2


def test_trees_have_ragged_paths_and_more_paths_than_depth_plus_one():
    assert TREES["ragged"].scheme == Ragged((2, 1))
    many = TREES["many_paths"].scheme
    assert many.depth + 1 < many.K


@pytest.mark.parametrize("name", ["chain", "paths", "loop"])
def test_masks_are_in_p_in_q_and_in_both(name):
    [case] = default_cases(interface_named(name), None, ["masked"])
    p, q = case.instance.target.tables, case.instance.draft.tables
    assert all((table[:, -1] == 0).all() for table in (*p, *q))
    pairs = [(x, y) for one, other in zip(p, q, strict=False) for x, y in zip(one.flat, other.flat, strict=True)]
    assert any(x == 0 < y for x, y in pairs)
    assert any(y == 0 < x for x, y in pairs)


def test_ragged_scheme_draws_what_it_counts():
    case = TREES["ragged"]
    drawn = list(outcomes(lambda coin: case.scheme.draw(case.instance.draft, coin), RATIONAL))
    assert len(drawn) == case.scheme.count(case.instance.draft)
    assert sum(mass for _, mass in drawn) == 1
    assert case.scheme.reductions()[0] == Delayed(1, 0, 1)
    assert case.scheme.reductions()[-1] == Ragged((2, 1))
    with pytest.raises(InvalidInput, match="longest first"):
        Ragged((1, 2))
