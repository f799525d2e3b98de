"""Draws of `random` and `numpy.random`, and generators with seeds: exact laws."""

# ruff: noqa: PLW0108, F401 - a draw must wait until it is called, and expressions name modules

import functools
import importlib
import itertools
import math
import random
import sys
from random import Random
from random import choice as bound_choice

import numpy as np
import pytest
from flint import fmpq
from numpy.random import default_rng as bound_rng

from draftproof.simulator.errors import InvalidVerifier
from tests.simulator.symbolic.values import equally_likely

PYTHON_GENERATOR = random.Random(7)
NUMPY_GENERATOR = np.random.default_rng(7)
NUMPY_STATE = np.random.RandomState(7)
BOX = [np.random.default_rng(7)]
HALF = fmpq(1, 2)


#: Equally likely results -> draws that have them.
DRAWS = {
    "[1, 2]": ("random.randint(1, 2)", "bound_choice([1, 2])", "PYTHON_GENERATOR.choice([1, 2])"),
    "[0, 1]": ("random.getrandbits(1)", "np.random.randint(2)", "np.random.default_rng().integers(1, endpoint=True)"),
    "[0, 2, 4]": ("random.randrange(0, 6, 2)",),
    "['a', 'b', 'b', 'b']": (
        "random.choices('ab', weights=[0.25, 0.75])[0]", "random.choices('ab', cum_weights=[1, 4], k=1)[0]",
        "np.random.choice(['a', 'b'], p=[0.25, 0.75]).item()",
    ),
    "['a', 'b']": ("np.random.choice(['a', 'b']).item()",),
    "[(1, 2), (2, 1)]": ("random.sample([1, 2], 2)",),
    "[(1,), (2,)]": ("np.random.randint(1, 3, size=1).tolist()",),
    "[(0, 1), (1, 0)]": (
        "np.random.permutation(2).tolist()", "np.random.default_rng().permutation([[0, 1]], axis=1)[0].tolist()",
    ),
    "[*itertools.permutations(range(3))]": (
        "np.random.choice(3, size=3, replace=False).tolist()", "np.random.default_rng().choice(3, 3, False).tolist()",
    ),
    # Without replacement, in proportion to 2, 1, 1.
    "[(0, 1, 2)] * 3 + [(0, 2, 1)] * 3 + [(1, 0, 2), (2, 0, 1)] * 2 + [(1, 2, 0), (2, 1, 0)]": (
        "np.random.default_rng().choice([0, 1, 2], size=3, replace=False, p=[0.5, 0.25, 0.25]).tolist()",
        "np.random.default_rng().choice(3, 3, False, [0.5, 0.25, 0.25], shuffle=False).tolist()",
    ),
    "[0, 1, 1, 2]": ("np.random.multinomial(2, [0.5, 0.5])[0]",),
    "[0, 0, 0, 1]": ("np.random.default_rng().binomial(1, 0.25)",),
    "[(0, 0), (0, 1), (1, 0), (1, 0), (1, 0), (1, 1), (1, 1), (1, 1)]": (
        "np.random.default_rng().multinomial(1, [[0.25, 0.75], [0.5, 0.5]]).argmax(1).tolist()",
    ),
    "[True, False, False, False]": ("random.uniform(-1, 3) < 0",),
    "[True, False]": (
        "Random().random() < 0.5", "np.random.Generator(np.random.PCG64()).random() < 0.5",
        "np.random.RandomState().rand() < 0.5", "bound_rng().uniform(0, 2) < 1", "NUMPY_GENERATOR.random() < 0.5",
        "NUMPY_STATE.uniform() < 0.5", "np.random.random() * np.float32(2) < 1",
        "np.random.mtrand._rand.uniform(0, 1, (2,))[1] < 0.5",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("results", "text"), [(results, text) for results in DRAWS for text in DRAWS[results]])
def test_draw(law, results, text):
    assert law(eval(f"lambda: {text}", globals())) == equally_likely(eval(results))


def test_shuffle_in_place(law, q):
    def function():
        cards, array = [1, 2, 3], np.arange(2)
        random.shuffle(cards)
        np.random.shuffle(array)
        return cards, array.tolist()

    found = law(function)
    assert len(found) == 12
    assert set(found.values()) == {q(1, 12)}


def test_generators_in_defaults_closures_and_partials_are_swapped(law, q):
    generator = Random(1)
    state = generator.getstate()

    def closure():
        return generator.random() < 0.5

    def default(g=generator, *, h=NUMPY_GENERATOR):
        return g.random() < 0.5, h.random() < 0.5

    assert law(closure) == {True: HALF, False: HALF}
    assert set(law(default).values()) == {q(1, 4)}
    assert law(functools.partial(closure)) == {True: HALF, False: HALF}
    assert generator.getstate() == state
    assert default.__defaults__[0] is generator
    assert closure.__closure__[0].cell_contents is generator


@pytest.mark.parametrize(
    ("own", "draw"),
    [
        ("random", lambda rng: rng.uniform(1, 3)),
        ("random", lambda rng: rng.choices("abc")[0]),
        ("getrandbits", lambda rng: rng.choice("abc")),
        ("_randbelow", lambda rng: rng.sample("abc", 2)[1]),
        ("randrange", lambda rng: rng.randint(0, 2)),
    ],
)
def test_a_method_of_ones_own_is_what_the_library_calls(law, own, draw):
    def drawn():
        return draw(type("Own", (random.Random,), {own: lambda self, *_: 0})())

    assert law(drawn) == {drawn(): 1}


def test_generator_in_a_container_is_refused_by_name(law):
    with pytest.raises(InvalidVerifier, match="the global BOX holds a Generator that was made before the call"):
        law(lambda: BOX[0].random() < 0.5)


class Helper:
    own = None

    def draw(self):
        return NUMPY_GENERATOR.random() < 0.5

    def with_own(self):
        return self.own.random() < 0.5


HELPER = Helper()
HELPER.own = Random(1)


def helper():
    return PYTHON_GENERATOR.random() < 0.5


@pytest.mark.parametrize(
    "draw", [lambda: helper(), lambda: Helper().draw(), lambda: HELPER.with_own(), HELPER.with_own, HELPER.draw]
)
def test_generators_of_helpers_are_swapped(law, draw):
    own = HELPER.own
    assert law(draw) == {True: HALF, False: HALF}
    assert HELPER.own is own


def test_generators_of_another_module_are_swapped(law, tmp_path, monkeypatch):
    text = "import random\nG = random.Random(1)\ndef draw():\n    return G.random() < 0.5\n"
    (tmp_path / "helpers_of_outsider.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("helpers_of_outsider")
    draw = module.draw
    try:
        assert law(lambda: module.draw()) == law(lambda: draw()) == {True: HALF, False: HALF}
    finally:
        sys.modules.pop("helpers_of_outsider")


def seed(session):
    """Arguments for a function of one seed."""
    return [session.given_seed("seed", 1)]


@pytest.mark.parametrize(
    "second",
    [
        lambda s: Random(s).choices([0, 1], weights=[3, 1])[0],
        lambda s: int(Random(s).uniform(0, 4) >= 3),
        lambda s: int(1 - math.exp(-Random(s).expovariate(1.0)) >= 0.75),
    ],
)
def test_draws_that_are_made_of_one_uniform_share_it(follow, q, second):
    found = follow(lambda s: (Random(s).random() < 0.5, second(s)), seed)
    assert {key: float(mass) for key, mass in found.law.items()} == {(True, 0): 0.5, (False, 0): 0.25, (False, 1): 0.25}
    assert found.reuse


def test_shared_draws_agree_with_the_real_generators():
    for seed in range(20):
        u = Random(seed).random()
        assert Random(seed).choices([0, 1, 2], weights=[3, 1, 2])[0] == (u >= 1 / 2) + (u >= 2 / 3)
        assert Random(seed).expovariate(1.0) == -math.log(1 - u)
        assert int(np.random.default_rng(seed).choice(2, p=[0.75, 0.25])) == (
            np.random.default_rng(seed).random() >= 0.75
        )
        assert int(np.random.RandomState(seed).choice(2, p=[0.75, 0.25])) == (
            np.random.RandomState(seed).rand() >= 0.75
        )
        u = np.random.RandomState(seed).rand()
        assert np.random.RandomState(seed).exponential() == pytest.approx(-math.log(1 - u), rel=1e-14)  # log in C
        gumbel = pytest.approx(-math.log(-math.log(1 - u)), rel=1e-12)  # log in C
        assert np.random.RandomState(seed).gumbel() == gumbel
        u = np.random.default_rng(seed).random()
        assert np.random.default_rng(seed).gumbel() == pytest.approx(-math.log(-math.log(1 - u)), rel=1e-12)


def test_probabilities_are_checked_as_numpy_does(law, q):
    with pytest.raises(ValueError, match="do not sum to 1"):
        law(lambda: np.random.choice(2, p=[0.5, 0.25]))
    with pytest.raises(ValueError, match=r"sum\(pvals\[:-1\]\)"):
        law(lambda: np.random.multinomial(1, [0.75, 0.5, 0.5]))
    assert law(lambda: np.random.multinomial(1, [0.25, 0.5]).argmax()) == {0: q(1, 4), 1: q(3, 4)}


def function_with_seeds(make):
    return lambda s: (make(s).random() < 0.5, make(s).random() < 0.25, make(s + 1).random() < 0.5)


class OfTorch:
    def __init__(self, seed):
        torch = pytest.importorskip("torch")
        self.random = lambda: torch.rand((), dtype=torch.float64, generator=made).item()
        made = torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("make", [lambda s: Random(s), lambda s: np.random.default_rng(s), OfTorch])
def test_two_generators_with_one_seed_are_one(follow, q, make):
    found = follow(function_with_seeds(make), seed)
    shared = {(True, True): q(1, 8), (True, False): q(1, 8), (False, False): q(1, 4)}
    assert found.law == {(*key, third): mass for key, mass in shared.items() for third in (True, False)}
    assert any("generator with seed 1 decides" in each for each in found.reuse)
    independent = follow(function_with_seeds(make), seed, apart="seeds")
    assert independent.law[True, True, True] == q(1, 16)
    assert independent.law[False, True, True] == q(1, 16)
    assert independent.reuse == set()


def test_choices_of_one_seed_are_one(follow):
    found = follow(lambda s: (Random(s).choice("ab"), Random(s).choice("ab")), seed)
    assert found.law == {("a", "a"): HALF, ("b", "b"): HALF}
    assert len(found.reuse) == 1


def constants():
    random.seed(5)
    np.random.seed(5)
    source = np.random.Philox(key=3).jumped()
    return (
        random.random(), Random(7).gauss(0, 1), Random("text").choice("abc"), random.betavariate(1, 1),
        np.random.rand(), np.random.mtrand._rand.standard_normal(), np.random.RandomState(2).randint(100),
        np.random.Generator(source).normal(), source.random_raw(), pcg(5).permutation(5).tolist(),
        [child.random() for child in np.random.default_rng([1, 2]).spawn(2)],
        np.random.SeedSequence(4).generate_state(2).tolist(), pcg(np.random.SeedSequence(5)).normal(),
    )  # fmt: skip


def test_a_constant_seed_gives_the_true_numbers(follow):
    states = random.getstate(), np.random.get_state()[1].tolist()
    [(found, mass)] = follow(lambda: [repr(each) for each in constants()]).law.items()
    assert (random.getstate(), np.random.get_state()[1].tolist()) == states
    assert mass == 1
    assert list(found) == [repr(each) for each in constants()]


#: Two numbers, each below 1/2, as a function of a seed: whether they are one, independent, or refused.
WINDOWS = [
    ("one", lambda s: (philox(s, 0).random(5)[4], philox(s, 1).random())),
    ("apart", lambda s: (philox(s, 0).random(5)[3], philox(s, 1).random())),
    ("one", lambda s: (philox(0, s).random(5)[4], philox(0, s + 1).random())),
    ("apart", lambda s: (philox(s, 0).random(), philox(s + 1, 0).random())),
    ("apart", lambda s: (philox(s, 0).random(), philox(s, s).random())),
    ("refused", lambda s: (philox(s, 0).exponential(), philox(s, 1).random())),
    ("refused", lambda s: (Random(s).random(), Random(s).choice([0, 1]))),
    ("refused", lambda s: (philox(s, 0).random(), philox(s, 1).integers(2))),
    ("one", lambda s: (pcg(s).random(3)[2], np.random.Generator(np.random.PCG64(s).advance(2)).random())),
    ("apart", lambda s: (pcg(s).random(), np.random.Generator(np.random.PCG64(s).jumped()).random())),
    ("apart", lambda s: (pcg(s).random(), pcg(s).spawn(1)[0].random())),
    ("one", lambda s: (pcg(s).spawn(2)[1].random(), pcg(np.random.SeedSequence(s).spawn(2)[1]).random())),
    ("one", lambda s: (pcg(s).random(), pcg([s, 0]).random())),
    ("apart", lambda s: (pcg([s, 0]).random(), pcg([s, 1]).random())),
    ("apart", lambda s: [Random(word).random() for word in np.random.SeedSequence(s).generate_state(2)]),
    ("refused", lambda s: (philox(s, 0).bit_generator.random_raw(), 1)),
    ("refused", lambda s: (philox(s, 0).bit_generator.state["buffer_pos"], 1)),
]


def philox(key, counter):
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def pcg(seed):
    return np.random.Generator(np.random.PCG64(seed))


@pytest.mark.parametrize(("how", "draw"), WINDOWS)
def test_places_of_a_keyed_sequence(law, q, how, draw):
    def function(s):
        one, two = draw(s)
        return bool(one < 0.5), bool(two < 0.5)

    if how == "refused":
        with pytest.raises(InvalidVerifier, match=r"test_generators\.py"):
            law(function, seed)
    else:
        assert law(function, seed).get((True, False), 0) == (0 if how == "one" else q(1, 4))


def test_children_of_an_older_generator_are_others_in_every_call(law, q):
    assert law(lambda: [child.random() < 0.5 for child in NUMPY_GENERATOR.spawn(2)])[True, False] == q(1, 4)
    with pytest.raises(InvalidVerifier, match="jumped from a PCG64 that was made before"):
        law(lambda: np.random.Generator(NUMPY_GENERATOR.bit_generator.jumped()).random() < 0.5)


def test_one_draft_needs_no_shuffling_and_several_do(law):
    generator = np.random.default_rng
    assert law(lambda: generator().choice(2, 1, replace=False, shuffle=False).tolist()) == {(0,): HALF, (1,): HALF}
    assert law(lambda: generator().choice(2, 2, replace=True, shuffle=False).tolist()) == {
        (i, j): HALF * HALF for i in (0, 1) for j in (0, 1)
    }
    with pytest.raises(InvalidVerifier, match="without shuffling gives an order that only numpy's algorithm decides"):
        law(lambda: generator().choice(2, 2, replace=False, shuffle=False).tolist())
