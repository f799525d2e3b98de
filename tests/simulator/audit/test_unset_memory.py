"""A law that depends on memory which nothing was written to is a failure of the function, with its line."""

import re
from importlib.util import find_spec

import pytest

from draftproof.simulator.audit import default_cases, make_audit
from draftproof.simulator.audit.verdict import Request, run_audit
from draftproof.simulator.symbolic import NotFollowed

pytest.importorskip("torch")


def record_of(planted, name, cases=("short",), file="unset_memory"):
    audit = make_audit(planted(file, name), "chain", "torch", name=name)
    return run_audit(Request(name, audit, default_cases(audit.audited.interface, None, cases)))


def test_filled_memory_is_as_any_other(planted):
    assert record_of(planted, "right_filled").verdict.lossless


@pytest.mark.parametrize("name", ["wrong_part_filled", "wrong_returned"])
def test_a_law_that_depends_on_what_was_left_in_memory_is_a_failure(planted, name):
    record = record_of(planted, name)
    [failure] = record.failures
    assert not record.verdict.lossless
    assert not failure.error.called_wrongly
    assert "depends on numbers that were never set" in str(failure)
    assert "memory taken at unset_memory.py:" in str(failure)


def test_one_case_proves_what_another_one_leaves_open(planted):
    """Where p and q are disjoint, only tokens of weight 0 meet the noise that was never drawn."""
    record = record_of(planted, "wrong_part_filled", ["disjoint", "short"])
    assert [failure.case.name for failure in record.failures] == ["short"]
    assert len(record.unproved) == 1
    with pytest.raises(NotFollowed, match=r"disjoint supports.*never set"):
        record_of(planted, "wrong_part_filled", ["disjoint"])


def test_a_decision_that_is_masked_away_proves_nothing_and_is_refused(planted):
    with pytest.raises(NotFollowed, match="never set"):
        record_of(planted, "right_masked")


@pytest.mark.skipif(find_spec("triton") is None, reason="kernels need triton: pip install 'draftproof[kernels]'")
def test_masked_lanes_of_a_load_without_other_are_never_set(planted):
    assert record_of(planted, "right", file="masked_loads").verdict.lossless
    record = record_of(planted, "wrong", file="masked_loads")
    [failure] = record.failures
    assert not record.verdict.lossless
    assert "depends on numbers that were never set: it differs if these are 0, 1, 2" in str(failure)
    assert re.search(r"in lanes that are masked in a load without `other` at masked_loads.py:\d+", str(failure))
