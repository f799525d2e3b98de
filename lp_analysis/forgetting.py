"""The floor of a draft that forgets: how often its tokens must be rejected, however good it is (arXiv:2608.27339).

Given the last `m` tokens the draft has one row `q` for all contexts `Z` that end in them, and a token after `Z` is
rejected with the total variation of `p_Z` and `q`. The least mean of it over `q` is a linear program, the barycentre in
total variation: maximise `sum over y of g_y(q(y))`, where `g_y(t)`, the mean of `min(p_Z(y), t)`, rises with a slope
that falls: by the probability of `p_Z(y) > t`. So it is solved by filling `q` where the slope is largest.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.instances.exact import ProcessLike, exact_tables


def floors(target: ProcessLike, draft: ProcessLike, memory: int, depth: int) -> list[tuple[Fraction, Fraction]]:
    """For the tokens of depth `1..depth`: how often this draft's are rejected, and how often those of the best one are.

    Both are means of total variations over the contexts that the target writes from the root on. The best draft knows
    the root, the depth and the last `memory` tokens. `V` is the vocabulary size. Raises as `exact_tables`.
    """
    pairs, masses = [], np.array([1], dtype=object)
    tables = zip(exact_tables(target, depth - 1, "target"), exact_tables(draft, depth - 1, "draft"), strict=True)
    for p, q in tables:
        endings = min(p.shape[1] ** memory, len(p))
        own = (masses * abs(p - q).sum(axis=1)).sum() / 2
        pairs.append((own, sum(barycentre(masses[end::endings], p[end::endings])[0] for end in range(endings))))
        masses = (masses[:, None] * p).reshape(-1)
    return [(Fraction(as_python(own)), Fraction(as_python(least))) for own, least in pairs]


def barycentre(weights: Any, rows: Any) -> tuple[Any, list[Any]]:
    """The least `sum over z of weights[z] TV(rows[z], q)`, and a row `q` that has it. Exact where both are."""
    slopes: list[tuple[Any, Any, int]] = []  # probability above, length and token of each straight piece
    for token in range(len(rows[0])):
        above, known = sum(weights), 0
        for mass, weight in sorted((row[token], weight) for row, weight in zip(rows, weights, strict=True)):
            slopes.append((above, mass - known, token))
            above, known = above - weight, mass
    best, room, accepted = [0] * len(rows[0]), 1, 0
    for slope, length, token in sorted(slopes, key=lambda piece: -piece[0]):
        taken = min(length, room)
        best[token], room, accepted = best[token] + taken, room - taken, accepted + slope * taken
    return sum(weights) - accepted, best
