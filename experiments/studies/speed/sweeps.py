"""What a sweep costs beside its rows: the store that outlives everything, claims, other processes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from draftproof.experiments.commands.sweep import work
from draftproof.experiments.commands.sweep.asked import read
from draftproof.experiments.commands.sweep.store import Row as StoredRow
from draftproof.experiments.commands.sweep.store import Store
from draftproof.experiments.shared.sharing import computed
from draftproof.experiments.studies.speed.measuring import Row, Sizes

#: Seconds that every row is made to take.
TAKES = 0.1
_ASKED = """
[sweep]
verifiers = ["naive"]
questions = ["check"]

[[worlds]]
family = "dirichlet"
seeds = "0..{last}"

[[schemes]]
K = 1
L2 = 2
"""


def sweep_rows(sizes: Sizes) -> Iterator[Row]:
    """Rows of 100 ms, each a group of its own, by the clock: in one process, and in two."""
    rows = 4 if sizes.quick else 100
    for jobs in (1, 2):
        with TemporaryDirectory() as folder:
            file = Path(folder) / "sweep.toml"
            file.write_text(_ASKED.format(last=rows - 1), encoding="utf-8")
            groups = work.plan(read(str(file))).groups
            store = Store(str(Path(folder) / "sweep.db"))
            first: list[float] = []

            def timed(found: Iterator[list[StoredRow]], first: list[float] = first) -> Iterator[list[StoredRow]]:
                for row in found:  # what the processes take to start is not counted
                    if not first:
                        first.append(time.perf_counter())
                    yield row

            work.run(groups, store, lambda each, jobs=jobs: timed(computed(each, slowed, jobs)))  # type: ignore[misc]
            took = time.perf_counter() - first[0]
            store.close()
        alone = TAKES * (rows - jobs) / jobs
        problem = f"sweep: {rows} rows of {1000 * TAKES:g} ms, processes: {jobs}"
        yield Row("sweeps", problem, took, "the rows after the first", alone, goal=1.05)


def slowed(group: work.Group) -> list[StoredRow]:
    """The rows of a group, after the time that they are made to take."""
    until = time.perf_counter() + TAKES
    found = work.compute(group)
    while time.perf_counter() < until:
        pass
    return found
