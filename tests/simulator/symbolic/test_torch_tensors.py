"""What tensors of random numbers are beside their numbers: types, shapes, devices, placeholders, addresses."""

import random

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator.errors import InvalidVerifier, short_repr
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


def test_indices_answers_and_conversions_have_the_types_of_torch(law):
    def types(u):
        edges, found = torch.tensor([0.5]), [u.int(), u.long(), u.bool(), u.double(), u.to(torch.uint8), u < 0.5]
        found += [u.argmax(), *u.sort(), *u.max(0), u.bool().any(), u.sum(dtype=torch.float64), u.nonzero()]
        found += [
            torch.searchsorted(edges, u, out_int32=True),
            torch.bucketize(u, edges),
            u.new_zeros(2).int().copy_(u),
        ]
        return [str(each.dtype) for each in found]

    assert law(lambda: types(torch.rand(2))) == {tuple(types(torch.full((2,), 0.5))): 1}


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
    "text",
    [
        "torch.rand(2, device='cuda')", "torch.rand(2, device=torch.device('cuda', 0))", "torch.rand(2).to('cuda')",
        "torch.rand(2).to(device='cuda', dtype=torch.float64)", "torch.rand(2).cuda()",
        "torch.rand(2, pin_memory=True)", "torch.rand(2) * torch.ones(2, device='cuda:1')",
        "torch.full((2,), torch.rand(()).item(), device='cuda')", "torch.empty(2, device='cuda').exponential_()",
    ],
)  # fmt: skip
def test_other_devices_are_taken_for_this_one_and_noted(follow, text):
    found = follow(lambda: str(eval(text).device))
    assert found.law == {"cpu": 1}
    assert any("tensors stay on the CPU where it asks for another device" in note for note in found.notes)


def test_whole_numbers_in_place_take_one_end_or_two_but_not_none(law):
    whole = torch.empty(1, dtype=torch.int64)
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
