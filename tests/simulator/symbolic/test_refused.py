"""Everything that has no exact rule is refused by name and line, never guessed: in plain Python, numpy and torch."""

import logging
import math
import pickle
import random
import re
import time

import numpy as np
import pytest

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.symbolic import load

torch = pytest.importorskip("torch")

KIND = "a comparison with another random number of a different kind"


@pytest.mark.parametrize("library", ["python", "numpy", "torch"])
@pytest.mark.parametrize(
    ("message", "tests", "kinds"),
    [
        ("a product of sums", ["(u + v) * w < 1"], "uuu"),
        ("a product of sums", ["w * (u + v) < 1"], "uuu"),
        ("a product of sums", ["(u + v) * (u + w) < 1"], "uuu"),
        ("a product of sums", ["(u + 1) * v < 1"], "uu"),
        ("a product of functions of different kinds", ["(u + v) * (w * x) < 1"], "uuuu"),
        ("a product of sums", ["(log(u) - log(v)) * (log(u) - log(w)) < 1"], "uuu"),
        ("a product of sums", ["log(u) * v < 1"], "eu"),
        ("a product of functions of different kinds", ["log(u) * v < 0.5"], "uu"),
        ("a product of functions of different kinds", ["u * v * w < 0.5"], "uue"),
        ("a logarithm of a function of several random numbers", ["log(u + v) < 0"], "uu"),
        ("a logarithm of a function of several random numbers", ["log(u + v) < 0"], "ee"),
        ("a power of a function of several random numbers", ["(u + v) ** 2 < 1"], "uu"),
        ("a power of a function of several random numbers", ["1 / (u + v) < 1"], "uu"),
        ("an exponential of a function of several random numbers", ["exp(u + v) < 2"], "uu"),
        ("an exponential of a function of several random numbers", ["exp(u * v) < 2"], "uu"),
        ("a sum of a function of several random numbers", ["u * v + 1 < 1.5"], "uu"),
        ("a sum of products", ["u * v + w < 1"], "uuu"),
        ("a sum of products", ["u * v + w * x < 1"], "uuuu"),
        ("a sum of products", ["u * v + u < 1"], "uu"),
        ("a sum of products", ["u ** 2 + v < 1"], "uu"),
        ("a sum of a uniform number and a function of another kind", ["u + log(v) < 0"], "uu"),
        ("a sum of a uniform number and a function of another kind", ["u + v < 1"], "ue"),
        ("a sum of a uniform number and a function of another kind", ["u + log(v) < 1"], "ee"),
        (KIND, ["-log(v) < u"], "uu"),
        (KIND, ["u < v"], "ue"),
        (KIND, ["u + 1 < v * w"], "uuu"),
        (KIND, ["u ** 2 < v ** 2"], "ue"),
        (KIND, ["exp(u) < v + 1"], "uu"),
        (KIND, ["exp(u) < 2 * exp(v) + 1"], "uu"),
        (KIND, ["exp(u) < 1 / (1 + v)"], "uu"),
        (KIND, ["exp(u) * 2 < exp(v) + 1"], "uu"),
        (KIND, ["log(u + 1.5e-6) < 2 * log(v)"], "uu"),
        (KIND, ["log(1.0000015 - u) < 2 * log(v)"], "uu"),
        (KIND, ["log(1 - u + 1.5e-6) < 2 * log(v)"], "uu"),
        ("a sum with another random number", ["exp(u) + v < 2"], "uu"),
        ("a sum with another random number", ["exp(u) + exp(u) < 2"], "u"),
        ("a product with another random number", ["exp(u) * v < 2"], "uu"),
        ("a product with another random number", ["v / (1 + u) < 0.5"], "uu"),
        ("a power of a number that may be negative", ["(u - 0.5) ** 2 < 0.1"], "u"),
        ("a power with a random or infinite exponent", ["u ** v < 1"], "uu"),
        ("a power of a number that is not positive, with exponent,", ["(-2.0) ** u < 1"], "u"),
        ("a product of several exponential random numbers, compared,", ["u * v * w < 1"], "eee"),
        ("a product of several exponential random numbers, compared,", ["u * v < 1"], "ee"),
        ("a product of several exponential random numbers, compared,", ["u * u < v"], "ee"),
        ("a comparison of Gumbel noise with a difference beyond every float", ["log(u) + 1e6 < log(v)"], "ee"),
        ("a comparison of Gumbel noise with a difference beyond every float", ["log(u) - 1e6 < log(v)"], "ee"),
        ("a comparison both as a uniform and as an exponential", ["u * v < 0.25", "u + v < 1"], "uu"),
        ("a comparison both as a uniform and as an exponential", ["u * v < 0.25", "u - v < 0.5"], "uu"),
        ("a comparison both as a uniform and as an exponential", ["u * v * w < 0.25", "u + v < w"], "uuu"),
    ],
)  # fmt: skip
def test_expressions_without_an_exact_rule(answers, library, message, tests, kinds):
    with pytest.raises(InvalidVerifier) as caught:
        answers(tests, kinds, library)
    assert re.fullmatch(
        rf"{message} of a random number cannot be followed exactly \((<string>|conftest\.py):\d+\)", str(caught.value)
    )


@pytest.mark.parametrize("library", ["python", "numpy", "torch"])
@pytest.mark.parametrize(
    ("message", "tests", "kinds"),
    [
        ("compared both as uniforms and as exponentials", ["u + v < 1", "u * w < 0.25"], "uuu"),
        ("compared both as uniforms and as exponentials", ["u + v < 1", "log(u) + log(v) < -1"], "uu"),
        (r"-log\(u\) and -log\(1 - u\) of one", ["log(1 - u) + log(v) < -1", "log(u) + log(v) < -1"], "uu"),
        (r"-log\(u\) and -log\(1 - u\) of one", ["log(1 - u) + log(v) < -1", "log(u) + log(w) < -1"], "uuu"),
    ],
)
def test_what_earlier_decisions_leave_without_an_exact_rule(answers, library, message, tests, kinds):
    with pytest.raises(InvalidVerifier, match=rf"{message}.* \(<string>:1\)"):
        answers(tests, kinds, library)


def uniforms(count=2):
    return np.random.random(count)


def tensor(count=2):
    return torch.rand(count, dtype=torch.float64)


@pytest.mark.parametrize(
    ("message", "function"),
    [
        ("math.log10", lambda: math.log10(random.random()) < 0),
        ("math.hypot", lambda: math.hypot(1.0, random.random()) < 2),
        ("math.fmod", lambda: math.fmod(random.random(), 0.5) < 2),
        ("math.exp", lambda: math.exp(random.random(), 2)),
        ("the hash", lambda: random.random() in {1.0, 2.0}),
        ("use as an index", lambda: list(range(3))[random.random()]),
        ("complex()", lambda: complex(random.random())),
        ("pickling", lambda: pickle.dumps(random.random())),
        ("rounding to 1 digits", lambda: round(random.random(), 1)),
        ("rounding to a whole number", lambda: int(random.expovariate(1.0))),
        ("rounding to a whole number", lambda: int(9 * random.random() * random.random())),
        ("rounding to one of 10,000 whole numbers", lambda: int(10_000 * random.random())),
        ("a power with a random or infinite exponent", lambda: random.random() ** math.inf),
        ("a power of a number that is not positive, with exponent,", lambda: math.inf ** random.random()),
        ("a power of a number that is not positive, with exponent,", lambda: 0.0 ** random.random()),
        ("arctan2", lambda: np.arctan2(np.float64(1), random.random())),
        ("numpy.tanh", lambda: np.tanh(uniforms())),
        ("numpy.exp2", lambda: np.exp2(uniforms())),
        ("numpy.interp", lambda: np.interp(uniforms(), [0.0, 1.0], [0.0, 1.0])),
        ("numpy.add.outer", lambda: np.add.outer(uniforms(), uniforms())),
        ("numpy.less.reduce", lambda: np.less.reduce(uniforms())),
        ("numpy.log", lambda: np.log(uniforms(), where=np.array([True, False]))),
        ("numpy.logical_and", lambda: np.logical_and(uniforms() < 2, uniforms())),
        ("a reduction with out= or where=", lambda: np.sum(uniforms(), where=np.array([True, False]))),
        ("storing in an array of floats", lambda: np.sum(uniforms(), out=np.zeros(()))),
        ("storing in an array of floats", lambda: np.add(uniforms(), 1.0, out=np.zeros(2))),
        ("rounding to 2 digits", lambda: np.round(uniforms(), 2)),
        ("astype(complex128)", lambda: uniforms().astype(np.complex128)),
        ("astype(float16)", lambda: uniforms().astype(np.float16)),
        ("the bytes", lambda: uniforms().tobytes()),
        ("torch tanh", lambda: tensor().tanh()),
        ("torch erf", lambda: torch.erf(tensor())),
        ("torch logsumexp", lambda: torch.logsumexp(tensor(), 0)),
        ("torch view as another type", lambda: tensor().view(torch.int64)),
        ("torch searchsorted with a sorter", lambda: torch.searchsorted(
            torch.tensor([0.5, 0.25], dtype=torch.float64), tensor(), sorter=torch.tensor([1, 0]))),
        ("torch index_put_ with out= or accumulate=", lambda: torch.zeros(2, dtype=torch.float64).index_put_(
            (torch.tensor([0]),), tensor(1), accumulate=True)),
        ("storing in a tensor of torch.int64", lambda: torch.zeros(2, dtype=torch.int64).add_(tensor())),
        ("rounding to torch.float16", lambda: tensor().to(torch.float16)),
        ("the address of a tensor", lambda: tensor().data_ptr()),
        ("use as an index", lambda: [1, 2][tensor(1)]),
        ("Tensor.apply_", lambda: tensor().apply_(lambda t: t)),
    ],
)  # fmt: skip
def test_functions_without_an_exact_rule(law, message, function):
    expected = rf"{re.escape(message)}.* of a random number cannot be followed exactly \(test_refused\.py:\d+\)"
    with pytest.raises(InvalidVerifier, match=expected):
        law(function)


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
@pytest.mark.parametrize("draw", ["random.random()", "np.random.random(2)[0]", "np.random.random() + np.float64(1)"])
def test_code_that_asks_for_the_type_of_a_random_number_is_refused_with_its_line(law, tmp_path, draw, test):
    path = tmp_path / "theirs.py"
    path.write_text(ASKS.format(draw=draw, test=test))
    with pytest.raises(InvalidVerifier, match=r"^code asks for the type of a random number \(theirs\.py:9\); leave"):
        law(load(path, "run"))


def test_arrays_and_libraries_may_be_asked_and_may_ask(law):
    def run():
        draws = np.random.random(2)
        assert isinstance(draws, np.ndarray)
        assert not isinstance(draws, (list, tuple))
        return np.isscalar(draws[0]), bool(draws[0] < 0.5)

    assert law(run).keys() == {(True, True), (True, False)}
