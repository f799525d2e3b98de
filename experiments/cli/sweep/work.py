"""The tasks of a sweep. A task is all verifiers on one world and scheme; its rows are computed and stored together."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from draftproof.experiments.cli.compare.planning import Cell, declares_other_schemes
from draftproof.experiments.cli.compare.work import RowBuilder
from draftproof.experiments.cli.sweep.sweep_file import Sweep, World
from draftproof.experiments.grid.bounds import expected_seconds
from draftproof.experiments.grid.cost import ExpectedCost, check_runs, expected_cost
from draftproof.experiments.grid.rows import strong_id, versions
from draftproof.experiments.grid.run import Task
from draftproof.experiments.grid.store import Row
from draftproof.experiments.inputs.schemes import find_scheme, scheme_spec
from draftproof.experiments.inputs.verifiers import Settings, find_verifier, from_file
from draftproof.lp_analysis.problem import assert_size
from draftproof.simulator.arithmetic import arithmetic_named
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import TooLarge, UnsupportedTree
from draftproof.simulator.instances.processes import context_count
from draftproof.simulator.protocol import DraftScheme

#: Fields of a row that a sweep does not store as they are.
_NOT_STORED = ("seconds", "history", "roots", "versions", "method")
_NO_COST = ExpectedCost("", "", 0.0, 0.0)


@dataclass(frozen=True)
class Group:
    """The rows of one world on one scheme. items: row id and verifier as text, None for the bound."""

    world: World
    scheme: str
    arithmetic: str
    items: tuple[tuple[str, str | None], ...]

    def task(self, seconds: float) -> Task[Group]:
        """This group as a task of a grid."""
        from_library = frozenset(name for name, spec in self.items if not from_file(f"{spec or ''} {self.scheme}"))
        return Task(tuple(name for name, _ in self.items), self, seconds, from_library)


@dataclass(frozen=True)
class Plan:
    """All groups, and the pairs of verifier and scheme that are left out."""

    tasks: tuple[Task[Group], ...]
    left_out: tuple[str, ...]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(len(task.ids) for task in self.tasks)


def plan(sweep: Sweep) -> Plan:
    """The groups of a sweep; raises `TooLarge` for rows that are too large, where the sweep has no limits."""
    costs = _Costs(sweep)
    tasks, left_out = [], dict[str, None]()
    for world in sweep.worlds:
        base = {"world": dict(world.source), "arithmetic": sweep.arithmetic, **versions()}
        for scheme in sweep.schemes:
            about = {**base, "scheme": scheme.as_dict()}
            rows, seconds = list[tuple[str, str | None]](), 0.0
            for named in sweep.verifiers if "check" in sweep.questions else ():
                is_left_out = declares_other_schemes(named.verifier.card, scheme)
                cost = None if is_left_out else costs.of(world, named.spec, scheme)
                if cost is None:
                    left_out[f"{named.label} on {scheme}"] = None  # not declared on its card, or too large
                    continue
                rows.append((strong_id({**about, "verifier": named.identity}), named.spec))
                seconds += cost
            if "bound" in sweep.questions:
                cost = costs.bound(world, scheme)
                if cost is None:
                    left_out[f"the optimum of {scheme}"] = None
                else:
                    rows.append((strong_id({**about, "question": "bound"}), None))
                    seconds += cost
            if rows:
                tasks.append(Group(world, scheme_spec(scheme), sweep.arithmetic, tuple(rows)).task(seconds))
    return Plan(tuple(tasks), tuple(left_out))


class _Costs:
    """Expected seconds by verifier, scheme and kind of world: seeds and temperatures of one family cost the same.

    None: the verifier refuses the trees, or the cost is above a limit of the sweep.
    """

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._settings = Settings(sweep.arithmetic, "auto")
        self._known: dict[object, float | None] = {}
        self._trials: dict[int, dict[str, dict[Any, float]]] = {}

    def of(self, world: World, spec: str, scheme: Any) -> float | None:
        """Seconds of one row."""
        kind = (_kind(world), spec, str(scheme))
        if kind not in self._known:
            try:
                self._known[kind] = self._row(world, spec, scheme)
            except UnsupportedTree:
                self._known[kind] = None
            except TooLarge:
                if self._sweep.most_runs is None and self._sweep.most_steps is None:
                    raise
                self._known[kind] = None
        return self._known[kind]

    def _row(self, world: World, spec: str, scheme: Any) -> float | None:
        named, settings, roots = find_verifier(spec), self._settings, self._roots(world, scheme)
        trials = self._trials.setdefault(world.problem.vocab_size, {})
        cost = expected_cost(named, scheme, settings, [(roots[0].target, roots[0].draft)], trials)
        enumerated = cost.engine == "enumerate"
        most = self._sweep.most_runs if enumerated else self._sweep.most_steps
        if most is not None and cost.steps * len(roots) > most:
            return None
        if enumerated:
            check_runs(named, scheme, settings, cost.steps * len(roots), roots[0].target.vocab_size)
        return cost.seconds * len(roots)

    def bound(self, world: World, scheme: DraftScheme) -> float | None:
        """Seconds of one bound."""
        kind = (_kind(world), None, str(scheme))
        if kind not in self._known:
            self._known[kind] = self._bound(world, scheme)
        return self._known[kind]

    def _bound(self, world: World, scheme: DraftScheme) -> float | None:
        size, most = world.problem.vocab_size, self._sweep.most_paths
        one_path = isinstance(scheme, Delayed) and scheme.K == 1
        if most is not None and context_count(size, scheme.depth) > most and not one_path:
            return None
        try:
            assert_size(size, scheme)
            roots = self._roots(world, scheme)
            return expected_seconds(size, scheme, roots[0].draft) * len(roots)
        except TooLarge:
            if most is None:
                raise
            return None

    def _roots(self, world: World, scheme: Any) -> Any:
        return world.problem.cases(scheme.depth, arithmetic_named(self._settings.arithmetic))


def _kind(world: World) -> str:
    return strong_id({key: value for key, value in world.source.items() if key not in ("seed", "sampling")})


def compute(group: Group) -> list[Row]:
    """The rows of a group; only `seconds` differs from run to run."""
    scheme = find_scheme(group.scheme)
    builder = RowBuilder(group.world.problem, Settings(group.arithmetic, "auto"))
    rows = []
    for name, spec in group.items:
        started = time.perf_counter()
        row = builder.row(Cell(None if spec is None else find_verifier(spec), scheme, name, _NO_COST))
        fields = {key: value for key, value in row.items() if key not in _NOT_STORED}
        fields |= {"kind": f"swept {fields['kind']}", "options": group.world.given.options}
        rows.append({**fields, "seconds": round(time.perf_counter() - started, 4)})
    return rows
