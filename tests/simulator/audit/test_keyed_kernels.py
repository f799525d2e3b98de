"""Kernels of today, retyped: rejection with keyed Gumbel noise, block verification, a chain that reads p alone."""

from importlib.util import find_spec

import pytest

from draftproof.simulator.audit import Evidence, default_cases, diagnose, make_audit
from draftproof.simulator.audit.verdict import Record, Request, run_audit

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    find_spec("triton") is None, reason="kernels need triton: pip install 'draftproof[kernels]'"
)


def record_of(function, name, cases, interface="chain", library="torch"):
    audit = make_audit(function, interface, library, name=name)
    return run_audit(Record(Request(name, audit, default_cases(audit.audited.interface, None, cases))))


def test_float32_in_a_kernel_is_a_small_bias(planted):
    """Each kernel casts to float32 by itself; rows and law are of float64."""
    record = record_of(planted("keyed_kernels", "right_rejection"), "right_rejection", ["short"])
    assert record.verdict.lossless
    assert 1e-9 < record.verdict.bias < 1e-6


@pytest.mark.parametrize("case", ["short", "three_tokens"])
def test_a_shared_coin_is_refuted_where_the_residual_has_two_tokens(planted, case):
    audit = make_audit(planted("keyed_kernels", "wrong_rejection_shared"), "chain", "torch")
    [given] = default_cases(audit.audited.interface, None, [case])
    assert audit.judge(given.instance, given.scheme).lossless is (case == "short")
    assert list(audit.audited.log.raced) == ([] if case == "short" else [0])


@pytest.mark.heavy
def test_the_shared_coin_is_named(planted):
    record = record_of(planted("keyed_kernels", "wrong_rejection_shared"), "wrong", ["three_tokens"])
    hypotheses = diagnose(Evidence(record.request.audit, record.verdict.refuted, record.findings))
    assert hypotheses[0].name == "coin in the race"
    assert "the acceptance coin equals the race number of token 0" in str(hypotheses[0])


#: How a bug is named where it has a name.
NAMES = {"wrong_block_uncapped": "uncapped ratio", "wrong_chain_one_coin": None, "wrong_rejection_relaxed": None}


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["right_rejection", "right_block", "right_chain"])
def test_kernels_are_lossless_on_every_default_case(planted, name):
    record = record_of(planted("keyed_kernels", name), name, None)
    assert record.verdict.lossless


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
def test_their_twins_are_refuted(planted, name):
    record = record_of(planted("keyed_kernels", name), name, ["short", "three_tokens"])
    assert not record.verdict.lossless
    if NAMES[name] is not None:
        hypotheses = diagnose(Evidence(record.request.audit, record.verdict.refuted, record.findings))
        assert hypotheses[0].name == NAMES[name]


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["right_loop", "wrong_loop"])
def test_whole_loops_of_wide_kernels(planted, name):
    """The wrong loop begins its keys anew in every block."""
    record = record_of(planted("keyed_kernels", name), name, ["context_free"], "loop", "python")
    assert record.verdict.lossless is (name == "right_loop")
