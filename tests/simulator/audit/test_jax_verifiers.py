"""Rejection samplers in JAX: the right ones are lossless, the planted bugs are found in their place and named."""

import subprocess
import sys
from pathlib import Path

import pytest

from draftproof.simulator.audit import Evidence, default_cases, diagnose, interface_named, make_audit, only_rounding
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.symbolic import load

pytest.importorskip("jax", reason="functions in JAX need it: pip install 'draftproof[jax]'")
FILE = Path(__file__).parents[2] / "data" / "audited" / "jax_verifiers.py"
CASES = default_cases(interface_named("chain"), None, ["three_tokens", "zeros", "short"])


def findings(name, **options):
    audit = make_audit(load(FILE, name), "chain", library="jax", name=name, **options)
    return audit, [audit.judge(case.instance, case.scheme) for case in CASES]


@pytest.mark.parametrize("name", ["right", "renormalised", "looped", "block", "own_seed", "many_at_once"])
def test_right_ones_are_lossless(name):
    audit, found = findings(name)
    # Some float64 roundings.
    assert max(each.check.max_deviation for each in found) < 1e-15
    assert all(each.lossless for each in found)
    assert audit.audited.log.reuse == {}
    seeded = [note for note in audit.audited.log.notes if "counts as made anew at every call" in note]
    assert bool(seeded) is (name == "own_seed")


@pytest.mark.parametrize(
    ("name", "entry", "depth"),
    [
        ("key_used_twice", "coin in the race", 1),
        ("coins_shared", "coin reuse", 1),
        ("not_renormalised", "missing renormalisation", 0),
        ("swapped", "p and q swapped", 0),
        ("block_uncapped", "uncapped ratio", 1),
    ],
)
def test_planted_bugs_are_refuted_in_their_place_and_named(name, entry, depth):
    audit, found = findings(name)
    finding = next(each for each in found if not each.lossless)
    assert finding.first is not None
    assert len(finding.first.context) == depth
    named = [each.name for each in diagnose(Evidence(audit, finding, found))]
    assert named[0] == entry
    # On three instances another row would explain it too; the smallest witness, which the command looks for, does not.
    beside = {"first token exact"} | ({"row off by one"} if name == "key_used_twice" else set())
    assert set(named) <= {entry} | beside


@pytest.mark.parametrize("name", ["single_precision", "single_inside"])
def test_rounding_of_a_lower_precision_is_no_bias(name):
    audit, found = findings(name)
    rounding = only_rounding(audit, found)
    assert rounding is not None
    assert rounding.precision == "float32"
    assert 0 < rounding.bias < 1e-7


def test_keys_stand_where_the_function_wants_them_and_the_adapter_says_so():
    audit, _ = findings("looped")
    assert audit.audited.adapter.endswith("rows as jax float64; rng: a key")
    assert findings("block", keywords={"capped": False})[1][0].lossless is False


def test_normal_noise_is_refused_by_its_line():
    with pytest.raises(InvalidVerifier, match=r"erf_inv of a random number .*jax_verifiers\.py:\d+"):
        findings("normal_noise")


@pytest.mark.heavy
def test_a_process_that_has_not_seen_jax_yet_judges_a_file_of_it(tmp_path):
    """jax registers functions of numpy where it is first imported, which must not be replaced ones."""
    inner = tmp_path / "theirs.py"
    inner.write_text(f"import sys\nsys.path.insert(0, {str(FILE.parent)!r})\nfrom jax_verifiers import right\n")
    for file in (FILE, inner):
        command = [sys.executable, "-m", "draftproof", "audit", f"{file}:right", "--interface", "chain"]
        ran = subprocess.run(
            [*command, "--library", "jax", "--cases", "short"], capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
