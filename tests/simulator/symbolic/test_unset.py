"""Memory that nothing was written to holds made-up numbers, and what is written to it is followed."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
ROW = torch.tensor([0.25, 0.25, 0.5], dtype=torch.float64)


def filled_by_parts():
    noise = np.empty(3)
    for i in range(3):
        noise[i] = np.random.exponential()
    return int(np.argmax(ROW.numpy() / noise))


def masked_away():
    values = torch.empty(3, dtype=torch.float64)
    values[:2] = torch.rand(2, dtype=torch.float64)
    shown = torch.where(torch.tensor([True, True, False]), values * 2, torch.zeros(3, dtype=torch.float64))
    return [bool(x > 0.5) for x in shown[:2]], shown[2].item()


def tokens_in_whole_numbers():
    tokens = torch.empty(2, 3, dtype=torch.int32)
    tokens.fill_(-1)
    tokens[0, 0], tokens[1, 1] = 1, torch.multinomial(ROW, 1).item()
    return tokens.tolist(), ROW[tokens[:, 1].long()][0].item()


def without_randomness():
    out = torch.empty(3, dtype=torch.float64)
    torch.mul(ROW, 2, out=out)
    other, third = np.empty((2, 2)), np.empty_like(ROW.numpy())
    other[:] = 0.5
    third[...] = out.numpy()
    whole = np.empty(2, dtype=int)
    whole[:] = [0, 2]
    sums = np.linalg.norm(other) + np.cumsum(third)[-1]
    return out.sum().item(), float(sums), third[whole].tolist(), np.sort(other, axis=None).tolist()


def test_what_was_written_is_followed(law):
    race = {0: 0.25, 1: 0.25, 2: 0.5}
    assert {key: float(mass) for key, mass in law(filled_by_parts).items()} == race
    assert {float(mass) for mass in law(masked_away).values()} == {1 / 16, 3 / 16, 9 / 16}
    assert len(law(tokens_in_whole_numbers)) == 3
    assert law(without_randomness) == {(2.0, 3.0, (0.5, 1.0), (0.5,) * 4): 1}


def test_unfilled_memory_keeps_its_type_and_its_numbers_differ(law):
    def function():
        made = [np.empty(2, dtype=dtype) for dtype in (bool, complex, "U3", int, float)]
        tensors = [torch.empty(2, dtype=getattr(torch, name)) for name in ("int8", "bool", "bfloat16", "float64")]
        return (
            [each.dtype.kind for each in made],
            [str(each.dtype) for each in tensors],
            bool(made[-1][0] == made[-1][1]),
        )

    kinds = ("b", "c", "U", "i", "f"), ("torch.int8", "torch.bool", "torch.bfloat16", "torch.float64")
    assert law(function) == {(*kinds, False): 1}
