"""The enumerating engine: every verifier in rationals beside float64, with its runs a second."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from draftproof.experiments.studies.speed.measuring import Row, Sizes, in_turn, named
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.simulator.protocol import Verifier
from draftproof.verifiers import STANDALONE, make


def run_rows(sizes: Sizes) -> Iterator[Row]:
    """All runs of every verifier on one instance, in both arithmetics in turn."""
    V, scheme = (2, Delayed(2, 0, 1)) if sizes.quick else (3, Delayed(2, 0, 2))
    exact = FAMILIES["dirichlet"].instance(V, scheme.depth, np.random.default_rng(0))
    instances = {each.name: exact.converted(each, scheme.depth) for each in (RATIONAL, FLOAT64)}
    for name in (name for name in STANDALONE if name != "spechub"):  # it takes its own pairs only
        verifier = make(name)
        tasks = {
            arithmetic: partial(enumerate_law, verifier, instance.target, instance.draft, scheme)
            for arithmetic, instance in instances.items()
        }
        least = in_turn(tasks, sizes.budget / 5)
        counted = {arithmetic: count_runs(verifier, scheme, instance) for arithmetic, instance in instances.items()}
        rates = [f"{counted[each] / least[each]:,.0f}" for each in ("rational", "float64")]
        note = f"{counted['rational']:,} runs; {rates[0]} and {rates[1]} a second"
        yield Row("runs", named(name, V, scheme, RATIONAL), least["rational"], "float64", least["float64"], note=note)


def count_runs(verifier: Verifier, scheme: Delayed, instance: Instance) -> int:
    """Runs of `verify` in an enumeration: one for every draft tree and every answer of the coin."""
    arithmetic, count = instance.target.arithmetic, 0
    for tree, _ in outcomes(lambda coin: scheme.draw(instance.draft, coin), arithmetic):
        root = tree.root(instance.target, instance.draft)
        count += sum(1 for _ in outcomes(partial(verifier.verify, root), arithmetic))
    return count
