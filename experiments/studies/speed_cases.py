"""What `experiments.studies.speed` compares: structured engines against what they replace, on fixed problems."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from simulator.arithmetic import FLOAT64, RATIONAL, Arithmetic
from simulator.coins import SamplingCoin
from simulator.drafts import Delayed
from simulator.instances.families import FAMILIES
from simulator.instances.processes import MarkovProcess
from simulator.laws.enumeration import enumerate_law
from simulator.laws.structured import (
    MarkovRows,
    MetricsSink,
    RowSource,
    TableRows,
    run,
    structured_law,
    structured_metrics,
)
from simulator.laws.structured.collapsed import CollapsedTopDown
from simulator.protocol import Card, Coin, DraftNode, Verdict, Verifier
from simulator.structures import TopDown
from verifiers import make
from verifiers._tournament import linear_programs

TOP_DOWN = ("nss", "naive_tree", "specinfer", "spectr")
#: Standard error of the sampled `E[tau + 1]` whose cost is stated.
STANDARD_ERROR = 1e-3


@dataclass(frozen=True)
class Row:
    """One comparison. measured, other: in `unit`. faster: whether the ratio is `other / measured`, else its inverse."""

    section: str
    problem: str
    measured: float
    against: str
    other: float
    goal: float | None = None
    faster: bool = False
    unit: str = "s"
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.other / self.measured if self.faster else self.measured / self.other

    @property
    def met(self) -> bool | None:
        """Whether the ratio is at least the goal where `faster`, else at most; None without a goal."""
        if self.goal is None:
            return None
        return self.ratio >= self.goal if self.faster else self.ratio <= self.goal

    def fields(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio, "met": self.met}


@dataclass(frozen=True)
class Sizes:
    """How long to measure: the whole table, or its smallest version, which only shows that everything runs."""

    quick: bool

    @property
    def budget(self) -> float:
        """Seconds for one group of timings."""
        return 0.0 if self.quick else 2.5

    @property
    def limit(self) -> float:
        """Seconds that a verifier with programs at its nodes may take."""
        return 0.2 if self.quick else 20.0


def seconds_of(task: Callable[[], object]) -> float:
    """Processor time of one run, at least the resolution of the clock: others on a busy machine do not count."""
    begun = time.process_time()
    task()
    return max(time.process_time() - begun, time.get_clock_info("process_time").resolution)


def in_turn(tasks: Mapping[str, Callable[[], object]], budget: float) -> dict[str, float]:
    """The least time of each task; all run in turn, again and again until the budget is used up."""
    least = dict.fromkeys(tasks, float("inf"))
    end = time.perf_counter() + budget
    while True:
        for name, task in tasks.items():
            least[name] = min(least[name], seconds_of(task))
        if time.perf_counter() >= end:
            return least


def random_rows(V: int, L: int, roots: int = 1, seed: int = 0) -> tuple[TableRows, list[Any], list[Any]]:
    """Dirichlet tables of depths `0..L - 1`, all that the metrics of trees of depth `L` read."""
    generator = np.random.default_rng(seed)
    target, draft = (
        [generator.dirichlet(np.ones(V), size=roots * V**depth) for depth in range(L)] for _ in ("target", "draft")
    )
    return TableRows(target, draft, roots), target, draft


def summed(verifier: Verifier, rows: RowSource, scheme: Delayed) -> Callable[[], object]:
    """The evaluation that is timed: depth distribution and largest deviation of every root."""
    return lambda: run(verifier, rows, scheme, MetricsSink(rows, scheme.depth))


def named(verifier: str, V: int, scheme: Delayed, arithmetic: Arithmetic = FLOAT64) -> str:
    """The problem in words: without a trunk, and in float64 unless it says otherwise."""
    return f"{verifier} V={V} K={scheme.K} L2={scheme.L2}" + (" rational" if arithmetic.exact else "")


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


def peak_mib() -> float:
    """The most memory that this process has held so far."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


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


def sampling_rows(sizes: Sizes) -> Iterator[Row]:
    """Metrics against our own sampler, until the mean is known to a standard error."""
    V, L = (2, 2) if sizes.quick else (4, 5)
    instance = FAMILIES["dirichlet"].instance(V, L, np.random.default_rng(0), arithmetic=FLOAT64)
    rows = TableRows.of(instance.target, instance.draft)
    coin = SamplingCoin(np.random.default_rng(1))
    runs = 10 if sizes.quick else 2000
    for name, K in (("nss", 4), ("specinfer", 4), ("spectr", 4), ("gbv", 4), ("mixed_order", 4), ("traversal", 2)):
        verifier, scheme = make(name), Delayed(K, 0, L)

        def sample(verifier: Verifier = verifier, scheme: Delayed = scheme) -> None:
            for _ in range(runs):
                tree = scheme.draw(instance.draft, coin)
                verifier.verify(tree.root(instance.target, instance.draft), coin)

        each = seconds_of(sample) / runs
        least = in_turn({"metrics": summed(verifier, rows, scheme)}, sizes.budget / 10)["metrics"]
        samples = float(structured_metrics(verifier, rows, scheme)[0].variance) / STANDARD_ERROR**2
        note = f"{samples:,.0f} of {each * 1e6:.0f} us"
        yield Row("sampling", named(name, V, scheme), least, "sampling", samples * each, faster=True, note=note)


@dataclass
class Counted:
    """A top-down verifier that counts the nodes it solves, one for each number of drafts."""

    verifier: Any
    nodes: int = 0

    @property
    def card(self) -> Card:
        return self.verifier.card  # type: ignore[no-any-return]

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        return self.verifier.verify(root, coin)  # type: ignore[no-any-return]

    @property
    def structure(self) -> TopDown:
        return TopDown(child_law=self._counted)

    def _counted(self, p: Any, q: Any, k: int) -> Any:
        self.nodes += len(p)
        return self.verifier.structure.child_law(p, q, k)


def program_rows(sizes: Sizes) -> Iterator[Row]:
    """Verifiers that solve programs at every node: the largest L that stays within the limit."""
    for name in ("khisti", "optimal_transport"):
        best: Row | None = None
        for L in count(1):
            rows, _, _ = random_rows(4, L, seed=L)  # other rows each time: solutions are remembered
            counted, scheme = Counted(make(name)), Delayed(4, 0, L)
            before = linear_programs()
            seconds = seconds_of(summed(counted, rows, scheme))
            solved = linear_programs() - before
            note = f"{counted.nodes:,} programs" + (f", {solved:,} linear" if solved else "")
            row = Row("programs", named(name, 4, scheme), seconds, "20 s", 20.0, 1.0, note=note)
            if seconds <= sizes.limit:
                best = row
            if seconds * 4 > sizes.limit:
                break
        assert best is not None
        yield best


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


SECTIONS = (floor_rows, enumeration_rows, solved_rows, sampling_rows, program_rows, path_rows, batch_rows)
