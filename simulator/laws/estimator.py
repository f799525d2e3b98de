"""The fixed-tree estimator: `E[tau + 1 | tree]`, the mean over the verifier's randomness, exact.

Averaged over draft trees it is the block efficiency, with less variance than counting accepted tokens.
"""

from __future__ import annotations

from typing import Any

from simulator.arithmetic import arithmetic_of
from simulator.coins import outcomes
from simulator.protocol import DraftNode, Verifier
from simulator.structures import Branch, branch_of


def tree_efficiency(verifier: Verifier, root: DraftNode) -> Any:
    """`E[tau + 1]` on the tree under `root`, in the arithmetic of its rows.

    A verifier with `branch` costs one step a node: the sum over nodes of the product of branching probabilities. Any
    other is run on all outcomes of its coin.
    """
    branch = branch_of(verifier)
    if branch is not None:
        return _by_products(branch, root)
    return tree_efficiency_by_coins(verifier, root)


def tree_efficiency_by_coins(verifier: Verifier, root: DraftNode) -> Any:
    """`tree_efficiency` for any verifier, by enumerating its coin."""
    arithmetic = arithmetic_of(root.target)
    verdicts = outcomes(lambda coin: verifier.verify(root, coin), arithmetic)
    return sum(((len(verdict.accepted) + 1) * mass for verdict, mass in verdicts), start=arithmetic.number(0))


def _by_products(branch: Branch, node: DraftNode) -> Any:
    if not node.children:
        return 1
    law = branch(node.target, node.draft, node.children)
    return 1 + sum(law[token] * _by_products(branch, node.child(token)) for token in dict.fromkeys(node.children))
