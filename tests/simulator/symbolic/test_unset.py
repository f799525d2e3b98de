"""Memory that nothing was written to: a decision on it is refused with its line, and what was written is followed."""

import math
import operator

import numpy as np
import pytest

from draftproof.simulator import InvalidVerifier
from draftproof.simulator.symbolic import NotFollowed

torch = pytest.importorskip("torch")
ROW = torch.tensor([0.25, 0.25, 0.5], dtype=torch.float64)


def copied():
    noise = torch.empty(2, 3, dtype=torch.float64)
    noise[[0]].exponential_()  # of a copy
    return (ROW / noise[0]).argmax().item()


def partly():
    noise = np.empty(3)
    noise[:2] = np.random.exponential(size=2)
    return int(np.argmax(ROW.numpy() / noise))


def not_filled():
    return bool((torch.empty_like(ROW) * 2 + 1).sum() > 0)


def whole_numbers():
    tokens = torch.empty(3, dtype=torch.int64)
    tokens[0] = 2
    return ROW[tokens].tolist()


@pytest.mark.parametrize("function", [copied, partly, not_filled, whole_numbers])
def test_a_decision_on_memory_that_was_never_set_is_refused_with_its_line(law, function):
    line = function.__code__.co_firstlineno + 1
    with pytest.raises(NotFollowed, match=rf"never set.*test_unset\.py:{'' if function is whole_numbers else line}"):
        law(function)


def filled_whole():
    noise = torch.empty(2, 3, dtype=torch.float64)
    noise[0].exponential_()  # a view
    return (ROW / noise[0]).argmax().item()


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
    for function in (filled_whole, filled_by_parts):
        assert {key: float(mass) for key, mass in law(function).items()} == race
    assert {float(mass) for mass in law(masked_away).values()} == {1 / 16, 3 / 16, 9 / 16}
    assert len(law(tokens_in_whole_numbers)) == 3
    assert law(without_randomness) == {(2.0, 3.0, (0.5, 1.0), (0.5,) * 4): 1}


def test_a_result_that_was_never_set_is_named(law):
    with pytest.raises(
        InvalidVerifier, match=r"it returned a number that was never set, in memory taken at test_unset"
    ):
        law(lambda: torch.empty(2, dtype=torch.int64))


def test_unfilled_memory_of_other_types_keeps_its_type(law):
    def function():
        made = [np.empty(2, dtype=dtype) for dtype in (bool, complex, "U3", int)]
        return [each.dtype.kind for each in made]

    assert law(function) == {("b", "c", "U", "i"): 1}


@pytest.mark.parametrize(
    "decide",
    [
        bool, int, float, hash, round, abs, math.floor, math.ceil, math.trunc, operator.index, lambda x: [0, 1][x],
        lambda x: x < 1, lambda x: x > 1.0, lambda x: x == 0, lambda x: x != 0, lambda x: x <= np.random.random(),
        lambda x: np.random.random() < x, lambda x: bool(x + 1 > 0), lambda x: bool(np.isfinite(x)),
        lambda x: bool(np.isnan(x)), lambda x: int(np.argmax([x, 1.0])), lambda x: divmod(1.0 + x, 2)[0] > 1,
    ],
)  # fmt: skip
def test_every_decision_on_a_number_that_was_never_set_is_refused(law, decide):
    def function():
        found = decide(np.empty(1)[0])
        return bool(found > 0)

    with pytest.raises(NotFollowed, match=r"never set.*test_unset\.py"):
        law(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda u, where: u[where],
        lambda u, where: u.index_select(0, where),
        lambda u, where: u.gather(0, where),
        lambda u, where: u.reshape(1, 3)[torch.tensor([0, 0]), where],
    ],
)
def test_an_index_that_was_never_set_is_refused(law, function):
    def decided():
        return (function(torch.rand(3), torch.empty(2, dtype=torch.int64)) < 0.5).tolist()

    with pytest.raises(NotFollowed, match=r"never set"):
        law(decided)
