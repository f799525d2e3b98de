"""Ways by which a random number could leave unseen: each is followed, or refused by name; none reads the memory."""

import copy
import pickle
import sys
import threading
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.symbolic import ArgumentCoins

torch = pytest.importorskip("torch")


def below(tensor):
    return [bool(value < 0.5) for value in tensor]


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


def pickled():
    return below(pickle.loads(pickle.dumps(torch.rand(1))))


def applied():
    return torch.rand(1).double().apply_(lambda x: float(x < 0.5)).tolist()


def mapped():
    return torch.zeros(1).map_(torch.rand(1), lambda _, y: float(y < 0.5)).tolist()


def bytes_of_numpy():
    return below(np.frombuffer(np.random.rand(1).tobytes()))


def threaded():
    found, noise = [], torch.rand(1)
    thread = threading.Thread(target=lambda: found.extend(below(noise)))
    thread.start()
    thread.join()
    return found


def rounded_to_bfloat16():
    return bool((torch.rand(1).to(torch.bfloat16) >= 1).item())


def float16():
    return bool(np.random.rand(1).astype(np.float16)[0] < 0.5)


def copied_generator():
    return bool(copy.copy(np.random.default_rng()).random() < 0.5)


def raw_bits():
    return int(np.random.default_rng().bit_generator.random_raw() % 2)


def unshuffled():
    return np.random.default_rng().choice(3, size=2, replace=False, shuffle=False).tolist()


REFUSED = {
    from_numpy: "shared with numpy",
    frombuffer: "shared with numpy",
    seen_by_numpy: "shared with numpy",
    pickled: "pickled",
    applied: "apply_",
    mapped: "map_",
    bytes_of_numpy: "the bytes",
    threaded: "thread",
    rounded_to_bfloat16: "rounding to torch.bfloat16",
    float16: "float16",
    copied_generator: "copy of a numpy generator",
    raw_bits: "random_raw of a bit generator",
    unshuffled: "without shuffling",
}


@pytest.mark.parametrize(("function", "words"), REFUSED.items(), ids=[each.__name__ for each in REFUSED])
def test_a_way_out_is_refused_by_name(law, function, words):
    with pytest.raises(InvalidVerifier, match=words):
        law(function)


@pytest.mark.parametrize(
    "copied",
    [
        copy.deepcopy,
        lambda tensor: tensor.new_tensor([tensor[0]]),
        lambda tensor: tensor.new_tensor([tensor.item()]),
        lambda tensor: torch.full((1,), fill_value=tensor.item()),
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


def test_multinomial_of_several_rows(law, q):
    rows = [[0.25, 0.75], [0.5, 0.5]]
    found = law(lambda: np.random.default_rng().multinomial(1, rows).argmax(1).tolist())
    assert found == {(0, 0): q(1, 8), (0, 1): q(1, 8), (1, 0): q(3, 8), (1, 1): q(3, 8)}


def test_shuffle_along_another_axis(law, q):
    def function():
        table = np.arange(6).reshape(2, 3)
        np.random.default_rng().shuffle(table, axis=1)
        return table[0].tolist()

    assert set(law(function).values()) == {q(1, 6)}


def test_a_negative_product_against_zero(law):
    def function():
        product = -np.random.rand() * np.random.rand()
        return bool(product < 0), bool(product > 0), bool(product >= -0.0)

    assert law(function) == {(True, False, False): 1}


def test_a_race_of_runners_of_different_kinds_is_no_race_of_one_kind(law):
    def function():
        e, f = np.random.exponential(size=2)
        return int(np.argmax(np.array([-e, 1 / f])))  # one is negative, the other positive

    assert law(function) == {1: 1}


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


def test_a_constant_seed_is_noted(follow):
    found = follow(lambda: bool(np.random.default_rng(0).random() < 0.5))
    [note] = found.notes
    assert "seeded with a constant at test_leaks.py:" in note
    assert follow(lambda: bool(np.random.default_rng().random() < 0.5)).notes == set()


def test_nothing_is_left_in_place_of_threads_and_pickling(law):
    before = threading.Thread.start, torch.Tensor.__reduce_ex__, torch.from_numpy, warnings.showwarning
    with pytest.raises(InvalidVerifier):
        law(threaded)
    assert (threading.Thread.start, torch.Tensor.__reduce_ex__, torch.from_numpy, warnings.showwarning) == before
    assert "torch" in sys.modules


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
