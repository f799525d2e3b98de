"""`draftproof audit --sample`: real random numbers where no exact answer is possible."""

import random
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from draftproof.experiments.cli.audit.sampled import sample
from draftproof.simulator.audit import default_cases, make_audit
from draftproof.simulator.audit.verdict import Request
from tests.modules import load

FILE = Path(__file__).parents[2] / "data" / "audited" / "refused.py"


def sampled(name, cases, wanted, level=1e-6, seed=0, **options):
    audit = make_audit(load(FILE, name), "chain", name=name, **options)
    return sample(Request(name, audit, default_cases(audit.audited.interface, None, cases)), "why", wanted, level, seed)


def test_a_biased_function_is_refuted_with_exit_1(draftproof):
    given = ("--interface", "chain", "--cases", "short", "--sample", 5000)
    ran = draftproof("audit", f"{FILE}:wrong", *given, "--json")
    assert ran.code == 1
    assert (ran.row["lossless"], ran.row["proved"]) == (False, False)
    assert ran.row["samples"] < 5000  # it ends where it refutes
    assert ran.row["p_value"] <= ran.row["level"] == 1e-6
    assert "random.gauss cannot be enumerated (refused.py:8)" in ran.row["refusal"]
    assert "up to 5,000 calls with real random numbers on 1 instances, " in ran.err


def test_a_lossless_one_is_not_and_the_exit_code_is_no_proof(draftproof):
    given = ("--interface", "chain", "--cases", "short", "--sample", 1000)
    ran = draftproof("audit", f"{FILE}:right", *given)
    assert ran.code == 2
    assert "NO BIAS FOUND in 1,000 samples on 1 instances: not a proof" in ran.out
    assert "LOSSLESS" not in ran.out


def test_an_exact_answer_needs_no_samples(draftproof):
    given = ("--interface", "chain", "--cases", "short", "--sample", 1000, "--json")
    ran = draftproof("audit", f"{FILE.with_name('correction_from_target.py')}:right", *given)
    assert ran.code == 0
    assert "samples" not in ran.row


def test_what_goes_wrong_is_said_in_one_line(draftproof):
    given = ("--interface", "chain", "--cases", "short", "--sample", 100)
    failing = draftproof("audit", f"{FILE}:fails", *given)
    assert failing.code == 2
    assert "it raised IndexError" in failing.err
    assert "level 2.0: give" in draftproof("audit", f"{FILE}:right", *given, "--level", 2).err


def test_a_function_that_fails_rarely_fails_and_is_told_how_often(draftproof):
    given = ("--interface", "chain", "--cases", "short", "--sample", 5000)
    ran = draftproof("audit", f"{FILE}:fails_rarely", *given, "--json")
    assert ran.code == 1
    assert (ran.row["lossless"], ran.row["proved"]) == (False, True)
    failed, calls = len(ran.json["failures"]), ran.row["samples"]
    assert 0 < failed < 0.05 * calls
    why = f"FAILS in {failed} of {calls:,} calls with real random numbers: it raised ZeroDivisionError: "
    assert ran.row["verdict"].startswith(why)
    assert "e-process" not in str(ran.json["notes"])


def test_what_draws_out_of_sight_is_refused_and_sampled(draftproof, tmp_path, monkeypatch):
    library = types.ModuleType("jax")
    library.uniform = lambda: random.random()  # noqa: PLW0108 - looked up when it is called
    monkeypatch.setitem(sys.modules, "jax", library)
    path = tmp_path / "theirs.py"
    path.write_text("import jax\n\ndef verify(tokens, q, p):\n    return 0, int(jax.uniform() < 0.5)\n")
    given = ("audit", f"{path}:verify", "--interface", "chain", "--cases", "short")
    refused = draftproof(*given)
    assert refused.code == 2
    assert "the global jax is of JAX, which is not followed; test it on real random numbers (--sample N)" in refused.err
    assert draftproof(*given, "--sample", 2000).code == 1


def test_a_token_that_the_target_excludes_refutes_at_once():
    samples = sampled("impossible", ["zeros"], 1500)
    assert (samples.refuted, samples.p_value, samples.place.expected) == (True, 0, 0)


def test_the_same_seed_gives_the_same_samples_and_leaves_the_generators_as_they_were():
    before = random.getstate(), np.random.get_state()[1].tolist()
    one, same, other = (sampled("right", ["short"], 300, seed=seed).place for seed in (1, 1, 2))
    assert (one.seen, one.visits) == (same.seen, same.visits)
    assert (one.token, one.seen, one.visits) != (other.token, other.seen, other.visits)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


@pytest.mark.heavy
def test_lossless_functions_are_refuted_no_more_often_than_the_level_says():
    """At level 0.05 of 60 runs: nine or more would have a probability below 0.003."""
    assert sum(sampled("right", ["short"], 1000, 0.05, seed).refuted for seed in range(60)) < 9


@pytest.mark.heavy
@pytest.mark.parametrize(("file", "interface"), [("engines.py", "vllm-v2"), ("engines.py", "tensorrt-llm")])
def test_functions_of_engines_run_on_real_numbers(file, interface):
    pytest.importorskip("torch")
    start = interface.replace("-", "_")
    for twin in ("right", "wrong"):
        audit = make_audit(load(FILE.with_name(file), f"{start}_{twin}"), interface)
        request = Request(twin, audit, default_cases(audit.audited.interface, None, ["short"]))
        assert sample(request, "why", 3000, 1e-6, 0).refuted is (twin == "wrong")
