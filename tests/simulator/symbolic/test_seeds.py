"""Seeds: random ones, and arguments of that name. Generators of libraries make streams of them, nothing else does."""

import random

import numpy as np
import pytest

from draftproof.simulator.audit import make_audit
from draftproof.simulator.audit.instances import default_cases
from draftproof.simulator.audit.interfaces import interface_named
from draftproof.simulator.coins import outcomes
from draftproof.simulator.symbolic import NotFollowed, concrete, intercepted, load

HEAD = """
import random
import numpy as np
try:
    import torch
except ImportError:
    torch = None

def pick(weights, u):
    level, total = u * sum(weights), 0
    for token, weight in enumerate(weights):
        total += weight
        if level < total:
            return token
    return token

def chain(tokens, q, p, coin, other, weights=None):
    for i, token in enumerate(tokens):
        if coin() < min(1, p[i][token] / q[i][token]):
            continue
        residual = [max(a - b, 0) for a, b in zip(p[i], q[i])]
        return [*tokens[:i], pick(weights or residual, other())]
    return [*tokens, pick(p[len(tokens)], other())]
"""
SEEDED = """
def verify(tokens, q, p, {parameters}):
    {seed}
    one, two = {generators}
    return chain(tokens, q, p, one{method}, two{method})
"""
CASE = default_cases(interface_named("chain"), chosen=["three_tokens"])[0]


def _judged(tmp_path, source):
    file = tmp_path / "theirs.py"
    file.write_text(HEAD + source)
    audit = make_audit(load(file, "verify"), "chain", name="verify")
    return audit, audit.judge(CASE.instance, CASE.scheme)


GENERATORS = [
    ("seed = random.getrandbits(32)", "np.random.default_rng(seed), np.random.default_rng(seed + 1)", ".random"),
    ("seed = random.randrange(2**31)", "random.Random(seed), random.Random(seed + 5)", ".random"),
    (
        "seed = np.random.randint(2**31)",
        "np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])",
        ".random",
    ),
    (
        "seed = np.random.default_rng().integers(2**31)",
        "np.random.RandomState(seed), random.Random(int(seed))",
        ".random",
    ),
    ("", "np.random.default_rng(seed), np.random.default_rng(seed * 7 + 1)", ".random"),
]


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("seed", "generators", "method"), GENERATORS)
def test_a_generator_with_a_random_seed_gives_independent_numbers(tmp_path, seed, generators, method):
    parameters = "*, seed=7" if not seed else "*rest"
    source = SEEDED.format(parameters=parameters, seed=seed or "assert seed >= 0", generators=generators, method=method)
    assert _judged(tmp_path, source)[1].lossless


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", ["random.getrandbits(40)", "np.random.randint(2**31)", "seed + 11"])
def test_one_seed_used_twice_is_one_stream(tmp_path, seed):
    generators = "np.random.default_rng(seed), np.random.default_rng(seed)"
    source = SEEDED.format(parameters="seed=7", seed=f"seed = {seed}", generators=generators, method=".random")
    audit, finding = _judged(tmp_path, source)
    assert not finding.lossless
    assert audit.audited.log.reuse


@pytest.mark.heavy
def test_seeds_of_torch(tmp_path):
    pytest.importorskip("torch")
    right, wrong = (
        f"""
def verify(tokens, q, p):
    seed = torch.randint(0, 2**31, (2,))
    one, two = (torch.Generator().manual_seed(s) for s in (int(seed[0]), seed[{place}].item()))
    draw = lambda generator: torch.rand((), generator=generator, dtype=torch.float64).item()
    return chain(tokens, q, p, lambda: draw(one), lambda: draw(two))
"""
        for place in (1, 0)
    )
    assert _judged(tmp_path, right)[1].lossless
    assert not _judged(tmp_path, wrong)[1].lossless


HASHED = """
def verify(tokens, q, p, {parameters}):
    {seed}
    def coin():
        nonlocal seed
        seed = (seed * 0x85EBCA6B + 12345) & 0xFFFFFFFF
        seed ^= seed >> 13
        return seed / 2**32
    return chain(tokens, q, p, coin, coin)
"""


@pytest.mark.parametrize(("parameters", "seed"), [("seed=7", ""), ("*rest", "seed = random.getrandbits(32)")])
def test_numbers_made_of_a_seed_by_hand_are_refused_with_their_line(tmp_path, parameters, seed):
    with pytest.raises(NotFollowed, match=r"arithmetic of .*theirs\.py:\d+"):
        _judged(tmp_path, HASHED.format(parameters=parameters, seed=seed))


@pytest.mark.parametrize(
    "use",
    ["seed < 2**30", "seed % 2", "[1, 2][seed]", "{seed: 1}", "np.uint32(seed)", "range(seed)", "seed and 1", "-seed",
     "np.array([seed]) % 3", "int(seed) == 4", "float(seed) < 5", "str(seed) == '3'", "np.zeros(seed)", "round(seed)",
     "bytes(seed)", "hash(seed) == 1", "1 - seed", "seed ** 2", "math.floor(seed)"],
)  # fmt: skip
def test_a_random_seed_is_nothing_else(tmp_path, use):
    file = tmp_path / "used.py"
    file.write_text(f"{HEAD}import math\n\ndef run():\n    seed = random.getrandbits(32)\n    return {use}\n")

    def run(coin):
        with intercepted(coin, watch=()):
            return str(concrete(load(file, "run")()))

    with pytest.raises((NotFollowed, TypeError)):
        list(outcomes(run))


def test_outside_of_calls_nothing_changes(tmp_path):
    file = tmp_path / "plain.py"
    file.write_text("def run(value):\n    return int(value), float(value)\n")
    assert load(file, "run")("3") == (3, 3.0)
    assert isinstance(random.getrandbits(32), int)
    assert isinstance(np.random.default_rng(1).integers(2**31), np.integer)
