"""The same functions, run with the real generators: sampled frequencies agree with the exact laws."""

import collections
import math
import random

import numpy as np
import pytest

from draftproof.simulator.arithmetic import FLOAT64
from tests.simulator.symbolic.values import frozen

torch = pytest.importorskip("torch")
SAMPLES = 4000
P, Q = np.array([0.5, 0.2, 0.3]), np.array([0.2, 0.3, 0.5])


def shared_race():
    e = np.random.exponential(size=3)
    return int(np.argmin(e / P)), int(np.argmin(e / Q))


def coupled_gumbel():
    noise = torch.empty(3, dtype=torch.float64).exponential_().log()
    p, q = torch.from_numpy(P), torch.from_numpy(Q)
    return (p.log() - noise).argmax().item(), (q.log() - noise).argmax().item()


def mixed_uniforms():
    u, v, w = np.random.rand(3)
    return bool(u + v < 1), bool(u - 2 * w < 0.25), bool(max(v, w) < 0.7)


def products():
    u = np.cumprod(np.random.rand(3))
    return [bool(x < 0.3) for x in u]


def exponentials():
    e, f = random.expovariate(1.0), random.expovariate(2.0)
    return e < f, e + f < 1, 2 * e > 1.5


def order_of_torch():
    u = torch.rand(3)
    values, places = u.sort()
    return places.tolist(), bool(values[1] < 0.5)


def block_in_torch():
    p, q = torch.tensor([0.5, 0.25, 0.25]), torch.tensor([0.25, 0.25, 0.5])
    drafts = torch.multinomial(q.expand(2, 3), 1).squeeze(1)
    accepted = (torch.rand(2) < p[drafts] / q[drafts]).long().cumprod(0).sum().item()
    rest = (p - q).clamp(min=0) if accepted < 2 else p
    return [*drafts[:accepted].tolist(), torch.multinomial(rest, 1).item()]


def transformed():
    u = random.random()
    return math.sqrt(u) < 0.6, -math.log(1 - u) > 1, int(5 * u), 2**u < 1.5, u / (1 - u) < 0.5


def shuffled():
    cards = [1, 2, 3]
    random.shuffle(cards)
    return cards, np.random.choice(3, size=2, replace=False, p=P).tolist(), np.random.binomial(2, 0.3)


FUNCTIONS = [
    shared_race, coupled_gumbel, mixed_uniforms, products, exponentials, order_of_torch, block_in_torch, transformed,
    shuffled,
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_sampled_frequencies_agree_with_the_exact_law(law, function):
    found = {key: float(mass) for key, mass in law(function, arithmetic=FLOAT64).items()}
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)  # a sum of floats
    states = random.getstate(), np.random.get_state()
    try:
        random.seed(1)
        np.random.seed(1)
        with torch.random.fork_rng():
            torch.manual_seed(1)
            counts = collections.Counter(frozen(function()) for _ in range(SAMPLES))
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
    assert counts.keys() <= found.keys()
    for key, mass in found.items():
        # five standard deviations of a frequency, and one count for the rarest
        assert abs(counts[key] - SAMPLES * mass) <= 5 * math.sqrt(SAMPLES * mass) + 1, key
