"""Everything that has no exact rule is refused by name and line, never guessed: in plain Python, numpy and torch."""

# ruff: noqa: F401 - expressions name modules

import copy
import logging
import math
import pickle
import random
import re
import threading
import time

import numpy as np
import pytest

from draftproof.simulator.errors import InvalidVerifier

torch = pytest.importorskip("torch")

#: Words of a refusal, and expressions of numbers of these kinds that have no exact rule; several are decided in turn.
EXPRESSIONS = {
    "a product of sums": (
        "uuu: (u + v) * w < 1", "uuu: w * (u + v) < 1", "uuu: (u + v) * (u + w) < 1", "uu: (u + 1) * v < 1",
        "uuu: (log(u) - log(v)) * (log(u) - log(w)) < 1", "eu: log(u) * v < 1", "uu: (u - 2) * v < -1",
        "uu: (0.5 - u) * v < 0",
    ),
    "a product of functions of different kinds": (
        "uuuu: (u + v) * (w * x) < 1", "uu: log(u) * v < 0.5", "uue: u * v * w < 0.5",
    ),
    "a logarithm of a function of several random numbers": ("uu: log(u + v) < 0", "ee: log(u + v) < 0"),
    "a power of a function of several random numbers": ("uu: (u + v) ** 2 < 1", "uu: 1 / (u + v) < 1"),
    "an exponential of a function of several random numbers": ("uu: exp(u + v) < 2", "uu: exp(u * v) < 2"),
    "a sum of a function of several random numbers": ("uu: u * v + 1 < 1.5",),
    "a sum of products": ("uuu: u * v + w < 1", "uuuu: u * v + w * x < 1", "uu: u * v + u < 1", "uu: u ** 2 + v < 1"),
    "a sum of a uniform number and a function of another kind": ("uu: u + log(v) < 0", "ue: u + v < 1"),
    "a comparison with another random number of a different kind": (
        "uu: -log(v) < u", "ue: u < v", "uuu: u + 1 < v * w", "ue: u ** 2 < v ** 2", "uu: exp(u) < v + 1",
        "uu: exp(u) < 2 * exp(v) + 1", "uu: exp(u) < 1 / (1 + v)", "uu: exp(u) * 2 < exp(v) + 1",
        "uu: log(u + 1.5e-6) < 2 * log(v)", "uu: log(1.0000015 - u) < 2 * log(v)",
        "uu: log(1 - u + 1.5e-6) < 2 * log(v)",
    ),
    "a sum with another random number": ("uu: exp(u) + v < 2", "u: exp(u) + exp(u) < 2"),
    "a product with another random number": ("uu: exp(u) * v < 2", "uu: v / (1 + u) < 0.5"),
    "a power of a number that may be negative": ("u: (u - 0.5) ** 2 < 0.1",),
    "a power with a random or infinite exponent": ("uu: u ** v < 1",),
    "a power of a number that is not positive, with exponent,": ("u: (-2.0) ** u < 1",),
    "a product of several exponential random numbers, compared,": ("eee: u * v * w < 1", "ee: u * u < v"),
    "a comparison of Gumbel noise with a difference beyond every float": (
        "ee: log(u) + 1e6 < log(v)", "ee: log(u) - 1e6 < log(v)",
    ),
    "a comparison both as a uniform and as an exponential": (
        "uu: u * v < 0.25; u + v < 1", "uu: u * v < 0.25; u - v < 0.5", "uuu: u * v * w < 0.25; u + v < w",
    ),
}  # fmt: skip
#: Refusals of what earlier decisions leave without a rule.
AFTER = {
    "compared both as uniforms and as exponentials": (
        "uuu: u + v < 1; u * w < 0.25", "uu: u + v < 1; log(u) + log(v) < -1",
    ),
    "-log(u) and -log(1 - u) of one": (
        "uu: log(1 - u) + log(v) < -1; log(u) + log(v) < -1", "uuu: log(1 - u) + log(v) < -1; log(u) + log(w) < -1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("library", ["python", "numpy", "torch"])
@pytest.mark.parametrize("message", [*EXPRESSIONS, *AFTER])
def test_expressions_without_an_exact_rule(answers, library, message):
    full = rf"{re.escape(message)} of a random number cannot be followed exactly \((<string>|conftest\.py):\d+\)"
    for text in (EXPRESSIONS | AFTER)[message]:
        kinds, tests = text.split(": ")
        with pytest.raises(InvalidVerifier) as caught:
            answers(tests.split("; "), kinds, library)
        if message in AFTER:
            assert message in str(caught.value)
            assert "(<string>:1)" in str(caught.value)
        else:
            assert re.fullmatch(full, str(caught.value)), text


def below(values):
    return [bool(value < 0.5) for value in values]


def from_numpy():
    memory = np.zeros(1)
    torch.from_numpy(memory).uniform_()
    return below(memory)


def frombuffer():
    memory = bytearray(8)
    torch.frombuffer(memory, dtype=torch.float64).uniform_()
    return below(np.frombuffer(memory))


def seen_by_numpy():
    tensor = torch.zeros(1)
    seen = tensor.numpy()
    tensor.uniform_()
    return below(seen)


def rng(*seed):
    return np.random.default_rng(*seed)


def threaded():
    thread = threading.Thread(target=list)
    thread.start()
    thread.join()


#: Words of a refusal, and what is refused: of a number `u`, an array `a` and a tensor `t`.
FUNCTIONS = [
    ("math.log10", "math.log10(u) < 0"), ("math.hypot", "math.hypot(1.0, u) < 2"), ("math.exp", "math.exp(u, 2)"),
    ("math.sin", "math.sin(u) < 0.5"), ("turned into a float", "(lambda x: float(x))(u) < 0.5"),
    ("turned into a float", "np.zeros(1).__setitem__(0, u)"), ("the hash", "u in {1.0, 2.0}"), ("the hash", "{u}"),
    ("use as an index", "list(range(3))[u]"), ("complex()", "complex(u)"), ("pickling", "pickle.dumps(u)"),
    ("rounding to 1 digits", "round(u, 1)"), ("rounding to a whole number", "int(random.expovariate(1.0))"),
    ("rounding to a whole number", "int(9 * u * random.random())"),
    ("rounding to one of 10,000 whole numbers", "int(10_000 * u)"),
    ("a power with a random or infinite exponent", "u ** math.inf"),
    ("a power of a number that is not positive, with exponent,", "math.inf ** u"),
    ("a power of a number that is not positive, with exponent,", "0.0 ** u"),
    ("returned a random number", "u"), ("returned a random number", "[1, a]"),
    ("returned a random number", "{'tokens': t}"),
    # numpy
    ("arctan2", "np.arctan2(np.float64(1), u)"), ("numpy.tanh", "np.tanh(a)"), ("numpy.sin", "np.sin(u)"),
    ("numpy.interp", "np.interp(a, [0.0, 1.0], [0.0, 1.0])"), ("numpy.fft", "np.fft.fft(a)"),
    ("numpy.add.outer", "np.add.outer(a, a)"), ("numpy.less.reduce", "np.less.reduce(a)"),
    ("numpy.log", "np.log(a, where=np.array([True, False]))"),
    ("numpy.logical_and", "np.logical_and(a < 2, a)"), ("sum of products", "a @ a < 1"),
    ("numpy.sum with these arguments", "np.sum(a, where=np.array([True, False]))"),
    ("numpy.clip with these arguments", "np.clip(a, 0, 1, where=np.array([True, False]))"),
    ("a reduction with dtype=int64", "np.add.reduce(a, dtype=int)"),
    ("a reduction with dtype=float16", "np.cumsum(a, 0, np.float16)"),
    ("storing in an array of floats", "np.sum(a, out=np.zeros(()))"),
    ("storing in an array of floats", "np.add(a, 1.0, out=np.zeros(2))"), ("rounding to 2 digits", "np.round(a, 2)"),
    ("astype(complex128)", "a.astype(np.complex128)"), ("astype(float16)", "a.astype(np.float16)"),
    ("the bytes", "a.tobytes()"),
    # torch
    ("torch tanh", "t.tanh()"), ("torch logsumexp", "torch.logsumexp(t, 0)"), ("torch _softmax", "t.softmax(-1)"),
    ("torch view as another type", "t.view(torch.int64)"), ("sum of products", "t @ t < 1"),
    ("torch searchsorted with a sorter",
     "torch.searchsorted(torch.tensor([0.5, 0.25], dtype=torch.float64), t, sorter=torch.tensor([1, 0]))"),
    ("torch index_put_ with out= or accumulate=",
     "torch.zeros(2, dtype=torch.float64).index_put_((torch.tensor([0]),), t[:1], accumulate=True)"),
    ("storing in a tensor of torch.int64", "torch.zeros(2, dtype=torch.int64).add_(t)"),
    ("rounding to torch.float16", "t.to(torch.float16)"), ("rounding to torch.bfloat16", "t.to(torch.bfloat16)"),
    ("the address of a tensor", "t.data_ptr()"), ("use as an index", "[1, 2][t[:1]]"),
    ("Tensor.apply_", "t.apply_(lambda x: x)"), ("Tensor.map_", "torch.zeros(2).map_(t, lambda _, y: y)"),
    ("torch randn", "torch.randn(1) > 0"), ("torch normal", "torch.normal(torch.zeros(1), torch.ones(1)) > 0"),
    ("torch poisson", "torch.poisson(torch.ones(1))"), ("random probabilities", "torch.multinomial(t, 1)"),
    ("get_rng_state", "torch.get_rng_state()"), ("pickled", "pickle.dumps(t)"),
    ("shared with numpy", "from_numpy()"), ("shared with numpy", "frombuffer()"),
    ("shared with numpy", "seen_by_numpy()"),
    # Generators and threads.
    ("a thread", "threaded()"), ("random.gauss", "random.gauss(0, 1) < 0"), ("random.getstate", "random.getstate()"),
    ("random.betavariate", "random.betavariate(1, 1) < 0.5"), ("numpy.random normal", "np.random.normal() < 0"),
    ("numpy.random standard_normal", "rng().standard_normal() < 0"), ("65,536 outcomes", "random.randrange(2**16)"),
    ("arithmetic of random.randrange", "random.randrange(2**32) % 2"), ("seeded with a random number", "rng(u)"),
    ("operating system", "random.SystemRandom().random() < 0.5"), ("copy of a numpy generator", "copy.copy(rng())"),
    ("random_raw of a bit generator", "rng().bit_generator.random_raw() % 2"),
    ("without shuffling", "rng().choice(3, size=2, replace=False, shuffle=False).tolist()"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "text"), FUNCTIONS, ids=lambda value: value)
def test_functions_without_an_exact_rule(law, words, text):
    def run():
        given = {"u": random.random(), "a": np.random.random(2), "t": torch.rand(2, dtype=torch.float64)}
        return eval(text, globals() | given)

    with pytest.raises(InvalidVerifier, match=re.escape(words)) as caught:
        law(run)
    assert words.startswith("returned") or re.search(r"\((<string>|test_refused\.py):\d+\)", str(caught.value))


@pytest.mark.parametrize("value", [0.0, float("nan"), -1.0])
def test_weights_that_are_none_fail_as_they_do_in_torch(law, value):
    with pytest.raises(RuntimeError, match="probabilities must be finite"):
        law(lambda: torch.multinomial(torch.full((2,), value), 1))


@pytest.mark.parametrize(
    "shows",
    [
        print, str, repr, "{:.3f}".format, "%.3f".__mod__, lambda u: f"{u}",
        lambda u: print(np.array([u])), lambda u: print(torch.tensor([u])), lambda u: print(time.time()),
    ],
)  # fmt: skip
def test_a_text_of_a_random_number_is_refused_with_its_line_whatever_it_is_for(law, shows):
    with pytest.raises(InvalidVerifier, match=r"(random number|the clock).*\(test_refused\.py:\d+\); "):
        law(lambda: shows(random.random()))


def test_a_text_that_nobody_makes_is_not_refused(law):
    assert law(lambda: logging.getLogger("quiet").debug("u = %s", random.random())) == {None: 1}


ASKS = """
import numbers
import random
import numpy as np

def run():
    u, known = {draw}, 0.5
    assert isinstance(known, float) and type(known) is float and not isinstance([u], float)
    return bool({test})
"""


@pytest.mark.parametrize(
    "test",
    [
        "isinstance(u, float)", "isinstance(u, (list, str))", "isinstance(u, numbers.Real)", "type(u) is float",
        "u.__class__ is float", "issubclass(type(u), float)", "isinstance(float(u), float)",
        "__import__('builtins').isinstance(u, float)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("draw", ["random.random()", "np.random.random(2)[0]"])
def test_code_that_asks_for_the_type_of_a_random_number_is_refused_with_its_line(law, loaded, draw, test):
    function = loaded(ASKS.format(draw=draw, test=test))
    with pytest.raises(InvalidVerifier, match=r"^code asks for the type of a random number \(theirs\.py:9\); leave"):
        law(function)


def test_arrays_and_libraries_may_be_asked_and_may_ask(law):
    def run():
        draws = np.random.random(2)
        assert isinstance(draws, np.ndarray)
        assert not isinstance(draws, (list, tuple))
        return np.isscalar(draws[0]), bool(draws[0] < 0.5)

    assert law(run).keys() == {(True, True), (True, False)}
