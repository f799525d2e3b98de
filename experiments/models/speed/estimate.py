"""How long `choose` will take, from the first text of every scheme: said before the work."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from time import perf_counter

from draftproof.experiments.models.speed.choosing import ROOM, Candidate
from draftproof.experiments.models.speed.expected import TREES, Expectations
from draftproof.experiments.models.speed.race import turns_of
from draftproof.experiments.models.speed.rehearsal import ALONE, BLOCKS, TEXTS
from draftproof.simulator.laws.estimator import closed_form

#: Before `E` is known: guesses this far below the best one are expected in the race, too.
NEAR = 0.8


def expected_seconds(
    candidates: Sequence[Candidate], expectations: Expectations, roots: int, tokens: int, rounds: int
) -> float:
    """Of all that comes after the first texts, taking one tree as a trial."""
    return rehearsing(candidates) + weighing(candidates, expectations) + racing(candidates, roots, tokens, rounds)


def rehearsing(candidates: Sequence[Candidate]) -> float:
    """The other texts of every scheme, each verifier on every tree."""
    shared = sum({each.scheme: each.shared for each in candidates}.values())
    verifying = sum(each.block - each.shared for each in candidates)
    return TEXTS / 2 * ((BLOCKS + ALONE) * shared + BLOCKS * verifying)


def weighing(candidates: Sequence[Candidate], expectations: Expectations) -> float:
    """The block efficiencies of those that could be the fastest."""
    best = max(each.guessed for each in candidates)
    wanted = [each for each in candidates if each.short or each.most >= ROOM * best]
    seconds = {each: expectations.seconds(each.named, each.scheme) for each in wanted}
    sampled = [each for each, exact in seconds.items() if exact is None]
    calls = len(expectations.contexts) * TREES
    verifying = sum((each.block - each.shared) * runs_of(each) for each in sampled)
    began = perf_counter()
    if sampled:
        expectations.trial()
    return sum(exact or 0.0 for exact in seconds.values()) + calls * (perf_counter() - began + verifying)


def runs_of(candidate: Candidate) -> float:
    """How often a verifier runs on one tree for its mean over the coin, roughly: once where that has a closed form."""
    return 1.0 if closed_form(candidate.named.verifier) else 1.0 + candidate.scheme.depth


def racing(candidates: Sequence[Candidate], roots: int, tokens: int, rounds: int) -> float:
    """All turns of those that may be in the race."""
    best = max(each.guessed for each in candidates)
    near = [each for each in candidates if each.guessed >= NEAR * best]
    mean = sum(roots * ceil(tokens / each.usual) * each.block for each in near) / len(near)
    return mean * turns_of(len(near), rounds)
