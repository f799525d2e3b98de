"""The best cuts of a batch: the best split that looks at no draft, and the best cut that does not peek.

The best cut decides slot by slot. Its state is what is kept so far, and its value the largest mean number of tokens:

    W(kept) = max over sum_r E[tokens | kept_r] and, while slots are left, over every next slot of
              sum over y of q(y) W(kept with y in that slot).

It may use everything known about the rows, `p` included, but no token before it is kept: an upper bound for every
confidence. A cut that does not peek and yet decides in no such order exists from three requests on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any

from flint import fmpq

from draftproof.simulator.batches.batch import NOTHING, Batch, Drafted, Kept
from draftproof.simulator.errors import TooLarge

#: States of the program at most.
MOST_STATES = 200_000


class Best:
    """The cut of the most tokens among those that decide slot by slot; raises `TooLarge` for too many states."""

    name = "optimum"

    def __init__(self, batch: Batch) -> None:
        states = prod(request.choices for request in batch.requests)
        if states > MOST_STATES:
            raise TooLarge(
                f"the best cut of {len(batch.requests)} requests has {states:,} states, more than {MOST_STATES:,}; "
                "take fewer requests, shorter drafts or a smaller V, or leave out optimum"
            )
        self._batch = batch
        self._known: dict[tuple[Kept, ...], tuple[Any, tuple[int, int] | None]] = {}

    @property
    def tokens(self) -> Any:
        """The mean number of tokens of all requests."""
        return self._best(self._start)[0]

    def __call__(self, drafts: Sequence[Drafted], budget: int) -> list[tuple[int, ...]]:
        kept = self._start
        while (step := self._best(kept)[1]) is not None:
            r, slot = step
            kept = _with(kept, r, slot, drafts[r].tokens[slot])
        return [slots for slots, _ in kept]

    @property
    def _start(self) -> tuple[Kept, ...]:
        return (NOTHING,) * len(self._batch.requests)

    def _best(self, kept: tuple[Kept, ...]) -> tuple[Any, tuple[int, int] | None]:
        """The value of a state, and the next slot, None to stop."""
        if kept not in self._known:
            requests = self._batch.requests
            value = sum((r.outcome(part).tokens for r, part in zip(requests, kept, strict=True)), fmpq(0))
            step = None
            if sum(len(slots) for slots, _ in kept) < self._batch.budget:
                for r, request in enumerate(requests):
                    for slot in _open(kept[r], request.parents):
                        row = request.row_at(kept[r], slot)
                        mean = sum(
                            (
                                mass * self._best(_with(kept, r, slot, token))[0]
                                for token, mass in enumerate(row)
                                if mass > 0
                            ),
                            fmpq(0),
                        )
                        if mean > value:
                            value, step = mean, (r, slot)
            self._known[kept] = value, step
        return self._known[kept]


class Fixed:
    """The split of the most tokens among those that do not depend on the drafts."""

    name = "fixed"

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __call__(self, drafts: Sequence[Drafted], budget: int) -> tuple[tuple[int, ...], ...]:
        return self.split

    @cached_property
    def split(self) -> tuple[tuple[int, ...], ...]:
        """The slots of each request."""
        best: dict[int, tuple[Any, tuple[tuple[int, ...], ...]]] = {0: (fmpq(0), ())}
        for request in self._batch.requests:
            means = {part: _mean(request, part) for part in request.parts}
            longer: dict[int, tuple[Any, tuple[tuple[int, ...], ...]]] = {}
            for used, (tokens, parts) in best.items():
                for part, mean in means.items():
                    size = used + len(part)
                    if size <= self._batch.budget and (size not in longer or tokens + mean > longer[size][0]):
                        longer[size] = tokens + mean, (*parts, part)
            best = longer
        return max(best.values(), key=lambda item: item[0])[1]


def _mean(request: Any, part: tuple[int, ...]) -> Any:
    total = fmpq(0)
    for kept in request.drawn(part):
        total += request.probability(kept) * request.outcome(kept).tokens
    return total


def _open(kept: Kept, parents: Sequence[int]) -> list[int]:
    """The slots that can be kept next."""
    slots = kept[0]
    return [slot for slot, above in enumerate(parents) if slot not in slots and (above < 0 or above in slots)]


def _with(kept: tuple[Kept, ...], r: int, slot: int, token: int) -> tuple[Kept, ...]:
    slots, tokens = kept[r]
    pairs = sorted([*zip(slots, tokens, strict=True), (slot, token)])
    part = tuple(slot for slot, _ in pairs), tuple(token for _, token in pairs)
    return (*kept[:r], part, *kept[r + 1 :])
