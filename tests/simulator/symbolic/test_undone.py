"""Nothing of the interception is left behind, and randomness that goes another way is noticed."""

import builtins
import math
import random
import sys

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator.errors import DraftproofError, InvalidVerifier
from draftproof.simulator.symbolic import patches
from draftproof.simulator.symbolic.decide.session import current

torch = pytest.importorskip("torch")


def everything():
    holders = (random, np.random, math, torch, torch.random, builtins)
    return {(id(holder), name): getattr(holder, name) for holder in holders for name in dir(holder)}


def explode():
    assert random.random() < 2
    assert torch.rand(1) < 2
    raise KeyError("outsider")


def test_every_patched_name_is_restored_after_a_return_and_after_an_exception(law):
    patched = [(holder, name, getattr(holder, name)) for holder, name, _ in patches.table()]
    before = everything()
    law(lambda: random.random() < 0.5)
    with pytest.raises(KeyError):
        law(explode)
    with pytest.raises(InvalidVerifier):
        law(lambda: math.sin(random.random()))
    assert len(patched) > 100
    assert all(getattr(holder, name) is original for holder, name, original in patched)
    after = everything()
    assert all(after[key] is value for key, value in before.items() if key in after)
    assert after.keys() == before.keys()
    assert current() is None
    assert not torch.rand(1).isnan().item()  # no mode of torch is left


#: A method of the generator behind `numpy.random`, under no name that is replaced.
BOUND = np.random.mtrand._rand.random_sample


def test_states_of_the_global_generators_do_not_move(law):
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()

    def function():
        u = random.random() + np.random.rand() + torch.rand(()).item()
        return u < 1, random.choice([1, 2]), torch.multinomial(torch.ones(2), 1).item()

    assert law(function)[True, 1, 0] == fmpq(1, 24)
    assert (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()) == states


@pytest.mark.parametrize(
    ("library", "function"),
    [
        ("random", lambda: type(random._inst).random.__get__(random._inst)() < 2),
        ("numpy.random", lambda: BOUND() < 2),
        ("torch", lambda: bool(torch.default_generator.manual_seed(3))),
    ],
)
def test_a_changed_state_is_noticed(law, library, function):
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        with pytest.raises(InvalidVerifier, match=f"global generator of {library}"):
            law(function)
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])


def test_a_number_kept_from_an_earlier_call_is_noticed(law):
    kept = []

    def once():
        if not kept:
            kept.append(random.random())
        return True

    assert law(once) == {True: 1}
    for function in (
        lambda: kept[0] < 0.5,
        lambda: kept[0] + random.random() < 0.5,
        lambda: np.argmin(-np.log([kept[0], random.random()])),
    ):
        with pytest.raises(InvalidVerifier, match="random number of an earlier call"):
            law(function)


def test_a_swallowed_refusal_is_raised_at_the_end(law):
    def function():
        try:
            return math.sin(random.random()) < 0.5
        except DraftproofError:
            return True

    with pytest.raises(InvalidVerifier, match=r"math\.sin"):
        law(function)

    def other():
        try:
            math.sin(random.random())
        except DraftproofError:
            raise KeyError("hidden") from None

    with pytest.raises(InvalidVerifier, match=r"math\.sin"):
        law(other)


def test_a_module_imported_in_a_call_may_draw_for_itself(law, tmp_path, monkeypatch):
    (tmp_path / "late_import.py").write_text("import random\nNUMBER = random.random()\nLIST = random.choice([1, 2])\n")
    monkeypatch.syspath_prepend(tmp_path)

    def function():
        import late_import

        assert isinstance(late_import.NUMBER, float)
        return random.random() < 0.5

    state = random.getstate()
    try:
        assert law(function) == {True: fmpq(1, 2), False: fmpq(1, 2)}
        assert random.getstate() == state
    finally:
        sys.modules.pop("late_import", None)
