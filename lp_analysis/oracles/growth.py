"""The best tree that grows token by token: which slot to fill next, decided with all rows known.

DySpec fills the slot that the draft believes verification comes to most often. Here the slot is chosen for the largest
block efficiency under recursive rejection without replacement, by dynamic programming over the slots that are open and
the tokens that are left: what was drawn so far may decide, what is drawn next may not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from draftproof.lp_analysis.oracles.slots import Draw, Place, Slots
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.protocol import TokenProcess

#: An open slot: where, and the probability that verification comes there.
Open = tuple[Place, Any]
#: States of the programme that are gone through: some ten seconds.
MOST_STATES = 200_000


@dataclass
class Growth:
    """Trees of one pair of processes that grow to `depth` at most.

    believed: counts tokens as the draft believes them, accepted with their draft probability.
    Raises `TooLarge` where the states of the programme are too many.
    """

    target: TokenProcess
    draft: TokenProcess
    depth: int
    believed: bool = False
    _values: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._slots = Slots(self.target, self.draft, self.believed)

    def best(self, nodes: int) -> Any:
        """The largest block efficiency of a tree of at most `nodes` tokens."""
        return 1 + self._best(self._first(), nodes)

    def greedy(self, nodes: int) -> Any:
        """The same where the slot of the largest mass is filled first, the earlier one of equals."""
        return 1 + self._greedy(self._first(), nodes)

    def _first(self) -> tuple[Open, ...]:
        return ((((), ()), self.target.row(()).sum()),) if self.depth else ()

    def _best(self, slots: tuple[Open, ...], left: int) -> Any:
        if left == 0 or not slots:
            return 0
        if left == 1:
            return max(mass * self._slots.rate(place) for place, mass in slots)
        key = (frozenset(slots), left)
        if key not in self._values:
            if len(self._values) >= MOST_STATES:
                raise TooLarge(
                    f"the best growing tree of {left} tokens more goes through over {MOST_STATES:,} states; use fewer "
                    "nodes or a smaller vocabulary"
                )
            self._values[key] = max(self._after(slots, chosen, left, self._best) for chosen in range(len(slots)))
        return self._values[key]

    def _greedy(self, slots: tuple[Open, ...], left: int) -> Any:
        if left == 0 or not slots:
            return 0
        largest = max(range(len(slots)), key=lambda number: slots[number][1])
        return self._after(slots, largest, left, self._greedy)

    def _after(self, slots: tuple[Open, ...], chosen: int, left: int, go_on: Any) -> Any:
        """What filling one slot brings, with what comes after it."""
        (context, tried), mass = slots[chosen]
        others = slots[:chosen] + slots[chosen + 1 :]
        total: Any = 0
        for draw in self._slots.draws((context, tried)):
            gain = mass * draw.accepted
            opened = self._opened((context, tried), mass, draw)
            total = total + draw.probability * (gain + go_on(others + opened, left - 1))
        return total

    def _opened(self, place: Place, mass: Any, draw: Draw) -> tuple[Open, ...]:
        """The slots that a drawn token opens: below it, and beside it; those only that verification may come to."""
        context, tried = place
        below = ((*context, draw.token), ()), mass * draw.accepted
        beside = (context, (*tried, draw.token)), mass * (1 - draw.accepted)
        return tuple(
            (where, share)
            for where, share in (below, beside)
            if share > 0 and len(where[0]) < self.depth and self._slots.draws(where)
        )
