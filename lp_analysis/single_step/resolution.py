"""Global resolution: a rule that chooses among the drafts with a prescribed law, by convex minimisation.

A rule that chooses draft `y` among the set `A` with probability `e^w(y) / sum_{z in A} e^w(z)` has one number for every
token instead of one for every pair of a set and a token. Its law is the gradient of the convex
`sum_A P(A) log sum_{y in A} e^w(y)`, so the `w` with the law `r` minimises
`sum_A P(A) log sum_{y in A} e^w(y) - sum_y r(y) w(y)` (Newton's method).
Where a set `S` is tight, `r(S) = P(drafts meet S)`, a draft in `S` must always be preferred; the tokens then fall into
blocks, each with its own potentials, and the first block that was drafted decides.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from draftproof.lp_analysis.single_step.draft_sets import DraftSets
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Vector

#: Sets whose slack is below this are tight; potentials would have to be of the size of its logarithm otherwise.
TIGHT = 1e-9


@dataclass(frozen=True)
class Rule:
    """A rule that chooses a draft: from the first block that was drafted, with probability proportional to `e^w`.

    blocks: tokens in order of preference. potentials: `w` by token.
    """

    blocks: tuple[tuple[int, ...], ...]
    potentials: tuple[float, ...]

    def chances(self, drafts: frozenset[int]) -> dict[int, float]:
        """The probability of each draft to be chosen."""
        for block in self.blocks:
            present = [token for token in block if token in drafts]
            if present:
                w = np.array([self.potentials[token] for token in present])
                weights = np.exp(w - w.max())
                return dict(zip(present, (weights / weights.sum()).tolist(), strict=True))
        raise InvalidInput(f"no token of {sorted(drafts)} can be drafted")

    def law(self, sets: DraftSets, size: int) -> Any:
        """The law of the chosen token, shape `(size,)`, float64."""
        law = np.zeros(size)
        for drafts, mass in sets:
            for token, chance in self.chances(drafts).items():
                law[token] += float(mass) * chance
        return law


def resolve(law: Vector, q: Vector, sets: DraftSets) -> Rule:
    """The rule whose choice among the drafts has this law, up to about 1e-9.

    law: from `canonical.selection_law`, or any law with `r(S) <= P(drafts meet S)` for the prefixes by `r/q`.
    Raises `InvalidInput` if no rule has this law.
    """
    target, masses = np.asarray(law, dtype=np.float64), np.asarray(q, dtype=np.float64)
    order = [int(y) for y in np.argsort(-target / np.maximum(masses, 1e-300), kind="stable") if masses[y] > 0]
    blocks, start = [], 0
    for end in range(1, len(order) + 1):
        wanted = set(order[:end])
        slack = sum(float(mass) for drafts, mass in sets if drafts & wanted) - target[order[:end]].sum()
        if slack < -TIGHT:
            raise InvalidInput(f"no choice among the drafts takes tokens {sorted(wanted)} that often")
        if slack <= TIGHT:
            blocks.append(tuple(order[start:end]))
            start = end
    potentials = np.zeros(len(target))
    before: set[int] = set()
    for block in blocks:
        inside = [(drafts & set(block), float(mass)) for drafts, mass in sets if not drafts & before]
        potentials[list(block)] = _potentials(target[list(block)], block, [part for part in inside if part[0]])
        before |= set(block)
    return Rule(tuple(blocks), tuple(potentials.tolist()))


def _potentials(wanted: Any, block: tuple[int, ...], sets: list[tuple[frozenset[int], float]]) -> Any:
    """Newton's method with halved steps for the potentials of one block; the first is 0."""
    n = len(block)
    present = np.array([[token in drafts for token in block] for drafts, _ in sets])
    masses = np.array([mass for _, mass in sets])
    w = np.zeros(n)

    def state(w: Any) -> tuple[float, Any]:
        logits = np.where(present, w, -np.inf)
        top = logits.max(axis=1, keepdims=True)
        weights = np.exp(logits - top)
        total = weights.sum(axis=1, keepdims=True)
        return float(masses @ (top + np.log(total))[:, 0] - wanted @ w), weights / total

    value, chances = state(w)
    for _ in range(200):
        gradient = masses @ chances - wanted
        if abs(gradient).max() < 1e-13 or n == 1:
            break
        hessian = np.diag(masses @ chances) - (chances * masses[:, None]).T @ chances
        direction = np.zeros(n)
        direction[1:] = -np.linalg.solve(hessian[1:, 1:] + 1e-15 * np.eye(n - 1), gradient[1:])
        length = min(1.0, 5.0 / max(abs(direction).max(), 1e-300))
        while length > 1e-12 and state(w + length * direction)[0] > value + 1e-4 * length * float(gradient @ direction):
            length /= 2
        if length <= 1e-12:
            break
        w = w + length * direction
        value, chances = state(w)
    return w
