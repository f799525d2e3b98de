"""Libraries that draw out of sight are refused by name, before a constant of theirs passes for no draw at all."""

import functools
import sys
import types

import pytest

from draftproof.simulator.symbolic import NotFollowed


def made(name, **names):
    module = types.ModuleType(name)
    exec("def key(seed):\n    return seed\n\ndef uniform(key):\n    return 0.25 + key", module.__dict__)
    module.__dict__.update(names, PRNGKey=module.key, wrap_key_data=module.key)
    return module


RANDOM = made("jax.random")
JAX = made("jax", random=RANDOM)


@pytest.fixture(name="jax", autouse=True)
def _jax(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", JAX)
    monkeypatch.setitem(sys.modules, "jax.random", RANDOM)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import jax\n\ndef run():\n    return jax.random.uniform(0) < 0.5", "the global jax is of JAX"),
        ("from jax import random\n\ndef run():\n    return random.uniform(0) < 0.5", "the global random is of JAX"),
        ("from jax.random import uniform as u\nD = {'u': u}\n\ndef run():\n    return D['u'](0) < 0.5", "the global D"),
        ("def run():\n    import jax.random as r\n    return r.uniform(0) < 0.5", r"it imports JAX.*theirs\.py:2"),
        ("def run():\n    return inner()\n\ndef inner():\n"
         "    from jax.random import uniform\n    return uniform(0) < 0.5", r"it imports JAX.*theirs\.py:5"),
        ("import importlib\n\ndef run():\n    return importlib.import_module('jax.random').key(0) == 1",
         r"a random number of JAX is not followed \(theirs\.py:4\)"),
    ],
)  # fmt: skip
def test_it_is_refused_by_name_and_the_way_out_is_to_sample(loaded, law, source, words):
    function = loaded(source + "\n")
    with pytest.raises(NotFollowed, match=rf"{words}.*; test it on real random numbers$"):
        law(function)
    function()  # outside of a call all is as it was


def calls(draw):
    return lambda: draw() < 0.5


def test_partials_closures_and_methods(law):
    for draw in (functools.partial(RANDOM.uniform, 0), functools.partial(float, RANDOM.key)):
        with pytest.raises(NotFollowed, match="the closure variable draw is of JAX"):
            law(calls(draw))
    with pytest.raises(NotFollowed, match="uniform is of JAX"):
        law(RANDOM.uniform)


def test_a_file_that_uses_it_elsewhere_is_followed(loaded, law):
    run = loaded("import random, jax\n\ndef a():\n    return jax\n\ndef run():\n    return random.random() < 0.5\n")
    assert set(law(run)) == {True, False}


def test_where_it_is_not_installed_its_names_are_refused_with_their_line(loaded, law, monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    function = loaded("import jax\n\ndef run():\n    return jax.random.uniform(0) < 0.5\n")
    with pytest.raises(NotFollowed, match=r"jax\.random\.uniform of jax is not followed \(theirs\.py:4\); where it"):
        law(function)


DISTRIBUTIONS = """
import numpy as np
import scipy.stats as st

OWN = st.uniform()

def run():
    return {} < 0.5
"""


@pytest.mark.parametrize(
    "draw",
    [
        "st.uniform.rvs()", "OWN.rvs(size=2)[1]", "st.uniform.rvs(random_state=5)",
        "st.multinomial.rvs(1, [0.5, 0.5])[0]", "st.uniform.rvs(random_state=np.random.default_rng(5))",
        "st.rv_discrete(values=((0, 1), (0.5, 0.5))).rvs()",
    ],
)  # fmt: skip
def test_random_numbers_of_scipy_are_refused_with_their_line(loaded, law, draw):
    run = loaded(DISTRIBUTIONS.format(draw))
    with pytest.raises(NotFollowed, match=r"a random number of scipy\.stats is not followed \(theirs\.py:8\); test it"):
        law(run)
    run()


def test_what_scipy_does_not_draw_is_followed(loaded, law, q):
    assert law(loaded(DISTRIBUTIONS.format("np.random.random() * 2 * st.uniform.cdf(0.5)")))[True] == q(1, 2)


COMPILED = """
import random
import numba
from numba import njit, prange

@numba.jit(nopython=True)
def first():
    return random.random() < 0.5

@njit
def second():
    return [first() for _ in prange(2)]

def third():
    return second()

def plain():
    return random.random() < 0.5
"""


@pytest.mark.parametrize("installed", [False, True])
def test_functions_that_numba_compiles_are_refused(loaded, law, monkeypatch, installed):
    library = types.ModuleType("numba")
    kind = type("Dispatcher", (), {"__call__": lambda self: True, "__module__": "numba.core.registry"})
    library.njit, library.jit, library.prange = (lambda _: kind()), (lambda **_: lambda _: kind()), range
    monkeypatch.setitem(sys.modules, "numba", library if installed else None)
    for name in ("first", "second", "third"):
        with pytest.raises(NotFollowed, match=r"numba.* not followed.*; .*test it on real"):
            law(loaded(COMPILED, name))
    assert law(loaded(COMPILED, "plain")).keys() == {True, False}
