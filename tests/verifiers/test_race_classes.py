"""The masses by class that a race is built on: those of `q` are exact, those of `p` are near theirs."""

from typing import Any

import numpy as np
import pytest

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.verifiers._branch_groups import Group, race_classes
from draftproof.verifiers._classes import by_classes, classes_of

#: Rounding of sums over rows.
ROUNDING = 1e-12
#: The middle of numbers with the same four digits is off by a 32nd at most, and by less on average.
NEAR = 1 / 32

SIZE = 3000


def rows(spread: float = 1.0, zeros: bool = False) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    logits = 2.5 * generator.normal(size=SIZE)
    p, q = np.exp(logits), np.exp(logits + spread * generator.normal(size=SIZE))
    if zeros:
        p, q = p * (generator.random(SIZE) < 0.3), q * (generator.random(SIZE) < 0.3)
    p[7], q[7] = p.sum(), 0.9 * q.sum()  # one token of a large mass
    return p / p.sum(), q / q.sum()


@pytest.mark.parametrize("case", [(1.0, False), (12.0, False), (1.0, True)], ids=str)
@pytest.mark.parametrize("kind", ["float64", "float32", "torch", "torch half"])
@pytest.mark.parametrize("classes", [(32, 2), (16, 1), (1, 1)], ids=str)
def test_a_row_by_classes(kind: str, case: tuple[float, bool], classes: tuple[int, int]) -> None:
    p, q = rows(*case)
    given: list[Any] = [p, q]
    if kind.startswith("torch"):
        torch = pytest.importorskip("torch")
        given = [torch.tensor(row, dtype=torch.bfloat16 if "half" in kind else torch.float64) for row in given]
        p, q = (row.double().numpy() for row in given)
    elif kind == "float32":
        given = [row.astype(np.float32) for row in given]
        p, q = (row.astype(np.float64) for row in given)
    (node,) = race_classes(given[0], [Group(given[1], (0,))], *classes)
    exact = by_classes(p, q, None, *classes)
    drafted = q > 0
    assert (np.asarray(node.place)[drafted] == exact.place[drafted]).all()
    assert classes_of(node, [7, 5]) == [int(node.place[7]), int(node.place[5])]
    assert np.allclose(node.q, exact.q, rtol=0, atol=ROUNDING)
    met = np.bincount(exact.place, np.where(drafted, p, 0), classes[0])  # what no draft comes to is not aimed at
    within = (p <= 2.0**32 * q) & (p >= 2.0**-32 * q)
    off = np.bincount(exact.place, np.where(drafted & ~within, p, 0), classes[0])
    assert (abs(node.p - met) <= NEAR * met + off + ROUNDING).all()
    large = int(node.place[7])
    assert abs(node.p[large] - met[large]) <= NEAR * (met[large] - p[7]) + off[large] + ROUNDING


def test_rational_rows_have_exact_masses_and_the_aim_of_floats() -> None:
    units = np.random.default_rng(1).integers(0, 50, (2, 40)).tolist()
    exact = [RATIONAL.vector(row) / sum(row) for row in units]
    floats = [row.astype(np.float64) for row in exact]
    (ours,), (theirs,) = (race_classes(p, [Group(q, (0,))], 32, 2) for p, q in (exact, floats))
    assert (ours.place == theirs.place).all()
    assert sum(ours.q.tolist()) == 1
    assert abs(ours.q.astype(np.float64) - theirs.q).max() <= ROUNDING
    assert abs(ours.p - theirs.p).max() <= ROUNDING


@pytest.mark.parametrize("tensors", [False, True])
def test_laws_of_parts_meet_their_parts_of_the_target(tensors: bool) -> None:
    p, q = rows()
    inside = np.arange(SIZE) < 200
    parts = [np.where(inside, q, 0), np.where(inside, 0, q)]
    masses = [part.sum() for part in parts]
    laws: list[Any] = [part / mass for part, mass in zip(parts, masses, strict=True)]
    if tensors:
        torch = pytest.importorskip("torch")
        p, laws = torch.tensor(p), [torch.tensor(law) for law in laws]
    groups = [Group(laws[0], (0,)), Group(laws[1], (0, 0))]
    found = race_classes(p, groups, 32, 2)
    mean = sum(np.asarray(law) * count for law, count in zip(laws, (1, 2), strict=True)) / 3
    for node, law, count in zip(found, laws, (1, 2), strict=True):
        assert (node.place == by_classes(np.asarray(p), mean).place).all()
        assert np.allclose(node.q, np.bincount(node.place, np.asarray(law), 32), rtol=0, atol=ROUNDING)
        part = np.asarray(p) * count * np.asarray(law) / (3 * mean)
        wanted = np.bincount(node.place, part, 32)
        assert (abs(node.p - wanted) <= NEAR * wanted + ROUNDING).all()
