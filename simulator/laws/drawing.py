"""Every draft tree of a scheme with its exact probability; user-defined schemes are watched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from draftproof.simulator.arithmetic import Arithmetic
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import UserScheme
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import AttachedTree, DraftScheme, TokenProcess

#: So many first trees are drawn once more when all are drawn.
AGAIN = 64


def drawn_trees(scheme: DraftScheme, draft: TokenProcess, arithmetic: Arithmetic) -> Iterator[tuple[AttachedTree, Any]]:
    """Every outcome of `scheme.draw` with its probability.

    Raises `InvalidInput` for a user-defined scheme that returns no tree, or that is no function of the draft and the
    coin: its runs are watched, and the first trees drawn once more at the end.
    """
    if not isinstance(scheme, UserScheme) and type(scheme).__module__.startswith(
        "draftproof.simulator."
    ):  # ours, those of audits too
        return outcomes(lambda coin: scheme.draw(draft, coin), arithmetic)
    return _watched(scheme if isinstance(scheme, UserScheme) else UserScheme(scheme), draft, arithmetic)


def _watched(scheme: UserScheme, draft: TokenProcess, arithmetic: Arithmetic) -> Iterator[tuple[DraftTree, Any]]:
    first: list[tuple[DraftTree, Any]] = []
    for drawn in scheme.trees(draft, arithmetic):
        first += [drawn] if len(first) < AGAIN else []
        yield drawn
    for drawn, again in zip(first, scheme.trees(draft, arithmetic), strict=False):
        _compare(scheme, drawn, again)


def _compare(scheme: UserScheme, drawn: tuple[DraftTree, Any], again: tuple[DraftTree, Any]) -> None:
    if _told(*drawn) != _told(*again):
        raise InvalidInput(
            f"scheme {scheme.name} drew two trees from the same answers of the coin; "
            "draw must be a function of the draft and the coin, without state or other randomness"
        )


def _told(tree: DraftTree, weight: Any) -> tuple[Any, ...]:
    return tree.children, tree.pieces, weight
