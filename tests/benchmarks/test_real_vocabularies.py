"""One block at real vocabularies, K = 4, L = 5, beside reading every row once: `make bench`."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import CallableProcess, Delayed, SamplingCoin
from simulator.protocol import Context, DraftNode
from verifiers import make


def drafted_tree(size: int) -> DraftNode:
    """A drafted tree whose rows are kept; a draft that is near its target."""
    rows: dict[Context, tuple[np.ndarray, np.ndarray]] = {}

    def pair(context: Context) -> tuple[np.ndarray, np.ndarray]:
        if context not in rows:
            generator = np.random.default_rng((7, *context))
            logits = 2.5 * generator.normal(size=size)
            masses = np.exp(logits), np.exp(logits + 0.7 * generator.normal(size=size))
            rows[context] = masses[0] / masses[0].sum(), masses[1] / masses[1].sum()
        return rows[context]

    target, draft = (CallableProcess(size, lambda context, side=side: pair(context)[side]) for side in (0, 1))
    return Delayed(4, 0, 5).draw(draft, SamplingCoin(np.random.default_rng(1))).root(target, draft)


def read(root: DraftNode) -> float:
    """Every row once."""
    below = sum(read(root.child(token)) for token in set(root.children))
    return float(root.target.sum()) + (float(root.draft.sum()) if root.children else 0.0) + below


@pytest.mark.parametrize("size", [32_000, 150_000])
@pytest.mark.parametrize("name", ["reading", "layer_transport", "traversal", "specinfer", "block"])
def test_one_block(benchmark, name, size):
    root = drafted_tree(size)
    benchmark.group = f"V = {size:,}, K = 4, L = 5"
    if name == "reading":
        assert benchmark(read, root) > 0
        return
    verifier, generator = make(name), np.random.default_rng(2)
    verdict = benchmark(lambda: verifier.verify(root, SamplingCoin(generator)))
    assert 0 <= len(verdict.accepted) <= 5
