"""`draftproof compare`: the exact law of every verifier on every shape, one row each, over the cores."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from draftproof.experiments.commands.compare.planning import GOAL, BoundTask, Task, shape_label
from draftproof.experiments.shared.bounds import bound_fields, bound_root
from draftproof.experiments.shared.cost import Settings, Workload
from draftproof.experiments.shared.names import NamedVerifier, find_verifier
from draftproof.experiments.shared.output import number_fields
from draftproof.experiments.shared.planned import Planned
from draftproof.experiments.shared.pool import PERIOD, spread
from draftproof.experiments.shared.problem import Problem
from draftproof.experiments.shared.progress import bar, counted, duration, named_errors, remark
from draftproof.experiments.shared.rows import RowFile, accepted_length, largest, mixture, versions
from draftproof.experiments.shared.schemes import find_scheme, scheme_spec
from draftproof.experiments.shared.sharing import unclaimed
from draftproof.simulator.arithmetic import RATIONAL, arithmetic_named
from draftproof.simulator.drafts import Delayed, Own
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import Check, Evaluator

#: Below this many seconds of expected work the cost of starting processes is not worth it.
PARALLEL_FROM_SECONDS = 3.0


class Workplace:
    """One problem with its settings: roots and evaluators are made once and serve all rows."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self._problem, self._source, self._settings = problem, problem.source, settings
        numbers = arithmetic_named(settings.arithmetic)
        self._given = lru_cache(lambda depth: problem.roots(depth, numbers))
        self._roots = lru_cache(lambda depth: [root.converted(numbers, depth) for root in self._given(depth)])
        self._evaluators: dict[str, Evaluator] = {}

    def row(self, task: Task | BoundTask) -> dict[str, Any]:
        """One row: the exact law on every root, checked for losslessness, and its weighted average; or a bound."""
        started = time.perf_counter()
        if isinstance(task, BoundTask):
            exact = self._problem.roots(task.scheme.depth, RATIONAL)
            bounds = [bound_root(root, task.scheme, GOAL) for root in exact]
            fields = {"kind": "bound", **bound_fields(bounds, task.scheme, ()), "strong_id": task.strong_id}
            return {**fields, "source": self._source, "versions": versions()}
        named, scheme = task.verifier, task.scheme
        if named.spec not in self._evaluators:
            self._evaluators[named.spec] = self._settings.evaluator(named)
        planned = isinstance(named.verifier, Planned)  # made from exact rows, whatever it then runs in
        roots = self._given(scheme.depth)
        checks = []
        for given, root in zip(roots, roots if planned else self._roots(scheme.depth), strict=True):
            with named_errors(f"{named.label} on {scheme}, root {root.name!r}"):
                found = self._evaluators[named.spec].check(root.target, root.draft, scheme)
                checks.append(self._exact(found, named, given) if found.rounding_decides else found)
        fields = _row_fields(task, roots, checks)
        if self._settings.steady:
            fields |= number_fields("steady_state", self._steady_state(task, roots[0]))
        fields |= {"arithmetic": self._settings.arithmetic, "source": self._source, "versions": versions()}
        return {**fields, "seconds": round(time.perf_counter() - started, 3)}

    def _exact(self, found: Check, named: NamedVerifier, root: Case) -> Check:
        """The same in rationals; what was found where the rows are floats, or too many."""
        with suppress(InvalidInput, TooLarge):
            exact = replace(self._settings, arithmetic=RATIONAL.name, device=None).evaluator(named)
            return exact.check(root.target, root.draft, found.scheme)
        return found

    def _steady_state(self, task: Task, root: Case) -> Fraction | float:
        if not isinstance(task.scheme, Delayed):
            raise InvalidInput(f"--steady-state is computed for delayed trees, not for {task.scheme}")
        with named_errors(f"{task.verifier.label} on {task.scheme}, --steady-state"):
            evaluator = self._evaluators[task.verifier.spec]
            return evaluator.steady_state(root.target, root.draft, task.scheme).efficiency


def _row_fields(task: Task, roots: Sequence[Case], checks: Sequence[Check]) -> dict[str, Any]:
    weights = [root.weight for root in roots]
    average = [
        mixture(weights, [each.metrics.depth_distribution[depth] for each in checks])
        for depth in range(task.scheme.depth + 1)
    ]
    fields = task.scheme.as_dict()
    return {
        "kind": "law",
        "verifier": task.verifier.label,
        "spec": task.verifier.spec,
        **{key: fields.get(key) for key in ("K", "L1", "L2")},
        "shape": shape_label(task.scheme),
        "scheme": fields,
        "nodes": task.scheme.nodes,
        **accepted_length(average),
        "control": task.verifier.verifier.card.control,
        "lossless": all(each.lossless for each in checks),
        "assumed": any(each.assumed for each in checks),
        "rounding_decides": any(each.rounding_decides for each in checks),
        **number_fields("max_deviation", max(each.max_deviation for each in checks)),
        **number_fields("total_variation", largest([each.total_variation for each in checks])),
        "roots": [_root_fields(root, each) for root, each in zip(roots, checks, strict=True)],
        "engine": checks[0].engine,
        "strong_id": task.strong_id,
    }


def compute_all(
    problem: Problem, tasks: Sequence[Task | BoundTask], settings: Settings, kept: RowFile, options: Sequence[str]
) -> bool:
    """Compute the missing rows into `kept`, cheapest first, with a bar; False if Ctrl-C ended it early.

    options: of the command line, which chose the problem; they stand in the rows.
    """
    missing = sorted((task for task in tasks if task.strong_id not in kept.rows), key=lambda task: task.cost.seconds)
    seconds = sum(task.cost.seconds for task in missing)
    parallel = settings.jobs > 1 and len(missing) > 1 and seconds > PARALLEL_FROM_SECONDS
    jobs = min(settings.jobs, len(missing)) if parallel else 1
    reused = f" ({len(tasks) - len(missing):,} more are kept from before)" if len(missing) < len(tasks) else ""
    processes = f"{jobs} process{'es' if jobs > 1 else ''}"
    rows = counted(len(missing), "row")
    remark(f"{rows}{reused}: {_steps(missing)}, {duration(seconds / jobs)} on {processes}")
    produce = _in_parallel if parallel else _one_by_one
    outside = {task.strong_id for task in missing if isinstance(task, Task) and task.outside}
    with bar("rows", len(tasks)) as tick:
        tick(len(tasks) - len(missing))
        try:
            tasks_left = unclaimed(missing, lambda task: kept.claim(task.strong_id), lambda _: tick(1))
            for row in produce(problem, tasks_left, settings):
                kept.add({**row, "options": list(options)}, row["strong_id"] in outside)
                tick(1)
        except KeyboardInterrupt:
            return False
    return True


def _steps(tasks: Sequence[Task | BoundTask]) -> str:
    runs = sum(task.cost.steps for task in tasks if task.cost.engine == "enumerate")
    programs = sum(task.cost.steps for task in tasks if task.cost.engine == "bound")
    steps = sum(task.cost.steps for task in tasks) - runs - programs
    amounts = ((runs, "run", ""), (steps, "step", " of structured engines"), (programs, "program", " for the optimum"))
    return ", ".join(counted(amount, noun) + of for amount, noun, of in amounts if amount) or "nothing to do"


_Tasks: TypeAlias = Iterator[Task | BoundTask | None]


def _one_by_one(problem: Problem, tasks: _Tasks, settings: Settings) -> Iterator[dict[str, Any]]:
    workplace = Workplace(problem, settings)
    for task in tasks:
        if task is None:
            time.sleep(PERIOD)
        else:
            yield workplace.row(task)


def _in_parallel(problem: Problem, tasks: _Tasks, settings: Settings) -> Iterator[dict[str, Any]]:
    # verifiers travel by name: an outsider's class may not be importable by the pickle of another process
    calls = (
        None
        if task is None
        else (task.verifier.spec if isinstance(task, Task) else None, (_sent(task.scheme), task.strong_id, task.cost))
        for task in tasks
    )
    return spread(settings.jobs, _work, calls, _start_worker, problem, settings)


_workplace: Workplace


def _start_worker(problem: Problem, settings: Settings) -> None:
    global _workplace  # noqa: PLW0603 - one problem for the life of the process, sent once
    _workplace = Workplace(problem, settings)


def _sent(scheme: DraftScheme) -> DraftScheme | str:
    """An outsider's scheme travels by name too."""
    return scheme_spec(scheme) if isinstance(scheme, Own) else scheme


def _work(spec: str | None, fields: tuple[Any, str, Workload]) -> dict[str, Any]:
    scheme, strong, cost = fields
    if spec is None:
        return _workplace.row(BoundTask(scheme, strong, cost))
    return _workplace.row(
        Task(find_verifier(spec), find_scheme(scheme) if isinstance(scheme, str) else scheme, strong, cost)
    )


def _root_fields(root: Case, found: Check) -> dict[str, Any]:
    return {
        "root": root.name,
        **number_fields("weight", root.weight),
        **accepted_length(found.metrics.depth_distribution),
        "lossless": found.lossless,
        **number_fields("max_deviation", found.max_deviation),
        **number_fields("total_variation", found.total_variation),
        "instance": root.digest(found.scheme.depth),
    }
