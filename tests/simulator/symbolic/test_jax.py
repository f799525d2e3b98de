"""Random numbers of JAX, followed primitive by primitive: exact laws, what is refused, and real samples."""

import random
from fractions import Fraction

import numpy as np
import pytest

from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.symbolic import load

jax = pytest.importorskip("jax", reason="functions in JAX need it: pip install 'draftproof[jax]'")
jnp, U = jax.numpy, jax.random
ROW = [0.25, 0.25, 0.5]


def two(key):
    return U.split(key)


def accept(key):
    return U.uniform(key) < 0.25


LAWS = {
    "uniform": (accept, {True: (1, 4), False: (3, 4)}),
    "between": (lambda k: U.uniform(k, minval=-1, maxval=3) < 0, {True: (1, 4), False: (3, 4)}),
    "bernoulli": (lambda k: U.bernoulli(k, 0.25), {True: (1, 4), False: (3, 4)}),
    "categorical": (lambda k: U.categorical(k, jnp.log(jnp.array(ROW))), {0: (1, 4), 1: (1, 4), 2: (1, 2)}),
    "choice": (lambda k: U.choice(k, 3, p=jnp.array(ROW)), {0: (1, 4), 1: (1, 4), 2: (1, 2)}),
    "even choice": (lambda k: U.choice(k, 4), dict.fromkeys(range(4), (1, 4))),
    "whole numbers": (lambda k: U.randint(k, (), 2, 5), dict.fromkeys(range(2, 5), (1, 3))),
    "exponential": (lambda k: jnp.argmin(U.exponential(k, (3,)) / jnp.array(ROW)), {0: (1, 4), 1: (1, 4), 2: (1, 2)}),
    "gumbel": (lambda k: jnp.argmax(U.gumbel(k, (3,)) + jnp.log(jnp.array(ROW))), {0: (1, 4), 1: (1, 4), 2: (1, 2)}),
    "permutation": (lambda k: U.permutation(k, 3)[0], dict.fromkeys(range(3), (1, 3))),
    "two without replacement": (
        lambda k: U.choice(k, 3, (2,), replace=False, p=jnp.array(ROW)),
        {(0, 1): (1, 12), (0, 2): (1, 6), (1, 0): (1, 12), (1, 2): (1, 6), (2, 0): (1, 4), (2, 1): (1, 4)},
    ),
    "split": (lambda k: [accept(each) for each in two(k)], {
        (True, True): (1, 16), (True, False): (3, 16), (False, True): (3, 16), (False, False): (9, 16)}),
    "vmap": (lambda k: jax.vmap(accept)(two(k)), {
        (True, True): (1, 16), (True, False): (3, 16), (False, True): (3, 16), (False, False): (9, 16)}),
    "one key twice": (lambda k: [accept(k), U.uniform(k) < 0.5], {
        (True, True): (1, 4), (False, True): (1, 4), (False, False): (1, 2)}),
    "one key, another shape": (lambda k: [accept(k), U.uniform(k, (2, 1))[0, 0] < 0.5], {
        (True, True): (1, 4), (False, True): (1, 4), (False, False): (1, 2)}),
    "one key, another draw": (lambda k: [accept(k), U.exponential(k) < -np.log(0.5)], {
        (True, True): (1, 4), (False, True): (1, 4), (False, False): (1, 2)}),
    "what was folded in is what was split off": (lambda k: [accept(two(k)[1]), accept(U.fold_in(k, 1))], {
        (True, True): (1, 4), (False, False): (3, 4)}),
    "while": (
        lambda k: jax.lax.while_loop(lambda i: (U.uniform(U.fold_in(k, i)) < 0.5) & (i < 3), lambda i: i + 1, 0),
        {0: (1, 2), 1: (1, 4), 2: (1, 8), 3: (1, 8)},
    ),
    "scan": (
        lambda k: jax.lax.scan(lambda k, x: (two(k)[0], U.uniform(two(k)[1]) < x), k, jnp.array(ROW[1:]), 2, True)[1],
        {(True, True): (1, 8), (True, False): (1, 8), (False, True): (3, 8), (False, False): (3, 8)},
    ),
    "random rows of a scan": (
        lambda k: jax.lax.scan(lambda c, u: (c + u, u), 0.0, U.uniform(k, (2,)))[0] < 0.5,
        {True: (1, 8), False: (7, 8)},
    ),
    "cond": (lambda k: jax.lax.cond(accept(k), lambda: 1, lambda: 2), {1: (1, 4), 2: (3, 4)}),
    "compiled": (jax.jit(lambda k: jnp.searchsorted(jnp.cumsum(jnp.array(ROW)), U.uniform(k))), {
        0: (1, 4), 1: (1, 4), 2: (1, 2)}),
    "arrays": (
        lambda k: jnp.where(U.uniform(k, (2,)).at[0].set(0.5).reshape(2, 1).T[0] < 0.75, 1, jnp.arange(2)),
        {(1, 1): (1, 1)},
    ),
    "sorted": (lambda k: jnp.sort(U.uniform(k, (2,)))[1] < 0.5, {True: (1, 4), False: (3, 4)}),
    "sorted beside NaN": (
        lambda k: jnp.sort(jnp.array([jnp.nan, 0.0]).at[1].set(U.uniform(k)))[0] < 0.25, {True: (1, 4), False: (3, 4)}),
    "the sign of a remainder": (
        lambda k: jax.lax.rem(U.uniform(k) - 1, 0.5) < -0.125, {True: (3, 4), False: (1, 4)}),
    "divided by zero": (lambda k: U.uniform(k) / jnp.zeros(1) > 1, {(True,): (1, 1)}),
    "old keys": (lambda k: accept(U.wrap_key_data(U.key_data(k))), {True: (1, 4), False: (3, 4)}),
}  # fmt: skip


def exact(weights):
    return {key: Fraction(*value) for key, value in weights.items()}


@pytest.mark.parametrize("name", LAWS)
def test_the_law_is_exact(follow, name):
    function, wanted = LAWS[name]
    found = {key: Fraction(int(mass.p), int(mass.q)) for key, mass in follow(lambda: function(U.key(3))).law.items()}
    assert found.keys() == exact(wanted).keys()
    # Logarithms of weights are floats: what is won with them is a weight up to some of its last bits.
    assert all(abs(found[key] - mass) < Fraction(1, 2**50) for key, mass in exact(wanted).items())


SAMPLES = 20_000


@pytest.mark.parametrize(
    "name",
    [
        "choice", "two without replacement", "one key, another shape", "scan", "sorted", "the sign of a remainder",
        "sorted beside NaN",
    ],
)  # fmt: skip
def test_real_samples_have_that_law(name):
    function, wanted = LAWS[name]
    keys = U.split(U.key(1), SAMPLES)
    sampled = jax.jit(jax.vmap(lambda key: jnp.stack(jax.tree.leaves(function(key))).ravel()))(keys).tolist()
    counts = dict.fromkeys(wanted, 0)
    for row in sampled:
        counts[tuple(row) if len(row) > 1 else row[0]] += 1
    # Five standard deviations of a count: one sample in two million lies outside.
    assert all(abs(counts[k] - SAMPLES * float(m)) < 2.5 * SAMPLES**0.5 for k, m in exact(wanted).items())


def test_a_key_that_is_used_twice_is_noticed_by_its_origin(follow):
    found = follow(lambda: [accept(two(U.key(3))[0]), accept(two(U.key(3))[0])])
    assert found.reuse == {"uniform number 0 of the jax key split(key(3))[0] decides at test_jax.py:22"}
    assert follow(lambda: [accept(each) for each in two(U.key(3))]).reuse == set()
    assert follow(lambda: [accept(U.key(3)), accept(U.key(3))], fresh="seeds").runs == 4


def test_what_was_compiled_and_run_before_the_call_is_followed_in_it(follow):
    compiled = jax.jit(accept)
    assert {bool(compiled(U.key(i))) for i in range(40)} == {True, False}
    for _ in range(2):
        assert follow(lambda: compiled(U.key(0))).runs == 2
    assert isinstance(compiled(U.key(0)), jax.Array)


def test_numbers_of_other_libraries_meet_arrays_of_jax(law):
    half = {True: Fraction(1, 2), False: Fraction(1, 2)}
    row, rng = jnp.array(ROW), np.random.default_rng
    for function in (
        lambda: random.random() < row[2],
        lambda: row[2] > random.random(),
        lambda: random.random() * row[0] < row[0] * row[2],
        lambda: rng(0).random(1)[0] < row[2],
        lambda: (rng(0).random(3) * row)[0] < 0.125,
        lambda: jnp.where(row > 0, rng(0).random(3), 0)[1] < 0.5,
        lambda: jax.jit(lambda u, row: u[0] < row[2])(rng(0).random(3), row),
        lambda: jax.jit(lambda u: u < 0.5)(random.random()),
        lambda: jax.lax.lt(jnp.float64(random.random()), row[2].astype(float)),
        lambda: np.asarray(U.uniform(U.key(0), (2,)))[1] < 0.5,
    ):
        assert {bool(key): Fraction(str(mass)) for key, mass in law(function).items()} == half


def noise(function):
    return lambda: function(U.uniform(U.key(0), (2,)))


REFUSED = {
    "jax.lax.erf_inv": lambda: U.normal(U.key(0)) < 0,
    "jax.lax.sin": noise(lambda u: jnp.sin(u) > 0),
    "use as an index": noise(lambda u: [1, 2][u[0]]),
    "the bits": lambda: U.bits(U.key(0)) % 2 == 3 - U.bits(U.key(1)),
    "different numbers of bits": lambda: [accept(U.key(0)), U.uniform(U.key(0), dtype="float32") < 0.5],
    "rounding to bfloat16": noise(lambda u: u.astype(jnp.bfloat16)[0] < 0.5),
    "made with a random number": lambda: accept(U.fold_in(U.key(0), U.bits(U.key(1), dtype="uint32"))),
    "jax keys of rbg": lambda: accept(U.key(0, impl="rbg")),
    "jax rng_uniform": lambda: jax.lax.rng_uniform(0.0, 1.0, (1,))[0] < 0.5,
    "jax pure_callback": noise(lambda u: jax.pure_callback(lambda x: x, u, u)[0] < 0.5),
    "needs plain numbers": noise(lambda u: jnp.arange(u[0]).size == 0),
    "turned into a float": noise(lambda u: [1.0].index(float(u[0]))),
    "math": noise(lambda u: jax.scipy.special.gammaln(u)[0] < 0.5),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_followed_is_refused_with_its_line(law, name):
    words = {"math": "jax.lax.lgamma"}.get(name, name)
    with pytest.raises(InvalidVerifier, match=rf"{words}.*test_jax\.py:\d+"):
        law(REFUSED[name])


def test_a_random_array_as_result_is_refused(law):
    with pytest.raises(InvalidVerifier, match="returned a random number"):
        law(noise(lambda u: u))


def test_the_line_is_that_of_the_equation_in_a_compiled_function(follow, tmp_path):
    path = tmp_path / "theirs.py"
    path.write_text(
        "import jax\n\n@jax.jit\ndef f():\n    key = jax.random.key(0)\n    u = jax.random.uniform(key)\n"
        "    return u < 0.5, jax.random.uniform(key) < 0.25\n"
    )
    assert follow(load(path, "f")).reuse == {"uniform number 0 of the jax key key(0) decides at theirs.py:7"}


def test_jax_in_the_middle_of_a_call_and_numbers_as_python_has_them(law, tmp_path):
    path = tmp_path / "theirs.py"
    path.write_text(
        "def f():\n    import jax\n    u = float(jax.random.uniform(jax.random.key(0)))\n"
        "    return u < 0.25 if u.item() < 0.5 else None\n"
    )
    assert {key: float(mass) for key, mass in law(load(path, "f")).items()} == {True: 0.25, False: 0.25, None: 0.5}


def test_outside_of_a_call_jax_is_as_it_was(law):
    law(lambda: accept(U.key(0)))
    assert jnp.zeros(1).dtype == jnp.float32
    assert isinstance(U.uniform(U.key(0)) * 2, jax.Array)
    with pytest.raises(InvalidInput, match="choose python, numpy, torch, jax"):
        __import__("draftproof.simulator.audit.rows").simulator.audit.rows.RowForm("julia")
