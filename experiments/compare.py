"""`draftproof compare`: the exact law of every verifier on every shape, one row each, over the cores."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from multiprocessing import get_context
from typing import Any

import numpy as np

from experiments.checking import nearest_hint
from experiments.names import NamedVerifier, find_verifier
from experiments.output import number_fields
from experiments.problem import Problem, Root
from experiments.progress import bar, duration, remark
from experiments.rows import RowFile, accepted_length, mixture, strong_id, versions
from simulator.arithmetic import arithmetic_named
from simulator.enumerate import estimate_size
from simulator.errors import DraftproofError, InvalidInput, TooLarge
from simulator.lossless import Check, check, choose_engine
from simulator.protocol import Verifier
from simulator.schemes import Delayed

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
    scheme: Delayed
    strong_id: str
    runs: float
    seconds: float


def shapes(Ks: Sequence[int], L1s: Sequence[int], L2s: Sequence[int], budget: int | None) -> list[Delayed]:
    """The valid shapes of the ranges, those of exactly `budget` drafted tokens if given."""
    if len(Ks) * len(L1s) * len(L2s) == 1:
        chosen = [Delayed(Ks[0], L1s[0], L2s[0])]
    else:
        chosen = [Delayed(K, L1, L2) for K in Ks for L1 in L1s for L2 in L2s if K == 1 or (K > 1 and L2 > 0)]
    kept = [scheme for scheme in chosen if budget is None or scheme.nodes == budget]
    if budget is not None:  # all splits of a single path are the same tree: one is enough for a picture
        singles = [scheme for scheme in kept if scheme.K == 1]
        kept = singles[-1:] + [scheme for scheme in kept if scheme.K > 1]
    if not kept:
        wanted = (
            "a valid shape (L2 = 0 needs K = 1)" if budget is None else f"exactly {budget} drafted tokens (L1 + K L2)"
        )
        raise InvalidInput(f"no shape in the ranges has {wanted}; widen --K, --L1 or --L2")
    return kept


def plan(
    problem: Problem, chosen: Sequence[NamedVerifier], schemes: Sequence[Delayed], settings: Settings
) -> list[Task]:
    """Every row to compute with its estimated cost; raises `TooLarge` for one that does not fit."""
    generator = np.random.default_rng(0)
    arithmetic = arithmetic_named(settings.arithmetic)
    tasks = []
    for scheme in schemes:
        roots = problem.roots(scheme.depth)
        instance = roots[0].instance.converted(arithmetic, scheme.depth)
        for named in chosen:
            engine = choose_engine(named.verifier, settings.engine)
            started = time.perf_counter()
            try:
                size = estimate_size(named.verifier, instance.target, instance.draft, scheme, generator)
            except DraftproofError as error:
                raise type(error)(f"{named.label} on {scheme}: {error}") from error
            per_run = (time.perf_counter() - started) / max(size.runs_per_tree * 12, 1)
            runs = size.runs * len(roots)
            if runs > settings.max_runs:
                raise TooLarge(
                    f"{named.label} on {scheme} at V = {problem.vocab_size} needs about {runs:.1e} runs, more than "
                    f"{settings.max_runs:,}; {nearest_hint(scheme, runs, settings.max_runs, problem.vocab_size)}"
                )
            identity = strong_id(
                {
                    "problem": problem.source,
                    "verifier": named.spec,
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
        try:
            checks.append(_check(task.verifier.verifier, root.instance, task.scheme, settings))
        except DraftproofError as error:
            raise type(error)(f"{task.verifier.label} on {task.scheme}, root {root.label!r}: {error}") from error
    weights = [root.weight for root in roots]
    average = [
        mixture(weights, [each.law.depth_distribution[depth] for each in checks])
        for depth in range(task.scheme.depth + 1)
    ]
    return {
        "verifier": task.verifier.label,
        "K": task.scheme.K,
        "L1": task.scheme.L1,
        "L2": task.scheme.L2,
        "scheme": task.scheme.name,
        "nodes": task.scheme.nodes,
        **accepted_length(average),
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


def _work(spec: str, fields: tuple[Delayed, str, float, float]) -> dict[str, Any]:
    roots, source, settings = _worker
    task = Task(find_verifier(spec), *fields)
    return compute_row(roots(task.scheme.depth), source, task, settings)


def _check(verifier: Verifier, instance: Any, scheme: Delayed, settings: Settings) -> Check:
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
