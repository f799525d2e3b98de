"""A law that depends on memory which nothing was written to is a failure of the function, with its line."""

import re
from importlib.util import find_spec

import pytest

from draftproof.simulator.audit import default_cases, make_audit
from draftproof.simulator.audit.verdict import Record, Request, run_audit

pytest.importorskip("torch")


def record_of(planted, name, cases=("short",), file="unset_memory"):
    audit = make_audit(planted(file, name), "chain", "torch", name=name)
    return run_audit(Record(Request(name, audit, default_cases(audit.audited.interface, None, cases))))


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


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["right_masked", "right_masked_index"])
def test_a_law_that_does_not_depend_on_it_is_judged(planted, name):
    assert record_of(planted, name).verdict.lossless


@pytest.mark.parametrize("name", ["wrong_difference", "wrong_comparison", "wrong_index", "wrong_batch_of_types"])
def test_two_loads_do_not_cancel(planted, name):
    assert not record_of(planted, name).verdict.lossless


@pytest.mark.skipif(find_spec("triton") is None, reason="kernels need triton: pip install 'draftproof[kernels]'")
def test_masked_lanes_of_a_load_without_other_are_never_set(planted):
    assert record_of(planted, "right", file="masked_loads").verdict.lossless
    record = record_of(planted, "wrong", file="masked_loads")
    [failure] = record.failures
    assert not record.verdict.lossless
    assert "depends on numbers that were never set" in str(failure)
    assert re.search(r"lanes that are masked in a load without `other` at masked_loads.py:\d+", str(failure))
