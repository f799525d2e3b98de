"""The structures of `naive`, `specinfer` and `block`, whose own files hold the algorithms alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from draftproof.simulator.protocol import Vector
from draftproof.simulator.structures import OF_TYPES, OnePath, TopDown
from draftproof.simulator.vectors import (
    acceptances,
    layers,
    minimum,
    normalised,
    one_draft_law,
    one_hot,
    residuals,
    sums,
    times,
    token_by_token,
)
from draftproof.verifiers._paths import at_rejection, child_weights
from draftproof.verifiers.block import Block
from draftproof.verifiers.naive import Naive
from draftproof.verifiers.specinfer import SpecInfer


def naive_child_law(p: Vector, q: Vector, k: int) -> Any:
    """See `TopDown.child_law`, shape `(2, n.., V)`: `[1]` an accepted draft, `[0]` a correction. `k` must be 1."""
    p, q = token_by_token(p), token_by_token(q)
    accepted = minimum(p, q)
    return one_draft_law(q, accepted, normalised(p - accepted, p), k)


def specinfer_branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    """Law of the next token given the drafts, shape `(n.., V)`: a recursion over the drafts that are left."""
    targets = [p]
    for _ in drafted:
        targets.append(residuals(targets[-1], q))
    known: dict[tuple[int, ...], Vector] = {(): targets[-1]}

    def law(left: tuple[int, ...]) -> Vector:
        if left not in known:
            target = targets[len(drafted) - len(left)]
            total: Any = 0
            for place, token in enumerate(left):
                accepted = acceptances(target, q, token)
                rest = law(left[:place] + left[place + 1 :])
                total = total + accepted * one_hot(p, token) + (1 - accepted) * rest
            known[left] = total / len(left)
        return known[left]

    return law(tuple(sorted(drafted)))


def specinfer_child_law(p: Vector, q: Vector, k: int) -> Any:
    """Joint law of the next token and the number of `k` i.i.d. drafts that equal it, shape `(k + 1, n.., V)`.

    With `M_j = R_1 .. R_(j-1)` the draft of round `j` is accepted with mass `M_j min(p_j, q)`, and each of the
    `k - j` later ones equals it with probability `q`. A rejected draft has lost all its mass, so it never does.
    """
    p, q = token_by_token(p), token_by_token(q)
    others = 1 - q
    missed: Any = 1
    by_count: list[Any] = []  # accepted so far, by the number of drafts beside that one
    for _ in range(k):
        accepted = minimum(p, q)
        fewest, *more = times(by_count, others, q) if by_count else [0]
        by_count = [fewest + missed * accepted, *more]
        missed = missed * sums(q - accepted)
        p = normalised(p - accepted, p)
    return layers([missed * p, *by_count])


def specinfer_last_step(p: Vector, q: Vector, masses: Mapping[int, Any]) -> tuple[Vector, Vector]:
    """See `TopDown`; a round is the same for all numbers of drafts that reach it."""
    p, q = token_by_token(p), token_by_token(q)
    missed: Any = 1
    stopped: Any = 0
    taken: Any = 0
    for drafts in range(1, max(masses) + 1):
        accepted = minimum(p, q)
        trying = sum(mass for k, mass in masses.items() if k >= drafts)
        taken = taken + missed * trying * accepted
        missed = missed * sums(q - accepted)
        p = normalised(p - accepted, p)
        if drafts in masses:
            stopped = stopped + missed * masses[drafts] * p
    return stopped, taken


OF_TYPES[Naive] = TopDown(child_law=naive_child_law)
OF_TYPES[SpecInfer] = TopDown(specinfer_branch, specinfer_child_law, specinfer_last_step)
OF_TYPES[Block] = OnePath(child_weights, at_rejection)
