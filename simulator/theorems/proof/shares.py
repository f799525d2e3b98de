"""How much of the domain is not known, estimated by random points."""

from __future__ import annotations

from math import comb
from random import Random

from draftproof.simulator.theorems.proof.points import random_point
from draftproof.simulator.theorems.proof.theorem import Proof

#: Random points by which the share of open cells is estimated.
SAMPLED = 300


def open_share(proof: Proof, points: int = SAMPLED) -> tuple[float, float]:
    """The share of random points that lie in open cells, and an upper bound that it exceeds in 5 of 100 samples."""
    random, inside = Random(1), 0
    for _ in range(points):
        point = random_point(proof.shape, random, 997)
        inside += any(point in region for region in proof.open_cells)
    return inside / points, _upper(inside, points)


def _upper(hits: int, points: int) -> float:
    """The largest share with which so few hits still come in 5 of 100 samples (Clopper and Pearson)."""
    low, high = hits / points, 1.0
    for _ in range(40):
        share = (low + high) / 2
        chance = sum(comb(points, n) * share**n * (1 - share) ** (points - n) for n in range(hits + 1))
        low, high = (share, high) if chance > 0.05 else (low, share)
    return high
