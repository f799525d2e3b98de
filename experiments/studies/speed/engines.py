"""Structured engines against what they replace: one pass over their tables, enumeration, evaluations one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from draftproof.experiments.studies.speed.measuring import (
    TOP_DOWN,
    Row,
    Sizes,
    in_turn,
    named,
    peak_mib,
    random_rows,
    seconds_of,
    summed,
)
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.simulator.laws.structured import (
    MarkovRows,
    TableRows,
    structured_law,
)
from draftproof.simulator.laws.structured.collapsed import CollapsedTopDown
from draftproof.simulator.protocol import Verifier
from draftproof.verifiers import make


def floor_rows(sizes: Sizes) -> Iterator[Row]:
    """Top-down verifiers against one pass over their tables, and the memory of the process after that.

    The pass runs in turn with them; the note has the ratio to one that is repeated at once, its tables in the cache.
    """
    section = "memory floor"
    for V, L in ((4, 3), (5, 2)) if sizes.quick else ((4, 9), (50, 3)):
        rows, target, draft = random_rows(V, L)
        scheme = Delayed(4, 0, L)

        def floor(tables: Any = (target, draft)) -> None:
            for p, q in zip(*tables, strict=True):
                np.minimum(p, q).sum()

        tasks: dict[str, Callable[[], object]] = {"floor": floor}
        for name in TOP_DOWN:
            tasks |= {name: summed(make(name), rows, scheme), f"floor beside {name}": floor}
        least = in_turn(tasks, 2 * sizes.budget)
        once = min(seconds for name, seconds in least.items() if name.startswith("floor"))
        warm = in_turn({"floor": floor}, sizes.budget / 5)["floor"]
        for name in TOP_DOWN:
            note = f"cached {least[name] / warm:.0f} x"
            yield Row(section, named(name, V, scheme), least[name], "minimum(p, q).sum()", once, 200.0, note=note)
    yield Row(section, "peak memory of all above", peak_mib(), "1 GiB", 1024.0, 1.0, unit="MiB")


def enumeration_rows(sizes: Sizes) -> Iterator[Row]:
    """Full laws against the enumerating engine, in the same arithmetic."""
    for name in ("traversal", "nss", "specinfer", "spectr", "gbv", "mixed_order"):
        goal = 50.0 if name == "traversal" and not sizes.quick else None
        V, L = (2, 2) if sizes.quick else (3, 4 if goal else 3)
        verifier, scheme = make(name), Delayed(2, 0, L)
        for arithmetic in (RATIONAL, FLOAT64):
            instance = FAMILIES["dirichlet"].instance(V, L, np.random.default_rng(0), arithmetic=arithmetic)
            rows = TableRows.of(instance.target, instance.draft)
            enumerated = seconds_of(partial(enumerate_law, verifier, instance.target, instance.draft, scheme))
            least = in_turn({"law": partial(structured_law, verifier, rows, scheme)}, sizes.budget / 5)["law"]
            problem = named(name, V, scheme, arithmetic)
            yield Row("enumeration", problem, least, "enumeration", enumerated, goal, faster=True)


def solved_rows(sizes: Sizes) -> Iterator[Row]:
    """Traversal where nobody would enumerate."""
    for V, K, L in [(2, 2, 2)] if sizes.quick else [(4, 3, 4), (8, 2, 4)]:
        rows, _, _ = random_rows(V, L)
        scheme = Delayed(K, 0, L)
        seconds = seconds_of(summed(make("traversal"), rows, scheme))
        yield Row("leaf to root", named("traversal", V, scheme), seconds, "2 minutes", 120.0, 1.0)


def path_rows(sizes: Sizes) -> Iterator[Row]:
    """Verifiers of a selected path against one pass over the paths: the products of `q` down to them, the sums up."""
    V, L = (2, 3) if sizes.quick else (8, 7)
    rows, _, draft = random_rows(V, L)

    def paths() -> None:
        masses = np.ones(1)
        for q in draft:
            masses = (masses[:, None] * q).reshape(-1)
        for _ in draft:
            masses = masses.reshape(-1, V).sum(-1)

    shapes = [(name, Delayed(K, 0, L)) for name in ("block", "gbv", "mixed_order") for K in (1, 2, 3, 4)]
    tasks = {named(name, V, scheme): summed(make(name), rows, scheme) for name, scheme in shapes}
    least = in_turn({"pass": paths, **tasks}, 3 * sizes.budget)
    for problem in tasks:
        yield Row("paths", problem, least[problem], f"one pass over {V**L:,} paths", least["pass"], 10.0)


def batch_rows(sizes: Sizes) -> Iterator[Row]:
    """Many instances at once, and all shapes of one pair of Markov processes, against one evaluation for each."""
    roots, V, L = (3, 2, 2) if sizes.quick else (64, 4, 4)
    batch, target, draft = random_rows(V, L, roots)

    def part(tables: list[Any], root: int) -> list[Any]:
        return [table[root * V**depth : (root + 1) * V**depth] for depth, table in enumerate(tables)]

    single = [TableRows(part(target, root), part(draft, root)) for root in range(roots)]
    for name in ("specinfer", "spectr", "gbv", "traversal"):
        verifier, scheme = make(name), Delayed(2, 0, L)

        def apart(verifier: Verifier = verifier, scheme: Delayed = scheme) -> None:
            for rows in single:
                summed(verifier, rows, scheme)()

        least = in_turn({"batch": summed(verifier, batch, scheme), "apart": apart}, sizes.budget / 4)
        problem = f"{roots} instances: {named(name, V, scheme)}"
        yield Row("sharing", problem, least["batch"], "one by one", least["apart"], faster=True)
    yield from sweep_rows(sizes)


def sweep_rows(sizes: Sizes) -> Iterator[Row]:
    """See `batch_rows`."""
    most = 1 if sizes.quick else 8
    lengths = range(most + 1)
    shapes = [Delayed(K, L1, L2) for K in (1, 2, 3, 4) for L1 in lengths for L2 in lengths if L2 or K == 1]
    generator = np.random.default_rng(0)
    target, draft = (MarkovProcess(generator.dirichlet(np.ones(4), size=16), (0, 0)) for _ in range(2))
    rows = MarkovRows(target, draft)
    for name in TOP_DOWN:
        verifier = make(name)

        def together(verifier: Verifier = verifier) -> None:
            engine = CollapsedTopDown(verifier, rows)
            for shape in shapes:
                engine.metrics(shape)

        def apart(verifier: Verifier = verifier) -> None:
            for shape in shapes:
                CollapsedTopDown(verifier, rows).metrics(shape)

        least = in_turn({"together": together, "apart": apart}, 0.0)
        problem = f"{len(shapes)} shapes: {name} V=4 order 2"
        yield Row("sharing", problem, least["together"], "one by one", least["apart"], faster=True)
