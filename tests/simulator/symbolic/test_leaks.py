"""Ways by which a random number could leave unseen: each is followed, or refused by name; none reads the memory."""

import copy
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.symbolic import ArgumentCoins

torch = pytest.importorskip("torch")


def below(tensor):
    return [bool(value < 0.5) for value in tensor]


@pytest.mark.parametrize(
    "copied",
    [
        copy.deepcopy,
        lambda tensor: tensor.new_tensor([tensor[0]]),
        lambda tensor: tensor.new_tensor([tensor.item()]),
        lambda tensor: torch.full((1,), fill_value=tensor.item()),
        lambda tensor: tensor.numpy(),
        np.asarray,
    ],
)
def test_a_copy_is_followed(law, q, copied):
    found = law(lambda: below(copied(torch.rand(1, dtype=torch.float64))))
    assert found == {(True,): q(1, 2), (False,): q(1, 2)}


@pytest.mark.filterwarnings("ignore:__array_wrap__:DeprecationWarning")  # torch's own, in any such call
def test_a_numpy_function_of_a_tensor_is_followed(law, q):
    found = law(lambda: [bool(x < 0.25) for x in np.subtract(torch.rand(1), 0.25)])
    assert found == {(True,): q(1, 2), (False,): q(1, 2)}


def test_other_tensors_do_not_inherit_random_numbers_from_freed_memory(law):
    def function():
        tensor = torch.rand(2)
        tensor.data = torch.zeros(2)
        others = [torch.ones(2) for _ in range(50)]
        return below(tensor), any(any(below(other)) for other in others)

    assert law(function) == {((True, True), False): 1}


def test_generators_on_one_bit_generator_go_on_where_the_other_stopped(law, q):
    def function():
        source = np.random.PCG64()
        one, two = np.random.Generator(source), np.random.Generator(source)
        return bool(one.random() < 0.5), bool(two.random() < 0.5)

    assert set(law(function).values()) == {q(1, 4)}
    assert len(law(function)) == 4


def test_a_part_of_the_coins_is_not_written_to(follow):
    def function(coins):
        part = coins[:1]
        part[0] = 0.7
        return bool(coins[0] < 0.5)

    with pytest.raises(InvalidVerifier, match="part of an array of coins"):
        follow(function, lambda session: (ArgumentCoins(session).numbers("uniform", (2,), "torch"),))
    with pytest.raises(ValueError, match="read-only"):
        follow(function, lambda session: (ArgumentCoins(session).numbers("uniform", (2,), "numpy"),))


def test_a_warning_is_noted_with_the_line_of_the_function(follow):
    def function():
        return bool((torch.tensor(torch.ones(1)) < torch.rand(1)).item())

    line = function.__code__.co_firstlineno + 1
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        notes = follow(function).notes
    assert shown == []
    assert [note.endswith(f"(test_leaks.py:{line})") for note in notes] == [True]


@dataclass(frozen=True)
class Key:
    """Its `__hash__` is written by `dataclasses`, and asks for the hash of a text."""

    name: str


def test_objects_with_a_hash_of_their_own_are_keys(law):
    def function():
        return {Key("a"): 1, Key("b"): 2}[Key("b")] if np.random.random() < 0.5 else 0

    assert {key: float(mass) for key, mass in law(function).items()} == {2: 0.5, 0: 0.5}


def test_a_decision_by_the_hash_of_an_object_is_still_refused(law):
    with pytest.raises(InvalidVerifier, match="a hash"):
        law(lambda: hash(Key("a")) % 2 == 0)
