"""`draftproof compare`: the exact law of every verifier on every shape, one row each, over the cores."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.metadata import version
from itertools import product
from multiprocessing import get_context
from typing import Any

import numpy as np

from experiments.checking import named_errors, nearest_hint
from experiments.names import NamedVerifier, find_verifier
from experiments.output import number_fields
from experiments.problem import Problem, Root
from experiments.progress import bar, duration, remark
from experiments.rows import RowFile, accepted_length, mixture, strong_id, versions
from simulator.arithmetic import arithmetic_named
from simulator.enumerate import assert_function, estimate_size
from simulator.errors import InvalidInput, TooLarge
from simulator.lossless import Check, check, choose_engine
from simulator.protocol import DraftScheme, Verifier

#: Below this many seconds of expected work the cost of starting processes is not worth it.
PARALLEL_FROM_SECONDS = 3.0


@dataclass(frozen=True)
class Settings:
    """How rows are computed."""

    arithmetic: str
    engine: str
    jobs: int
    max_runs: int


@dataclass(frozen=True)
class Task:
    """One row to compute: a verifier (by the text it was asked for), a shape, and the expected cost."""

    verifier: NamedVerifier
    scheme: DraftScheme
    strong_id: str
    runs: float
    seconds: float


def shapes(
    build: Callable[..., DraftScheme], ranges: Mapping[str, Sequence[int]], budget: int | None, most: int | None = None
) -> list[DraftScheme]:
    """The valid shapes of the ranges, those of exactly `budget` and at most `most` drafted tokens if given.

    build: makes a scheme from K, L1 and L2; ranges: what is given of those three.
    """
    combinations = [dict(zip(ranges, values, strict=True)) for values in product(*ranges.values())]
    if len(combinations) > 1:
        combinations = [shape for shape in combinations if shape.get("K", 2) <= 1 or shape.get("L2", 1) > 0]
    kept = [scheme for scheme in (build(**shape) for shape in combinations) if budget in (None, scheme.nodes)]
    kept = [scheme for scheme in kept if most is None or scheme.nodes <= most]
    if budget is not None:  # all splits of a single path are the same tree: one is enough for a picture
        singles = [scheme for scheme in kept if scheme.as_dict().get("K") == 1]
        kept = singles[-1:] + [scheme for scheme in kept if scheme not in singles]
    if not kept:
        wanted = (
            "is valid (L2 = 0 needs K = 1)" if budget is None else f"has exactly {budget} drafted tokens (--budget)"
        )
        raise InvalidInput(f"no shape in the ranges {wanted}; widen --K, --L1 or --L2")
    return kept


def shape_label(scheme: DraftScheme) -> str:
    """A short name within one kind of scheme: "2, 0, 2" for K, L1, L2, else the tree."""
    fields = scheme.as_dict()
    return ", ".join(str(fields[key]) for key in ("K", "L1", "L2")) if "K" in fields else str(scheme)


def plan(
    problem: Problem, chosen: Sequence[NamedVerifier], schemes: Sequence[DraftScheme], settings: Settings
) -> list[Task]:
    """Every row to compute with its estimated cost; raises `TooLarge` for one that does not fit."""
    generator = np.random.default_rng(0)
    arithmetic = arithmetic_named(settings.arithmetic)
    tasks = []
    for scheme in schemes:
        roots = problem.roots(scheme.depth)
        instance = roots[0].instance.converted(arithmetic, scheme.depth)
        digests = [[root.instance.digest(), str(root.weight)] for root in roots]
        for named in chosen:
            engine = choose_engine(named.verifier, settings.engine)
            started = time.perf_counter()
            with named_errors(f"{named.label} on {scheme}"):
                size = estimate_size(named.verifier, instance.target, instance.draft, scheme, generator)
            per_run = (time.perf_counter() - started) / max(size.runs_per_tree * 12, 1)
            runs = size.runs * len(roots)
            if runs > settings.max_runs:
                raise TooLarge(
                    f"{named.label} on {scheme} at V = {problem.vocab_size} needs about {runs:.1e} runs, more than "
                    f"{settings.max_runs:,}; {nearest_hint(scheme, runs, settings.max_runs, problem.vocab_size)}"
                )
            if named.from_file:
                with named_errors(f"{named.label} on {scheme}"):
                    assert_function(named.verifier, instance.target, instance.draft, scheme, generator)
            identity = strong_id(
                {
                    "roots": digests,
                    "version": version("draftproof"),
                    "verifier": named.identity,
                    "scheme": scheme.as_dict(),
                    "arithmetic": settings.arithmetic,
                    "engine": engine,
                }
            )
            tasks.append(Task(named, scheme, identity, runs, runs * per_run))
    return tasks


def compute_row(roots: Sequence[Root], source: dict[str, Any], task: Task, settings: Settings) -> dict[str, Any]:
    """One row: the exact law on every root, checked for losslessness, and its weighted average."""
    started = time.perf_counter()
    checks = []
    for root in roots:
        with named_errors(f"{task.verifier.label} on {task.scheme}, root {root.label!r}"):
            checks.append(_check(task.verifier.verifier, root.instance, task.scheme, settings))
    weights = [root.weight for root in roots]
    average = [
        mixture(weights, [each.law.depth_distribution[depth] for each in checks])
        for depth in range(task.scheme.depth + 1)
    ]
    fields = task.scheme.as_dict()
    return {
        "verifier": task.verifier.label,
        **{key: fields.get(key) for key in ("K", "L1", "L2")},
        "shape": shape_label(task.scheme),
        "scheme": fields,
        "nodes": task.scheme.nodes,
        **accepted_length(average),
        "control": task.verifier.verifier.card.control,
        "lossless": all(each.lossless for each in checks),
        **number_fields("max_deviation", max(each.max_deviation for each in checks)),
        **number_fields("total_variation", max(each.total_variation for each in checks)),
        "roots": [_root_fields(root.label, root.weight, each) for root, each in zip(roots, checks, strict=True)],
        "arithmetic": settings.arithmetic,
        "engine": checks[0].engine,
        "source": source,
        "strong_id": task.strong_id,
        "versions": versions(),
        "seconds": round(time.perf_counter() - started, 3),
    }


def compute_all(problem: Problem, tasks: Sequence[Task], settings: Settings, kept: RowFile) -> bool:
    """Compute the missing rows into `kept`, cheapest first, with a bar; False if Ctrl-C ended it early."""
    missing = sorted((task for task in tasks if task.strong_id not in kept.rows), key=lambda task: task.seconds)
    seconds = sum(task.seconds for task in missing)
    parallel = settings.jobs > 1 and len(missing) > 1 and seconds > PARALLEL_FROM_SECONDS
    jobs = min(settings.jobs, len(missing)) if parallel else 1
    reused = f" ({len(tasks) - len(missing)} more are kept from before)" if len(missing) < len(tasks) else ""
    remark(
        f"{len(missing)} rows{reused}, {sum(task.runs for task in missing):,.0f} runs, "
        f"{duration(seconds / jobs)} on {jobs} process{'es' if jobs > 1 else ''}"
    )
    produce = _in_parallel if parallel else _one_by_one
    with bar("rows", len(tasks)) as tick:
        tick(len(tasks) - len(missing))
        try:
            for row in produce(problem, missing, settings):
                kept.add(row)
                tick(1)
        except KeyboardInterrupt:
            return False
    return True


def _one_by_one(problem: Problem, tasks: Sequence[Task], settings: Settings) -> Iterator[dict[str, Any]]:
    roots = lru_cache(problem.roots)
    for task in tasks:
        yield compute_row(roots(task.scheme.depth), problem.source, task, settings)


def _in_parallel(problem: Problem, tasks: Sequence[Task], settings: Settings) -> Iterator[dict[str, Any]]:
    pool = ProcessPoolExecutor(settings.jobs, get_context("spawn"), _start_worker, (problem, settings))
    try:
        # verifiers travel by name: an outsider's class may not be importable by the pickle of another process
        calls = [(task.verifier.spec, (task.scheme, task.strong_id, task.runs, task.seconds)) for task in tasks]
        for future in as_completed([pool.submit(_work, *call) for call in calls]):
            yield future.result()
    finally:
        for process in list(pool._processes.values()):  # the pool has no public way to stop now
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)


_worker: tuple[Callable[[int], list[Root]], dict[str, Any], Settings]


def _start_worker(problem: Problem, settings: Settings) -> None:
    global _worker  # noqa: PLW0603 - one problem for the life of the process, sent once
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    sys.set_int_max_str_digits(0)
    _worker = (lru_cache(problem.roots), problem.source, settings)


def _work(spec: str, fields: tuple[DraftScheme, str, float, float]) -> dict[str, Any]:
    roots, source, settings = _worker
    task = Task(find_verifier(spec), *fields)
    return compute_row(roots(task.scheme.depth), source, task, settings)


def _check(verifier: Verifier, instance: Any, scheme: DraftScheme, settings: Settings) -> Check:
    return check(verifier, instance.target, instance.draft, scheme, settings.arithmetic, settings.engine)


def _root_fields(label: str, weight: Fraction, found: Check) -> dict[str, Any]:
    return {
        "root": label,
        **number_fields("weight", weight),
        **accepted_length(found.law.depth_distribution),
        "lossless": found.lossless,
        **number_fields("max_deviation", found.max_deviation),
        **number_fields("total_variation", found.total_variation),
        "instance": found.instance.digest(),
    }
