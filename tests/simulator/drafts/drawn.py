"""The law of the trees that a scheme draws, by enumeration of its coins."""

from typing import Any

from draftproof.simulator.arithmetic import RATIONAL, Arithmetic
from draftproof.simulator.coins import outcomes
from draftproof.simulator.protocol import Context, DraftScheme, TokenProcess

#: The drafted tokens by context, in order.
Tree = tuple[tuple[Context, tuple[int, ...]], ...]


def law_of_trees(scheme: DraftScheme, draft: TokenProcess, arithmetic: Arithmetic = RATIONAL) -> dict[Tree, Any]:
    law: dict[Tree, Any] = {}
    for tree, mass in outcomes(lambda coin: scheme.draw(draft, coin), arithmetic):
        key = tuple(sorted(tree.children.items()))
        law[key] = law.get(key, 0) + mass
    return law
