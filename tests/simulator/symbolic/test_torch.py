"""torch under symbolic randomness: exact laws of random operations, and of what is done with their numbers."""

import warnings

import numpy as np  # noqa: F401 - for the expressions
import pytest
from flint import fmpq

from tests.simulator.symbolic.values import equally_likely

torch = pytest.importorskip("torch")
P = torch.tensor([0.5, 0.125, 0.375])
GENERATOR = torch.Generator().manual_seed(3)
HALF, QUARTER = fmpq(1, 2), fmpq(1, 4)
DRAW = {0: HALF, 1: fmpq(1, 8), 2: fmpq(3, 8)}


#: Ways to draw from `P`.
WAYS = (
    "torch.multinomial(P, 1).item()", "torch.multinomial(P.expand(1, 3), num_samples=1).squeeze()",
    "torch.argmax(P / torch.empty_like(P).exponential_())", "P.div(torch.empty_like(P).exponential_(1)).argmax(dim=-1)",
    "(torch.empty_like(P).exponential_() / P).min(dim=0).indices",
    "(torch.zeros_like(P).exponential_() / P).topk(1, largest=False)[1].item()",
    "(-torch.log(torch.rand(3)) / P).argmin(-1, keepdim=True).item()", "(P / -torch.rand_like(P).log()).max(0)[1]",
    "torch.rand(1, 3).log_().div_(P).argmax(-1).item()",
    "torch.searchsorted(P.cumsum(-1), torch.rand(1), right=True).item()",
    "torch.bucketize(torch.rand(()), P.cumsum(0)).item()", "(torch.rand(()) > P.cumsum(0)).sum()",
    "(P.cumsum(-1) < torch.rand(1, dtype=torch.float64)).long().sum(-1).item()",
    "(torch.rand(1) < P.cumsum(-1)).int().argmax().item()", "torch.distributions.Categorical(probs=P).sample()",
    "int(np.searchsorted(P.cumsum(0).numpy(), torch.rand(1).item()))",
    "(P.log() - torch.log(-torch.log(torch.rand(3)))).argmax().item()",
    "(P.double().log() - torch.empty(3).exponential_().log()).argmax(-1).item()",
    "(torch.distributions.Gumbel(torch.zeros(3), torch.ones(3)).sample() + P.log()).argmax()",
    "torch.argmax(P.log() - torch.log(-torch.log(torch.rand(3) + 1e-20) + 1e-20)).item()",
)  # fmt: skip


@pytest.mark.parametrize("text", WAYS)
def test_ways_to_draw_from_a_distribution(law, text):
    found = law(eval(f"lambda: {text}", globals()))
    if "P.log" in text or "P.double" in text:
        assert [float(found[i]) for i in range(3)] == pytest.approx(P.tolist(), rel=1e-6)  # log P in float32
    else:
        assert found == DRAW


#: Equally likely results -> draws that have them.
DRAWS = {
    "[(0.0, 0.0)] * 3 + [(0.0, 1.0)] * 3 + [(1.0, 0.0), (1.0, 1.0)]": (
        "torch.bernoulli(torch.tensor([0.25, 0.5])).tolist()",
    ),
    "[0.0, 0.0, 0.0, 1.0]": ("torch.bernoulli(torch.empty(1), 0.25).item()", "torch.empty(1).bernoulli_(0.25).item()"),
    "[0, 1]": ("torch.randint(2, (1,)).item()", "torch.empty(1, dtype=torch.int64).random_(2).item()"),
    "[1, 2]": ("torch.randint(1, 3, ()).item()", "torch.empty(1, dtype=torch.int64).random_(1, 3).item()"),
    "[(0, 1), (1, 0)]": ("torch.randperm(2).tolist()",),
    "[((0,), (1,)), ((1,), (1,))]": ("torch.multinomial(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 1).tolist()",),
    "[True, False]": (
        "(torch.empty(1).uniform_(-1, 1) < 0).item()", "(torch.rand(1, out=torch.empty(1)) < 0.5).item()",
        "(torch.rand(1, generator=GENERATOR) < 0.5).item()",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("results", "text"), [(results, text) for results in DRAWS for text in DRAWS[results]])
def test_draw(law, results, text):
    assert law(eval(f"lambda: {text}", globals())) == equally_likely(eval(results))


def test_multinomial_with_several_samples(law, q):
    weights = torch.tensor([2.0, 1.0, 1.0])
    apart = law(lambda: torch.multinomial(weights, 2).tolist())
    assert apart[0, 1] == q(1, 4)
    assert apart[1, 0] == q(1, 4) * q(2, 3)
    assert sum(apart.values()) == 1
    again = law(lambda: torch.multinomial(weights, 2, replacement=True).tolist())
    assert again[0, 0] == q(1, 4)


def test_views_and_operations_in_place_share_their_numbers(law, q):
    def function():
        u = torch.empty(2, 2).uniform_()
        row, column = u[0], u[:, 0]
        row.mul_(2)  # u[0, 0] and u[0, 1] now lie in [0, 2]
        u.t()[1, 1] = 0.25
        return (column < 0.5).tolist(), (u.view(-1)[1::2] < 0.5).tolist()

    found = law(function)
    assert found[(True, True), (True, True)] == q(1, 4) * q(1, 2) * q(1, 4)
    assert found[(False, False), (False, True)] == q(3, 4) * q(1, 2) * q(3, 4)
    assert len(found) == 8


def test_real_values_written_over_random_ones(law):
    def function():
        u = torch.rand(3)
        u[0] = 0.75
        u[1:].copy_(torch.tensor([0.1, 0.9]))
        v = torch.rand(2).zero_()
        w = torch.rand(2).fill_(0.5)
        return (u < 0.5).tolist(), v.tolist(), w.tolist(), u.max().item() > 0.8

    assert law(function) == {((False, True, False), (0.0, 0.0), (0.5, 0.5), True): 1}


def test_whole_numbers_are_filled_with_random_ones_cut_off(law, q):
    def function():
        u = torch.rand(())
        filled = torch.zeros(2, dtype=torch.int64).fill_(u * 2)
        return filled.tolist(), torch.fill(torch.zeros(2), u)[1].item() < 0.5

    assert law(function) == {((0, 0), True): q(1, 2), ((1, 1), False): q(1, 2)}


def test_the_extreme_along_a_dimension_of_one_number_is_the_number(law, q):
    def function():
        value, index = torch.rand(()).max(0)
        return value.item() < 0.25, index.item()

    assert law(function) == {(True, 0): q(1, 4), (False, 0): q(3, 4)}


def test_moves_of_elements(law, q):
    def function():
        u = torch.rand(1, 3)
        tokens = torch.tensor([[2, 0]])
        gathered = u.gather(-1, tokens)
        stacked = torch.stack([gathered[0], torch.zeros(2)])
        joined = torch.cat([stacked, torch.ones(1, 2)]).masked_fill(torch.tensor([False, True]), 0.25)
        flipped = joined.flip(0)[:, :1].repeat(1, 2).clone()
        padded = torch.nn.functional.pad(flipped, (0, 1))
        padded[0, 2] = u[0, 1]
        padded[torch.tensor([1]), torch.tensor([2])] = u[0, 1]
        return (padded < 0.5).tolist()

    # rows: ones, zeros, u[2]; last column: u[1], u[1], 0
    assert law(function) == {
        ((False, False, a), (True, True, a), (b, b, True)): q(1, 4) for a in (True, False) for b in (True, False)
    }


def test_python_numbers_stay_random_and_come_back(law, q):
    def function():
        u = torch.rand(()).item()
        v = torch.rand(2).tolist()[0]
        mixed = torch.tensor([u, 0.3]) * v
        return u < 0.5, bool(torch.tensor(0.25) > v), (u < P).tolist()[0], bool((mixed < 1).all())

    assert law(function) == {
        (True, True, True, True): q(1, 8),
        (True, False, True, True): q(3, 8),
        (False, True, False, True): q(1, 8),
        (False, False, False, True): q(3, 8),
    }


@pytest.mark.heavy
def test_compiled_functions_are_followed_operation_by_operation(law):
    if not hasattr(torch.compiler, "set_stance"):
        pytest.skip("this torch cannot run a compiled function eagerly")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of its own parts when it first loads its compiler
        function = torch.compile(lambda p: (torch.rand(1) < p).item())
        assert law(lambda: function(torch.tensor([0.5]))) == {True: HALF, False: HALF}


def seed(session):
    """Arguments for a function of one seed."""
    return [session.given_seed("seed", 1)]


def constants():
    torch.manual_seed(0)
    own = torch.Generator().manual_seed(3)
    into = torch.empty(2).uniform_(generator=own)
    numbers = [torch.rand(2), torch.randn(2), into, torch.randint(100, (2,)), torch.multinomial(torch.ones(9), 3)]
    numbers += [torch.rand(1, generator=torch.Generator()), own.get_state()[:4], torch.rand_like(into)]
    return [number.tolist() for number in numbers]


def test_a_constant_seed_gives_the_true_numbers(law):
    state = torch.get_rng_state()
    [(found, mass)] = law(lambda: repr(constants())).items()
    assert torch.equal(torch.get_rng_state(), state)
    assert mass == 1
    assert found == repr(constants())


def test_a_seed_that_a_generator_takes_from_the_system_is_random(law):
    def function():
        one, two = torch.Generator(), torch.Generator()
        one.seed()
        two.manual_seed(torch.seed())
        return [bool(torch.rand((), generator=each) < 0.5) for each in (one, two, None)]

    assert set(law(function).values()) == {HALF**3}


@pytest.mark.parametrize(
    "function",
    [
        lambda: torch.rand(2, 2).tril()[0, 1],
        lambda: torch.rand(2, 2).triu()[1, 0],
        lambda: torch.nn.functional.pad(torch.rand(1), (1, 0))[0],
        lambda: torch.rand(2).diag()[0, 1],
    ],
)
def test_what_torch_fills_is_zero(law, function):
    assert law(lambda: function().item()) == {0.0: 1}


COARSE = [
    lambda u: u < 0.3, lambda u: u == 0, lambda u: u <= 1 / 256, lambda u: u >= 0.999, lambda u: u.float() * 0.7 < 0.3,
    lambda u: u < torch.tensor([0.3], dtype=torch.float64), lambda u: -u.float() < -0.25,
    lambda u: 1 - u.double() <= 0.5,
    lambda u: (u < 0.3) & (u > 0.1), lambda u: u.clone()[:] > 0.5,
]  # fmt: skip


def all_of_16_bits(dtype):
    """The values that numbers of 24 bits are rounded to, where 0 takes the place of 1, and how many of them are."""
    values, counts = (torch.arange(2**24) * 2.0**-24).to(dtype).float().unique(return_counts=True)
    return torch.where(values == 1, 0, values).to(dtype), counts


@pytest.mark.heavy
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_uniform_numbers_of_16_bits_have_the_probabilities_of_their_grid(law, q, dtype):
    values, counts = all_of_16_bits(dtype)
    for below in COARSE:
        found = law(lambda below=below: bool(below(torch.rand(1, dtype=dtype)).item()))
        assert found.get(True, 0) == q(int(counts[below(values)].sum()), 2**24)


def test_the_value_of_a_number_of_16_bits_is_decided_where_a_function_of_it_is_asked_for(law, q):
    def function():
        u = torch.rand(1, dtype=torch.bfloat16)
        return bool(u.float().log() < -0.125) if u > 0.75 else None

    values, counts = all_of_16_bits(torch.bfloat16)
    found = law(function)
    assert found[None] == q(int(counts[values <= 0.75].sum()), 2**24)
    assert found[True] == q(int(counts[(values > 0.75) & (values.float().log() < -0.125)].sum()), 2**24)
