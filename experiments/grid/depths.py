"""Figures by depth: the L1 distance of p and q, acceptance, and the gain of one more branch that begins there.

Depth `d` is that of a drafted token: 1 for the first. A branch that begins with it has a trunk of `L1 = d - 1`.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from draftproof.experiments.grid.rows import mixture
from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import MarkovProcess, told_of


def mean_distances(roots: Sequence[Case], depth: int, accepted: bool = False) -> list[Fraction | float | None]:
    """The mean of `sum |p - q|` for the tokens of depth `1..depth`, over weighted roots and contexts below them.

    roots: with tables to that depth or Markov processes; the means are exact where the rows are. accepted: contexts are
    those that token-by-token verification of one path accepts, by the rows that it is told, rather than all that the
    draft draws. None where there are none.
    """
    by_root = [_distances(root, depth, accepted) for root in roots]
    weights = [root.weight for root in roots]
    means = []
    for at in range(depth):
        mass, total = (mixture(weights, [sums[at][side] for sums in by_root]) for side in range(2))
        means.append(total / mass if mass else None)
    return means


def _distances(case: Case, depth: int, accepted: bool) -> list[tuple[Fraction | float, Fraction | float]]:
    """For each length the probability of the contexts, and the sum of probability times distance over them."""
    told = told_of(case.draft)
    sides = (case.target, case.draft) if told is None else (case.target, case.draft, told)
    size, order = case.target.vocab_size, max(getattr(each, "order", depth) for each in sides)
    mass, sums = case.draft.row(())[:1] * 0 + 1, []
    for length in range(depth):
        known = min(length, order)  # the rows of Markov processes depend on no more tokens
        p, q, *shown = (each.table(known) if isinstance(each, MarkovProcess) else each.tables[known] for each in sides)  # type: ignore[attr-defined]
        gaps = abs(p - q)
        kept = (p + q - gaps) / 2 if accepted else q
        if accepted and told is not None:
            [r] = shown
            kept = q * (np.minimum(p, r) + (r <= 0)) / (r + (r <= 0))
        sums.append((as_python(mass.sum()), as_python((mass * gaps.sum(axis=1)).sum())))
        mass = (mass[:, None] * kept).reshape(-1)
        if known == order:
            mass = mass.reshape(size, -1).sum(axis=0)
    return sums


def trees(branches: int, length: int) -> tuple[list[Delayed], list[Delayed]]:
    """The trees of depth `length` with one branch less and with `branches`, for trunks of `0..length - 1` tokens."""
    fewer, more = ([Delayed(k, at, length - at) for at in range(length)] for k in (branches - 1, branches))
    return ([Delayed(1, 0, length)] * length if branches == 2 else fewer), more  # one path has one shape


def depth_rows(
    fewer: Sequence[Mapping[str, Any]],
    more: Sequence[Mapping[str, Any]],
    means: Sequence[Any],
    met: Sequence[Any],
    trunk: int = 0,
) -> list[dict[str, Any]]:
    """A row for each depth, from the rows of one verifier on `trees` and `mean_distances`; met: over accepted ones.

    trunk: that of the two trees whose acceptance is told. Where `fewer` is empty, `more` is the row of one tree of any
    scheme, and there is no gain.
    """
    rows = []
    below, above = _reached(fewer[trunk]) if fewer else None, _reached(more[trunk])
    for at, distance in enumerate(means):
        pair = (more[at], fewer[at]) if fewer else None
        gain = None if pair is None else _number(pair[0], "block_efficiency") - _number(pair[1], "block_efficiency")
        laws = (more[0],) if pair is None else (fewer[trunk], more[trunk], *pair[::-1])
        numbers = {
            "distance": distance,
            "distance_accepted": met[at],
            "accepted_fewer": below[at + 1] / below[at] if below and below[at] else None,
            "accepted": above[at + 1] / above[at] if above[at] else None,
            "reached_fewer": below[at + 1] if below else None,
            "reached": above[at + 1],
            "gain": gain,
            "gain_per_token": None if pair is None else gain / (pair[0]["nodes"] - pair[1]["nodes"]),
        }
        rows.append(
            {
                "depth": at + 1,
                **numbers,
                "lossless": all(law["lossless"] for law in laws),
                "laws": [law["strong_id"] for law in laws],
            }
        )
    return rows


def _reached(law: Mapping[str, Any]) -> list[Any]:
    """`P(tau >= d)` for `d = 0..L`."""
    masses = [Fraction(mass) for mass in law.get("depth_distribution_exact", ())] or law["depth_distribution"]
    return [sum(masses[depth:]) for depth in range(len(masses))]


def _number(law: Mapping[str, Any], name: str) -> Any:
    return Fraction(law[name]) if law["arithmetic"] == "rational" else law[f"{name}_float"]
