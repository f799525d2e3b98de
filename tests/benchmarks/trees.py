"""Drafted trees at real vocabularies, with rows of numpy or torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from draftproof.simulator.drafts import SCHEMES, Delayed, lossless_for
from draftproof.simulator.drafts.trees import DraftTree, TreeNode
from draftproof.simulator.instances.called import CallableProcess
from draftproof.simulator.protocol import Coin, Context, DraftNode, DraftScheme, Verifier
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.verifiers import STANDALONE

#: `spechub` takes pairs of drafts that are made for it, and its cost is that of `naive`.
NAMES = [name for name in STANDALONE if name != "spechub"]


def drafted_tree(size: int, scheme: DraftScheme, seed: int = 1) -> DraftNode:
    """A drafted tree whose rows are kept; the draft is near its target. seed: of the tokens."""
    rows: dict[Context, tuple[np.ndarray, np.ndarray]] = {}

    def pair(context: Context) -> tuple[np.ndarray, np.ndarray]:
        if context not in rows:
            generator = np.random.default_rng((7, *context))
            logits = 2.5 * generator.normal(size=size)
            masses = np.exp(logits), np.exp(logits + 0.7 * generator.normal(size=size))
            rows[context] = masses[0] / masses[0].sum(), masses[1] / masses[1].sum()
        return rows[context]

    target = CallableProcess(size, lambda context: pair(context)[0])
    draft = CallableProcess(size, lambda context: pair(context)[1])
    return scheme.draw(draft, SamplingCoin(np.random.default_rng(seed))).root(target, draft)


def scheme_for(verifier: Verifier, full: bool) -> DraftScheme:
    """Four paths of four tokens, or, of schemes whose every node branches, four nodes with four children each.

    Schemes without a number of branches as they are by default.
    """
    known = lossless_for(verifier.card)
    if verifier.card.control or not known or "delayed" in known:
        return Delayed(4, 0, 4) if full else Delayed(2, 0, 2)
    kind = SCHEMES[known[0]]
    scheme: DraftScheme = kind(K=4 if full else 2, L1=0, L2=2 if full else 1) if hasattr(kind, "K") else kind()
    return scheme


@dataclass(frozen=True)
class KeptRows:
    """A process whose rows are kept as they are: a process that is called makes arrays of what it is given."""

    vocab_size: int
    rows: Mapping[Context, Any]

    def row(self, context: Context) -> Any:
        return self.rows[context]


def nodes_of(root: DraftNode) -> list[DraftNode]:
    """The root and all below it."""
    found = [root]
    for node in found:  # grows while it is walked
        found += [node.child(token) for token in set(node.children)]
    return found


def tensors(root: DraftNode, device: str = "cpu") -> DraftNode:
    """The same tree with its rows in torch, on a device."""
    import torch

    nodes = nodes_of(root)
    target, draft = (
        KeptRows(
            len(root.target),
            {
                node.context: None if row is None else torch.tensor(row, device=device)
                for node in nodes
                for row in [(node.target, node.draft)[side]]
            },
        )
        for side in (0, 1)
    )
    pieces = root._tree.pieces if isinstance(root, TreeNode) else {}
    return DraftTree({node.context: node.children for node in nodes}, pieces).root(target, draft)


def coin_of(kind: str, seed: int = 0) -> Coin:
    """A coin that draws where the rows are."""
    if kind == "numpy":
        return SamplingCoin(np.random.default_rng(seed))
    from draftproof.experiments.models.loop.vectors import coin_for

    return coin_for("torch", seed, "cpu" if kind == "torch" else kind)
