"""One block at real vocabularies beside reading every row of its tree once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from draftproof.experiments.studies.speed.measuring import Row, Sizes, in_turn, named
from draftproof.lp_analysis import single_step_optimum
from draftproof.simulator.coins import SamplingCoin
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.instances.called import CallableProcess
from draftproof.simulator.protocol import Context, DraftNode, DraftScheme
from draftproof.verifiers import make

NAMES = ("layer_transport", "traversal", "specinfer", "block")


def block_rows(sizes: Sizes) -> Iterator[Row]:
    """Verifiers on one drafted tree."""
    scheme = Delayed(2, 0, 2) if sizes.quick else Delayed(4, 0, 5)
    for size in (50,) if sizes.quick else (32_000, 150_000):
        root = drafted_tree(size, scheme)
        coin = SamplingCoin(np.random.default_rng(2))
        trees = {"numpy": root, **({"torch": tensors(root)} if find_spec("torch") else {})}
        for kind, tree in trees.items():
            tasks: dict[str, Callable[[], object]] = {"reading": partial(read, tree)}
            tasks |= {name: partial(make(name).verify, tree, coin) for name in NAMES}
            least = in_turn(tasks, sizes.budget)
            for name in NAMES:
                problem = f"one block, {kind}: {named(name, size, scheme)}"
                yield Row("blocks", problem, least[name], "reading its rows once", least["reading"])


def one_step_rows(sizes: Sizes) -> Iterator[Row]:
    """The optimum of one step beside reading both rows once."""
    size, K = (50, 2) if sizes.quick else (128_000, 4)
    generator = np.random.default_rng(0)
    p, q = generator.dirichlet(np.ones(size)), generator.dirichlet(np.ones(size))
    tasks: dict[str, Callable[[], object]] = {
        "optimum": partial(single_step_optimum, p, q, K),
        "reading": lambda: np.minimum(p, q).sum(),
    }
    least = in_turn(tasks, sizes.budget)
    yield Row("blocks", f"one-step optimum V={size} K={K}", least["optimum"], "minimum(p, q).sum()", least["reading"])


def drafted_tree(size: int, scheme: DraftScheme) -> DraftNode:
    """A drafted tree whose rows are kept; the draft is near its target."""
    rows: dict[Context, tuple[np.ndarray, np.ndarray]] = {}

    def pair(context: Context) -> tuple[np.ndarray, np.ndarray]:
        if context not in rows:
            generator = np.random.default_rng((7, *context))
            logits = 2.5 * generator.normal(size=size)
            masses = np.exp(logits), np.exp(logits + 0.7 * generator.normal(size=size))
            rows[context] = masses[0] / masses[0].sum(), masses[1] / masses[1].sum()
        return rows[context]

    target, draft = (
        CallableProcess(size, lambda context: pair(context)[0]),
        CallableProcess(size, lambda c: pair(c)[1]),
    )
    return scheme.draw(draft, SamplingCoin(np.random.default_rng(1))).root(target, draft)


@dataclass(frozen=True)
class KeptRows:
    """A process whose rows are kept as they are: a process that is called makes arrays of what it is given."""

    vocab_size: int
    rows: Mapping[Context, Any]

    def row(self, context: Context) -> Any:
        return self.rows[context]


def tensors(root: DraftNode, device: str = "cpu") -> DraftNode:
    """The same tree with its rows in torch, on a device."""
    import torch

    rows: dict[Context, list[Any]] = {}
    children: dict[Context, tuple[int, ...]] = {}
    waiting = [root]
    for node in waiting:  # grows while it is walked
        rows[node.context] = [
            row if row is None else torch.tensor(row, device=device) for row in (node.target, node.draft)
        ]
        children[node.context] = node.children
        waiting += [node.child(token) for token in set(node.children)]
    size = len(root.target)
    target, draft = (KeptRows(size, {context: pair[side] for context, pair in rows.items()}) for side in (0, 1))
    return DraftTree(children).root(target, draft)


def read(root: DraftNode) -> float:
    """The sum of every row."""
    below = sum(read(root.child(token)) for token in set(root.children))
    return float(root.target.sum()) + (float(root.draft.sum()) if root.children else 0.0) + below
