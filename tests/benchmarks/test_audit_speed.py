"""Audits against the clock: `make bench` prints calls a second. Each of the two goals is under 10 s.

A chain of 4 tokens at V = 3 with transformers' torch function, and a tree of 3 paths of 2 tokens at V = 2 with
traversal verification in plain Python.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simulator import Delayed
from simulator.audit import make_audit
from simulator.instances.families import FAMILIES
from simulator.symbolic import load

AUDITED = Path(__file__).parents[1] / "data" / "audited"


def measure(benchmark, capsys, audit, size, scheme):
    instance = FAMILIES["dirichlet"].instance(size, scheme.depth, np.random.default_rng(0))
    assert audit.trees(instance, scheme) == size**scheme.nodes  # no zeros
    found = benchmark.pedantic(audit.judge, (instance, scheme), rounds=1)
    assert found.lossless
    seconds = benchmark.stats.stats.median
    with capsys.disabled():
        calls = audit.runs(instance, scheme)
        about = f"about {calls:,.0f} calls, {calls / seconds:,.0f} a second"
        print(f"\n{audit.name} on {scheme}, V = {size}: {about}", end="")
    assert seconds < 10


def test_chain_of_four_tokens_in_torch(benchmark, capsys):
    function = pytest.importorskip("transformers.generation.utils")._speculative_sampling
    measure(benchmark, capsys, make_audit(function, "transformers"), 3, Delayed(1, 0, 4))


def test_tree_of_three_paths_in_python(benchmark, capsys):
    audit = make_audit(load(AUDITED / "order_of_leaves.py", "right"), "tree", name="traversal")
    measure(benchmark, capsys, audit, 2, Delayed(3, 0, 2))
