"""Published and simple cuts: which drafted tokens of a batch get the slots of the target pass.

Confidences of a token, by name: `row`, the largest probability of the row that it was drawn from, and `acceptance`, the
probability that a token of that row is accepted, as a calibrated confidence head says [cheng2026dspark], are known
before the token is drawn. `token` is the draft probability of the token itself, what [angelslim2026dcut] reads. A token
is kept only with those above it on its path, so its *survival* is the product of the confidences down to it. `updated`
is `acceptance`, and once a token is kept, its own `min(1, p/q)` for those below it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heappush
from types import MappingProxyType
from typing import Any

from draftproof.simulator.batches.batch import Drafted
from draftproof.simulator.errors import InvalidInput

#: Confidence of each slot, before and after its token is kept.
CONFIDENCES: Mapping[str, Callable[[Drafted], tuple[Sequence[Any], Sequence[Any]]]] = MappingProxyType(
    {
        "row": lambda drafted: ([max(row) for row in drafted.rows],) * 2,
        "acceptance": lambda drafted: (drafted.acceptance,) * 2,
        "token": lambda drafted: ([row[token] for row, token in zip(drafted.rows, drafted.tokens, strict=True)],) * 2,
        "updated": lambda drafted: (drafted.acceptance, drafted.accepted),
    }
)
#: Where the planned number of slots ends: at the first decrease of tokens per time, or where that is largest.
STOPS = ("first", "best")


@dataclass(frozen=True)
class Equal:
    """The same number of slots for every request, the first ones get those that are left; whatever is drafted."""

    def __call__(self, drafts: Sequence[Drafted], budget: int) -> list[list[int]]:
        share, left = divmod(budget, len(drafts))
        return [list(range(len(d.tokens)))[: share + (number < left)] for number, d in enumerate(drafts)]


@dataclass(frozen=True)
class Threshold:
    """Paths go on while their confidence is at least `at`; where slots run out, depth by depth.

    It multiplies nothing, so `updated` would be `acceptance`, and is refused.
    """

    at: Fraction = Fraction(1, 2)
    by: str = "row"

    def __post_init__(self) -> None:
        _one_of("by", self.by, [name for name in CONFIDENCES if name != "updated"])

    def __call__(self, drafts: Sequence[Drafted], budget: int) -> list[list[int]]:
        confident = [CONFIDENCES[self.by](d)[0] for d in drafts]
        kept: list[list[int]] = [[] for _ in drafts]
        for _, r, slot in sorted(
            (depth, r, slot) for r, d in enumerate(drafts) for slot, depth in enumerate(depths(d))
        ):
            above = drafts[r].parents[slot]
            if budget and (above < 0 or above in kept[r]) and confident[r][slot] >= self.at:
                kept[r].append(slot)
                budget -= 1
        return kept


@dataclass(frozen=True)
class Greedy:
    """One token after the other, of the largest survival of all that can be next; of equals the shallowest.

    Then the first request. Where no token survives more often than those above it, that is the largest survivals.
    """

    by: str = "acceptance"

    def __post_init__(self) -> None:
        _one_of("by", self.by, CONFIDENCES)

    def __call__(self, drafts: Sequence[Drafted], budget: int) -> list[list[int]]:
        return _first(ranked(drafts, self.by), len(drafts), budget)


@dataclass(frozen=True)
class Throughput:
    """As `Greedy`, with the number of slots that brings most expected tokens per time, at most the budget.

    [cheng2026dspark], algorithm 1. A pass with `n` verified tokens takes `1 + slot n`, `n` rounded up to a multiple of
    `pad`. stop: `first`, as the paper, ends at the first token that does not increase the rate; `best` looks at all of
    them, also where the time is a staircase.
    """

    by: str = "acceptance"
    slot: Fraction = Fraction(1, 8)
    pad: int = 1
    stop: str = "first"

    def __post_init__(self) -> None:
        _one_of("by", self.by, CONFIDENCES)
        _one_of("stop", self.stop, STOPS)
        if self.slot < 0 or self.pad < 1:
            raise InvalidInput(
                f"a time of {self.slot} a slot in steps of {self.pad} is none; give slot >= 0 and pad >= 1"
            )

    def __call__(self, drafts: Sequence[Drafted], budget: int) -> list[list[int]]:
        order = ranked(drafts, self.by)
        tokens: Any = len(drafts)
        best, count = tokens / self._time(0), 0
        for n, (survival, _, _) in enumerate(order[:budget], start=1):
            tokens = survival + tokens
            rate = tokens / self._time(n)
            if rate > best:
                best, count = rate, n
            elif self.stop == "first":
                break
        return _first(order, len(drafts), count)

    def _time(self, n: int) -> Fraction:
        return 1 + self.slot * (-(-n // self.pad) * self.pad)


#: The cuts that need nothing else, by name.
CUTS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"equal": Equal, "threshold": Threshold, "greedy": Greedy, "throughput": Throughput}
)


def depths(drafted: Drafted) -> list[int]:
    """The depth of each slot, 0 below the root."""
    found: list[int] = []
    for above in drafted.parents:
        found.append(0 if above < 0 else found[above] + 1)
    return found


def ranked(drafts: Sequence[Drafted], by: str) -> list[tuple[Any, int, int]]:
    """Survival, request and slot of every drafted token in the order of `Greedy`."""
    confident = [CONFIDENCES[by](drafted) for drafted in drafts]
    below = [
        [[slot for slot, at in enumerate(d.parents) if at == above] for above in range(len(d.parents))] for d in drafts
    ]
    waiting = [
        (-confident[r][0][slot], 0, r, slot, 1)
        for r, d in enumerate(drafts)
        for slot, at in enumerate(d.parents)
        if at < 0
    ]
    order = []
    heapify(waiting)
    while waiting:
        negative, depth, r, slot, reached = heappop(waiting)
        order.append((-negative, r, slot))
        before, after = confident[r]
        for child in below[r][slot]:
            reaches = reached * after[slot]
            heappush(waiting, (-reaches * before[child], depth + 1, r, child, reaches))
    return order


def _first(order: Sequence[tuple[Any, int, int]], requests: int, count: int) -> list[list[int]]:
    kept: list[list[int]] = [[] for _ in range(requests)]
    for _, r, slot in order[:count]:
        kept[r].append(slot)
    return kept


def _one_of(key: str, value: str, known: Any) -> None:
    if value not in known:
        raise InvalidInput(f"{key}={value} is unknown; choose {', '.join(known)}")
