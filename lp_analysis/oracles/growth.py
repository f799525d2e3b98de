"""The best draft tree that grows token by token, if the target's rows were known.

DySpec fills the open slot (see `slots`) that verification reaches most often according to the draft. Here the slot is
chosen for the largest block efficiency under recursive rejection without replacement, by dynamic programming over the
open slots and the number of tokens left. A choice may depend on the tokens drawn before it, not on later ones.
"""

from dataclasses import dataclass, field
from typing import Any

from draftproof.lp_analysis.oracles.slots import Draw, Slot, Slots
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.protocol import TokenProcess

#: An open slot and the probability that verification reaches it.
OpenSlot = tuple[Slot, Any]
#: The most states of the dynamic program, which take some ten seconds.
MOST_STATES = 200_000


@dataclass
class Growth:
    """Trees of one pair of processes that grow to `depth` at most.

    by_draft: whether tokens count as accepted with their draft probability instead of their acceptance probability.
    Raises `TooLarge` where the dynamic program has too many states.
    """

    target: TokenProcess
    draft: TokenProcess
    depth: int
    by_draft: bool = False
    _values: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._slots = Slots(self.target, self.draft, self.by_draft)

    def best(self, nodes: int) -> Any:
        """The largest block efficiency of a tree of at most `nodes` tokens."""
        return 1 + self._best(self._first(), nodes)

    def greedy(self, nodes: int) -> Any:
        """The block efficiency if the slot of the largest mass is always filled first, the earlier one of equals."""
        return 1 + self._greedy(self._first(), nodes)

    def _first(self) -> tuple[OpenSlot, ...]:
        return ((((), ()), self.target.row(()).sum()),) if self.depth else ()

    def _best(self, slots: tuple[OpenSlot, ...], left: int) -> Any:
        if left == 0 or not slots:
            return 0
        if left == 1:
            return max(mass * self._slots.rate(place) for place, mass in slots)
        key = (frozenset(slots), left)
        if key not in self._values:
            if len(self._values) >= MOST_STATES:
                raise TooLarge(
                    f"the search for the best growing tree has over {MOST_STATES:,} states with {left} tokens left; "
                    "use fewer nodes or a smaller vocabulary"
                )
            self._values[key] = max(self._after(slots, chosen, left, self._best) for chosen in range(len(slots)))
        return self._values[key]

    def _greedy(self, slots: tuple[OpenSlot, ...], left: int) -> Any:
        if left == 0 or not slots:
            return 0
        largest = max(range(len(slots)), key=lambda number: slots[number][1])
        return self._after(slots, largest, left, self._greedy)

    def _after(self, slots: tuple[OpenSlot, ...], chosen: int, left: int, continuation: Any) -> Any:
        """The expected accepted tokens from filling one slot; continuation: computes those of the slots left."""
        (context, tried), mass = slots[chosen]
        others = slots[:chosen] + slots[chosen + 1 :]
        total: Any = 0
        for draw in self._slots.draws((context, tried)):
            gain = mass * draw.accepted
            opened = self._opened((context, tried), mass, draw)
            total = total + draw.probability * (gain + continuation(others + opened, left - 1))
        return total

    def _opened(self, place: Slot, mass: Any, draw: Draw) -> tuple[OpenSlot, ...]:
        """The slots that a drawn token opens, below and beside it, if verification can reach them."""
        context, tried = place
        below = ((*context, draw.token), ()), mass * draw.accepted
        beside = (context, (*tried, draw.token)), mass * (1 - draw.accepted)
        return tuple(
            (where, share)
            for where, share in (below, beside)
            if share > 0 and len(where[0]) < self.depth and self._slots.draws(where)
        )
