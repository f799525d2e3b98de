"""What tensors of random numbers are beside their numbers: types, shapes, devices, placeholders, addresses."""

import os
import random

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator.errors import InvalidVerifier, short_repr
from draftproof.simulator.symbolic.decide.session import current
from draftproof.simulator.symbolic.result import plain_values

torch = pytest.importorskip("torch")
P = torch.tensor([0.5, 0.125, 0.375])
QUARTER = fmpq(1, 4)
KINDS = [torch.float32, torch.float64]


@pytest.mark.parametrize("shapes", [((), ()), ((), (2,)), ((2,), ()), ((2,), (2,)), ((1,), (2, 1))], ids=str)
@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_types_and_shapes_of_results_are_those_of_torch(law, shapes, one, other):
    def kinds(u, v):
        found = [u * v, u + v, u / v, v - u, torch.minimum(u, v), torch.where(u > 2, u, v), u.pow(v.new_ones(()))]
        return [(str(each.dtype), tuple(each.shape)) for each in found]

    real = kinds(torch.full(shapes[0], 0.5, dtype=one), torch.full(shapes[1], 0.5, dtype=other))
    assert law(lambda: kinds(torch.rand(shapes[0], dtype=one), torch.full(shapes[1], 0.5, dtype=other))) == {
        tuple(real): 1
    }
    assert law(lambda: kinds(torch.full(shapes[0], 0.5, dtype=one), torch.rand(shapes[1], dtype=other))) == {
        tuple(real): 1
    }


def test_conversions_stay_on_the_device_of_their_tensor(law):
    def function():
        u = torch.rand(2)
        with torch.device("meta"):
            found = [u.double(), u.to(torch.float64), u.bool(), u.long(), u * 2, u.sum(), u < 0.5]
        return [str(each.device) for each in found]

    assert law(function).keys() == {("cpu",) * 7}


def test_messages_show_a_placeholder_for_random_numbers(law):
    def function():
        u = torch.rand(2)
        shown = plain_values({"u": (u, random.random()), "n": [np.float64(0.5), np.arange(2)]})
        return short_repr(shown)

    (text,) = law(function)
    assert text == "{'u': (<tensor (2,) of random numbers>, <random number>), 'n': [0.5, [0, 1]]}"


def test_memory_that_is_lent_is_found_by_address(law):
    """What kernels do: the random numbers of a tensor, read and written by the address of its elements."""

    def function():
        tensors, u = current().tensors, torch.rand(3)
        lent, fresh = u[1:], torch.zeros(2, dtype=torch.float64)
        for each in (lent, fresh):
            tensors.lend(each)
        first, start = u.untyped_storage().data_ptr() + 4, fresh.untyped_storage().data_ptr()
        seen = [tensors.at(first + 4 * i) for i in range(2)]
        assert tensors.at(first - 4) is not None  # the storage is lent as a whole
        assert tensors.at(first - 5) is tensors.at(first + 9) is None  # a byte beside it
        assert tensors.at(first + 8) is tensors.at(first - 8) is tensors.at(start) is None
        written = np.array([seen[1], None], dtype=object)
        tensors.put_all(np.array([start + 8, start]), written)
        assert tensors.at(start + 8) is seen[1]
        tensors.put_all(np.array([first]), None)
        assert tensors.at(first) is None
        assert tensors.at(first + 4) is seen[1]
        return (fresh < 0.25).tolist(), bool(seen[1] < 0.25)

    assert law(function) == {((True, True), True): QUARTER, ((True, False), False): 3 * QUARTER}


def test_a_random_number_is_not_stored_outside_of_what_was_lent(law):
    def function():
        tensors, u = current().tensors, torch.rand(1)
        tensors.put_all(np.array([8]), None)
        array = np.empty(1, dtype=object)
        array[0] = u.item()
        tensors.put_all(np.array([8]), array)

    with pytest.raises(InvalidVerifier, match="stores a random number outside of the tensors"):
        law(function)


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64, bool])
def test_numbers_of_numpy_keep_their_type_and_their_memory(law, dtype):
    def function():
        array = np.zeros(2, dtype=dtype)
        tensor, single = torch.from_numpy(array), torch.frombuffer(array, dtype=torch.int8)
        array[0] = 1
        return str(tensor.dtype), tensor.tolist(), bool((single != 0).any()), (torch.rand(1) < tensor.double()).tolist()

    kind = str(torch.from_numpy(np.zeros(1, dtype=dtype)).dtype)
    assert law(function) == {(kind, (1, 0), True, (True, False)): 1}


def test_a_tensor_from_an_array_of_random_numbers_is_a_copy(law):
    def function():
        array = np.random.random(2)
        tensor = torch.from_numpy(array)
        return str(tensor.dtype), (tensor < 0.5).tolist(), (array < 0.5).tolist()

    found = law(function)
    assert found.keys() == {("torch.float64", (a, b), (a, b)) for a in (True, False) for b in (True, False)}


@pytest.mark.parametrize(
    "function",
    [
        lambda: torch.rand(2, device="cuda"),
        lambda: torch.rand(2, device="cuda:1", dtype=torch.float64),
        lambda: torch.rand(2, device=torch.device("cuda", 0)),
        lambda: torch.rand(2).to("cuda"),
        lambda: torch.rand(2).to(device="cuda", dtype=torch.float64),
        lambda: torch.rand(2).cuda(),
        lambda: torch.rand(2, pin_memory=True),
        lambda: torch.rand(2) * torch.ones(2, device="cuda"),
        lambda: torch.full((2,), torch.rand(()).item(), device="cuda"),
        lambda: torch.empty(2, device="cuda").exponential_(),
    ],
)
def test_other_devices_are_taken_for_this_one_and_noted(follow, function):
    found = follow(lambda: str(function().device))
    assert found.law == {"cpu": 1}
    assert any("tensors stay on the CPU where it asks for another device" in note for note in found.notes)


def test_no_note_where_everything_is_on_this_device(follow):
    found = follow(lambda: str((torch.rand(2, device="cpu", dtype=torch.float64).to("cpu") * 2).device))
    assert found.law == {"cpu": 1}
    assert found.notes == set()


def test_the_interpreter_of_kernels_may_read_addresses_and_nobody_else(law):
    place = os.path.join("site-packages", "triton", "runtime", "interpreter.py")
    names: dict = {}
    exec(compile("def address(tensor):\n    return tensor.data_ptr()\n", place, "exec"), names)

    def function():
        tensors, u = current().tensors, torch.rand(2)
        assert tensors.at(u.untyped_storage().data_ptr()) is None
        start = names["address"](u)
        return bool(tensors.at(start) < 0.5), bool(tensors.at(start + 4) < 0.5)

    assert law(function) == {(a, b): QUARTER for a in (True, False) for b in (True, False)}
    with pytest.raises(InvalidVerifier, match="the address of a tensor"):
        law(lambda: torch.rand(2).data_ptr())


def test_whole_numbers_in_place_take_one_end_or_two_but_not_none(law):
    whole = torch.empty(1, dtype=torch.int64)
    half = fmpq(1, 2)
    assert law(lambda: whole.clone().random_(2).item()) == {0: half, 1: half}
    assert law(lambda: whole.clone().random_(3, 5).item()) == {3: half, 4: half}
    for function in (lambda: whole.clone().random_(), lambda: whole.clone().random_(1, None)):
        with pytest.raises(InvalidVerifier, match=r"torch random_ without .*test_torch_tensors\.py:\d+"):
            law(function)


def test_random_numbers_are_scattered_to_their_places(law):
    places = torch.tensor([2, 0])

    def function():
        u, v = torch.zeros(3).scatter(0, places, torch.rand(2)), torch.rand(3)
        v.scatter_(0, places, torch.tensor([0.75, 0.25]))
        w = torch.rand(3).scatter_(0, places, 0.125)
        return u[1].item(), (u[0] == u[2]).item(), v[0].item(), v[2].item(), w[0].item(), (v[1] < 0.25).item()

    assert law(function) == {
        (0.0, False, 0.25, 0.75, 0.125, True): QUARTER,
        (0.0, False, 0.25, 0.75, 0.125, False): 1 - QUARTER,
    }
