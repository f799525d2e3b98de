"""The branches of a layer, grouped by node and law: a race takes every group for a node with i.i.d. branches.

Where the branches of a node have laws of their own, as `DraftNode.laws` tells, each pair of a group and a token has a
weight of its own, and the pair of the node and the token is selected where one of these is. So every law of selecting a
drafted branch is still in reach. For the weights only, the target mass of a token is divided among its groups, in
proportion to the mean numbers of branches that they send there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from draftproof.simulator.few import few_tokens
from draftproof.simulator.protocol import DraftNode, Vector
from draftproof.verifiers._race import Race
from draftproof.verifiers._ratio_classes import WHOLE


@dataclass(frozen=True)
class Group:
    """Branches that go on from one node, drawn from one law. drafted: their next tokens."""

    law: Vector
    drafted: tuple[int, ...]

    @property
    def tokens(self) -> Any:
        """An index of the tokens that the law may have: the few that it tells, or all."""
        few = few_tokens(self.law)
        return WHOLE if few is None else few.tokens


def groups_of(node: DraftNode) -> list[Group]:
    """The branches of a node with children; one group where they are i.i.d."""
    groups: dict[int, tuple[Vector, list[int]]] = {}
    for token, law in zip(node.children, node.laws, strict=True):
        groups.setdefault(id(law), (law, []))[1].append(token)
    return [Group(law, tuple(drafted)) for law, drafted in groups.values()]


def mean_drafts(groups: Sequence[Group]) -> Vector:
    """For each token, how many branches of one node draw it on average."""
    first, *others = sorted(groups, key=lambda group: group.tokens is not WHOLE)
    drafts = len(first.drafted) * first.law
    for group in others:
        drafts[group.tokens] += len(group.drafted) * group.law[group.tokens]
    return drafts


def per_draft(target_mass: Vector, drafts: Vector) -> Vector:
    """The target mass of a token for each of the branches that draw it on average; see `mean_drafts`."""
    return target_mass / (drafts + (drafts <= 0))


def divided(target_mass: Vector, groups: Sequence[Group]) -> list[Vector]:
    """The target mass of each group of one node."""
    if len(groups) == 1:
        return [target_mass]
    each = per_draft(target_mass, mean_drafts(groups))
    return [each * (len(group.drafted) * group.law) for group in groups]


def added(rows: Sequence[Vector]) -> Vector:
    """The sum of at least one row."""
    return sum(rows[1:], start=rows[0])


def selectable(
    race: Race, groups: Sequence[Sequence[Group]], column: Callable[[int, int], int]
) -> tuple[dict[tuple[int, int], Any], Any]:
    """Of the drafted pairs those of the best block with their weights, and the sum of all weights in it.

    groups: by node. column: the place in the race of a token of a node. Pairs are named by node and token.
    """
    blocks, weights = race.blocks.tolist(), race.weights.tolist()
    drafted = []
    row = 0
    for place, here in enumerate(groups):
        for group in here:
            for token in dict.fromkeys(group.drafted):
                at = column(place, token)
                if weights[row][at] > 0:
                    drafted.append((blocks[row][at], place, token, weights[row][at] * group.drafted.count(token)))
            row += 1
    best = race.best_block(block for block, *_ in drafted)
    pairs: dict[tuple[int, int], Any] = {}
    for block, place, token, weight in drafted:
        if block == best:
            pairs[place, token] = pairs[place, token] + weight if (place, token) in pairs else weight
    return pairs, sum(pairs.values()) + race.null_weight_in(best)
