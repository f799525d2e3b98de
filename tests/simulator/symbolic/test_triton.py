"""Rejection kernels in Triton, in its own interpreter: exact laws, and their planted bugs."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from draftproof.simulator.audit import Evidence, default_cases, diagnose, interface_named, make_audit
from draftproof.simulator.symbolic import NotFollowed
from tests.modules import load

FILE = Path(__file__).parents[2] / "data" / "audited" / "triton_kernel.py"
CASES = default_cases(interface_named("chain"))
pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    find_spec("triton") is None, reason="kernels need triton: pip install 'draftproof[kernels]'"
)


def findings(name):
    audit = make_audit(load(FILE, name), "chain", library="torch", name=name)
    return audit, [audit.judge(case.instance, case.scheme) for case in CASES]


@pytest.mark.parametrize("name", ["right", pytest.param("right_block", marks=pytest.mark.heavy)])
def test_kernels_are_lossless_on_every_default_case(name):
    audit, found = findings(name)
    assert all(each.lossless for each in found)
    # A handful of float64 roundings.
    assert max(each.check.max_deviation for each in found) < 1e-15
    assert audit.audited.log.reuse == {}
    assert any("tensors stay on the CPU" in note for note in audit.audited.log.notes)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "entry", "depth"), [("wrong", "correction from p", 0), ("wrong_block", "uncapped ratio", 1)]
)
def test_their_planted_bugs_are_found_and_named(name, entry, depth):
    audit, found = findings(name)
    finding = next(each for each in found if not each.lossless)
    assert finding.first is not None
    assert len(finding.first.context) == depth
    assert diagnose(Evidence(audit, finding, found))[0].name == entry


SOURCE = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(out, noise, seed, B: tl.constexpr):
    offsets = tl.arange(0, B)
    u = tl.rand(seed, offsets)
    tl.store(out + offsets, u < 0.25)
    tl.store(noise + offsets, tl.log(1 - u))

def independent(seed):
    out, noise = torch.zeros(2, dtype=torch.int32), torch.zeros(2, dtype=torch.float64)
    kernel[(1,)](out, noise, seed, B=2)
    return out.tolist(), bool(noise[0] < noise[1])

def twice(seed):
    out, noise = torch.zeros(2, 2, dtype=torch.int32), torch.zeros(2, dtype=torch.float64)
    for row in out:
        kernel[(1,)](row, noise, seed, B=2)
    return out.tolist()

@triton.jit
def size_kernel(out, noise, B: tl.constexpr):
    tl.store(out, (tl.sum(tl.abs(tl.load(noise + tl.arange(0, B)) - 0.5)) < 0.5).to(tl.int32))

def size():
    out = torch.zeros(1, dtype=torch.int32)
    size_kernel[(1,)](out, torch.empty(2).uniform_(), B=2)
    return bool(out[0])

@triton.jit
def bits_kernel(out, noise, B: tl.constexpr):
    tl.store(out + tl.arange(0, B), tl.load(noise + tl.arange(0, B)).to(tl.int32, bitcast=True))

def bits():
    out = torch.zeros(2, dtype=torch.int32)
    bits_kernel[(1,)](out, torch.empty(2).uniform_(), B=2)
    return out.tolist()

@triton.jit
def atomic_kernel(noise, B: tl.constexpr):
    tl.atomic_add(noise + tl.arange(0, B), 1.0)

def atomic():
    noise = torch.empty(2).uniform_()
    atomic_kernel[(1,)](noise, B=2)
    return bool(noise[0] < 1.5)

def normal(out, B: tl.constexpr):
    tl.store(out + tl.arange(0, B), tl.randn(3, tl.arange(0, B)))

normal = triton.jit(normal)

def refused():
    out = torch.zeros(2)
    normal[(1,)](out, B=2)
    return bool(out[0] > 0)
"""


@pytest.fixture
def written(loaded):
    return lambda name: loaded(SOURCE, name)


def seed(session):
    """Arguments for a function of one seed."""
    return [session.given_seed("seed", 3)]


def test_a_constant_seed_gives_the_true_numbers(law, written):
    run = written("independent")
    for number in (3, 4, 2**33):
        below, smaller = run(number)
        assert law(lambda n=number: run(n)) == {(tuple(below), smaller): 1}


def test_stores_keep_random_numbers_and_a_seed_gives_the_same_ones_again(follow, written):
    found = follow(written("independent"), seed)
    law = {key: float(mass) for key, mass in found.law.items()}
    # A smaller number has the larger logarithm of what it leaves of 1; logarithms are followed to 256 bits.
    assert law[(1, 0), False] == pytest.approx(3 / 16, abs=1e-15)
    assert law[(1, 1), True] == pytest.approx(1 / 32, abs=1e-15)
    assert law[(1, 1), False] == pytest.approx(1 / 32, abs=1e-15)
    assert ((1, 0), True) not in law
    again = follow(written("twice"), seed)
    assert {rows[0] == rows[1] for rows in again.law} == {True}
    assert any("tl.rand" in each for each in again.reuse)


def test_the_size_of_a_number_is_followed(law, written):
    """The interpreter takes it from the bits."""
    assert {key: str(mass) for key, mass in law(written("size")).items()} == {True: "1/2", False: "1/2"}


@pytest.mark.parametrize(("name", "operation"), [("bits", "bitcast"), ("atomic", "atomic_rmw")])
def test_what_the_interpreter_cannot_do_is_refused_and_not_raised_by_the_kernel(law, written, name, operation):
    with pytest.raises(NotFollowed, match=rf"{operation} in a Triton kernel.*theirs.py:\d+"):
        law(written(name))


def test_normal_noise_of_triton_is_refused_by_name(law, written):
    with pytest.raises(NotFollowed, match="randn"):
        law(written("refused"))


FOUR = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(out, seed, B: tl.constexpr):
    lanes = tl.arange(0, B)
    a, b, c, d = tl.rand4x(seed, lanes)
    tl.store(out, tl.sum(((a < 0.5) & (lanes == 1)).to(tl.int32)))
    tl.store(out + 1, (tl.rand(seed, 1) < 0.5).to(tl.int32))
    tl.store(out + 2, tl.sum(((b < 0.5) & (lanes == 1)).to(tl.int32)))
    key, other, _, _ = tl.randint4x(seed + 1, lanes)
    keys = tl.sum(tl.where(lanes == 0, key, 0)), tl.sum(tl.where(lanes == 0, other, 0))
    tl.store(out + 3, (tl.rand(keys[0], 0) < 0.5).to(tl.int32))
    tl.store(out + 4, (tl.rand(tl.randint(seed + 1, 0), 0) < 0.5).to(tl.int32))
    tl.store(out + 5, (tl.rand(keys[1], 0) < 0.5).to(tl.int32))

def run(seed):
    out = torch.zeros(6, dtype=torch.int32)
    kernel[(1,)](out, seed, B=2)
    return out.tolist()
"""


def test_four_blocks_of_numbers_are_independent_and_the_first_is_the_one_of_a_single_block(law, loaded):
    text = FOUR
    found = law(loaded(text), seed)
    assert {key: str(mass) for key, mass in found.items()} == {
        (a, a, b, k, k, other): "1/16" for a in (0, 1) for b in (0, 1) for k in (0, 1) for other in (0, 1)
    }


LIBDEVICE = """
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

@triton.jit
def kernel(out, noise, B: tl.constexpr):
    lanes = tl.arange(0, B)
    x = tl.load(noise + lanes, mask=lanes < 1, other=0.0)
    tl.store(out, tl.max(libdevice.log1p(-x), axis=0) < -0.5)

def run():
    out = torch.zeros(1, dtype=torch.int32)
    kernel[(1,)](out, torch.empty(1024, dtype=torch.float64).uniform_(), B=1024)
    return out.tolist()
"""


def test_a_wide_block_and_libdevice_are_followed(law, loaded):
    text = LIBDEVICE
    assert law(loaded(text)) == {(0,): 1}  # the other lanes are zero


OTHER = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(out, numbers, others, B: tl.constexpr):
    for place in range(3):
        other = tl.load(others + place)
        tl.store(out + place, tl.load(numbers + place, mask=place == 1, other=other))
    tl.store(out + 3, (tl.load(numbers, mask=False, other=0) == 0).to(tl.int32))
    tl.store(out + 4, tl.max(tl.arange(0, B) + 0 * other, axis=0))
    a, b = tl.load(numbers), tl.load(numbers + 1)
    tl.store(out + 5, 10 * (a + a) + (a + b))

def run():
    out = torch.zeros(6, dtype=torch.int32)
    kernel[(1,)](out, torch.tensor([5, 6, 7]), torch.tensor([0, 3, 4]), B=4)
    return out.tolist()

def missing_other():
    out = torch.zeros(5, dtype=torch.int32)
    missing[(1,)](out, torch.tensor([5, 6, 7]))
    return out.tolist()

@triton.jit
def missing(out, numbers):
    tl.store(out, (tl.load(numbers, mask=False) == 0).to(tl.int32))
"""


def test_a_single_number_that_is_masked_is_its_other_also_where_that_is_zero(law, loaded):
    """Triton's front end takes an `other` of 0 for none."""
    text = OTHER
    assert law(loaded(text)) == {(0, 6, 4, 1, 3, 111): 1}
    law(loaded(text, "missing_other"))


def test_libdevice_computes_with_real_numbers_too(loaded):
    from draftproof.simulator.audit.real import RealCoins

    text = LIBDEVICE
    run = loaded(text)
    with RealCoins([1]).of_modules():
        assert run() == [0]


def test_what_libdevice_has_no_rule_for_is_refused_by_name(law, loaded):
    text = LIBDEVICE.replace("log1p", "erfinv")
    with pytest.raises(NotFollowed, match=r"libdevice\.erfinv"):
        law(loaded(text))
