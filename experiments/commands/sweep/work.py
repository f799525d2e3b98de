"""The rows of a sweep, group by group: all verifiers on one world and scheme, computed and kept together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from draftproof.experiments.commands.compare.planning import BoundTask, Task, is_for_others
from draftproof.experiments.commands.compare.work import Workplace
from draftproof.experiments.commands.sweep.asked import Asked, World
from draftproof.experiments.commands.sweep.store import Row, Store
from draftproof.experiments.shared.bounds import expected_seconds
from draftproof.experiments.shared.cost import Settings, Workload, check_runs, expected_cost
from draftproof.experiments.shared.names import find_verifier, from_file
from draftproof.experiments.shared.progress import bar
from draftproof.experiments.shared.rows import strong_id, versions
from draftproof.experiments.shared.schemes import find_scheme, scheme_spec
from draftproof.experiments.shared.sharing import computed, unclaimed
from draftproof.simulator.arithmetic import arithmetic_named
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import TooLarge, UnsupportedTree
from draftproof.simulator.instances.processes import context_count

#: What of a row depends on the clock; the rest is the same wherever it is computed.
_TIMED = ("seconds", "history", "roots", "versions", "method")
_FREE = Workload("", "", 0.0, 0.0)


@dataclass(frozen=True)
class Group:
    """The rows of one world on one scheme. asked: (row id, verifier as text, None for the bound)."""

    world: World
    scheme: str
    arithmetic: str
    asked: tuple[tuple[str, str | None], ...]

    @property
    def ids(self) -> list[str]:
        """The ids of its rows."""
        return [name for name, _ in self.asked]

    @property
    def name(self) -> str:
        """What it is claimed by."""
        return strong_id({"rows": self.ids})


@dataclass(frozen=True)
class Plan:
    """All groups, what is left out because a verifier is not for a scheme, and the seconds of one process."""

    groups: tuple[Group, ...]
    left_out: tuple[str, ...]
    seconds: float

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(len(group.asked) for group in self.groups)


def plan(asked: Asked) -> Plan:
    """The groups of a sweep; raises `TooLarge` for rows that would not be begun, where the sweep has no limits."""
    costs = _Costs(asked)
    groups, left_out, seconds = [], dict[str, None](), 0.0
    for world in asked.worlds:
        base = {"world": dict(world.source), "arithmetic": asked.arithmetic, **versions()}
        for scheme in asked.schemes:
            about = {**base, "scheme": scheme.as_dict()}
            rows: list[tuple[str, str | None]] = []
            for named in asked.verifiers if "check" in asked.questions else ():
                cost = None if is_for_others(named.verifier.card, scheme) else costs.of(world, named.spec, scheme)
                if cost is None:
                    left_out[f"{named.label} on {scheme}"] = None  # its card does not speak of it, or it is too large
                    continue
                rows.append((strong_id({**about, "verifier": named.identity}), named.spec))
                seconds += cost
            if "bound" in asked.questions and isinstance(scheme, Delayed):
                cost = costs.bound(world, scheme)
                if cost is None:
                    left_out[f"the optimum of {scheme}"] = None
                else:
                    rows.append((strong_id({**about, "question": "bound"}), None))
                    seconds += cost
            if rows:
                groups.append(Group(world, scheme_spec(scheme), asked.arithmetic, tuple(rows)))
    return Plan(tuple(groups), tuple(left_out), seconds)


class _Costs:
    """Expected seconds by verifier, scheme and kind of world: seeds and temperatures of one family cost the same.

    None: the verifier refuses the trees, or the sweep leaves out what takes so long.
    """

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._settings = Settings(asked.arithmetic, "auto")
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
                if self._asked.most_runs is None and self._asked.most_steps is None:
                    raise
                self._known[kind] = None
        return self._known[kind]

    def _row(self, world: World, spec: str, scheme: Any) -> float | None:
        named, settings, roots = find_verifier(spec), self._settings, self._roots(world, scheme)
        trials = self._trials.setdefault(world.problem.vocab_size, {})
        cost = expected_cost(named, scheme, settings, [(roots[0].target, roots[0].draft)], trials)
        enumerated = cost.engine == "enumerate"
        most = self._asked.most_runs if enumerated else self._asked.most_steps
        if most is not None and cost.steps * len(roots) > most:
            return None
        if enumerated:
            check_runs(named, scheme, settings, cost.steps * len(roots), roots[0].target.vocab_size)
        return cost.seconds * len(roots)

    def bound(self, world: World, scheme: Delayed) -> float | None:
        """Seconds of one bound."""
        kind = (_kind(world), None, str(scheme))
        if kind not in self._known:
            self._known[kind] = self._bound(world, scheme)
        return self._known[kind]

    def _bound(self, world: World, scheme: Delayed) -> float | None:
        size, most = world.problem.vocab_size, self._asked.most_paths
        if most is not None and context_count(size, scheme.depth) > most and scheme.K > 1:
            return None
        roots = len(self._roots(world, scheme)) if world.given.text else 1
        try:
            return expected_seconds(size, scheme) * roots
        except TooLarge:
            if most is None:
                raise
            return None

    def _roots(self, world: World, scheme: Any) -> Any:
        return world.problem.roots(scheme.depth, arithmetic_named(self._settings.arithmetic))


def _kind(world: World) -> str:
    return strong_id({key: value for key, value in world.source.items() if key not in ("seed", "sampling")})


def compute(group: Group) -> list[Row]:
    """The rows of a group; the same wherever they are computed, but for their seconds."""
    scheme = find_scheme(group.scheme)
    workplace = Workplace(group.world.problem, Settings(group.arithmetic, "auto"))
    rows = []
    for name, spec in group.asked:
        started = time.perf_counter()
        if spec is None:
            assert isinstance(scheme, Delayed)
            found = workplace.row(BoundTask(scheme, name, _FREE))
        else:
            found = workplace.row(Task(find_verifier(spec), scheme, name, _FREE))
        kept = {key: value for key, value in found.items() if key not in _TIMED}
        question = "bound" if spec is None else "check"
        about = {"question": question, "shape": group.scheme, "nodes": scheme.nodes}
        about |= {"options": group.world.given.options}
        rows.append({**kept, **about, "seconds": round(time.perf_counter() - started, 4)})
    return rows


#: `computing(groups)`: the rows of groups, in any order, group by group.
Compute = Callable[[Iterator[Group | None]], Iterator[list[Row]]]


def run(groups: Sequence[Group], store: Store, computing: Compute) -> bool:
    """Compute what is missing into the store; False if Ctrl-C ended it early."""
    missing = [group for group in groups if not store.has(group.ids)]
    outside = {name for group in missing for name, spec in group.asked if from_file(f"{spec or ''} {group.scheme}")}
    with bar("rows", sum(len(group.asked) for group in groups)) as tick:
        tick(sum(len(group.asked) for group in groups) - sum(len(group.asked) for group in missing))
        try:
            claim, there = lambda group: store.claim(group.name, group.ids), lambda group: tick(len(group.asked))
            for rows in computing(unclaimed(missing, claim, there)):
                store.add(rows, outside)
                tick(len(rows))
        except KeyboardInterrupt:
            return False
    return True


def on_processes(jobs: int) -> Compute:
    """Groups spread over processes of this machine, or computed here if one is enough."""

    return lambda groups: computed(groups, compute, jobs)
