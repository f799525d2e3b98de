"""The rows of a comparison: exact laws of verifiers and bounds of optima, on several processes or a cluster."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from draftproof.experiments.cli.compare.planning import GOAL, Cell, Place, Plan
from draftproof.experiments.grid.bounds import bound_fields, bound_root, bound_roots
from draftproof.experiments.grid.machines import Machines
from draftproof.experiments.grid.rows import accepted_length, law_fields, versions
from draftproof.experiments.grid.run import run
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.schemes import shape_name
from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned, Settings
from draftproof.experiments.shared.output import number_fields
from draftproof.experiments.shared.progress import counted, duration, named_errors
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import Fails, InvalidInput, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.numbers import arithmetic_named
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import Check, Evaluator

#: The kind of the row of a verifier that fails, and has no law.
FAILURE = "failure"
#: Before a comparison with a row of more seconds that row is named.
LONG = 60.0


class RowBuilder:
    """Computes the rows of one world. All rows share its roots and evaluators."""

    def __init__(self, place: Place, settings: Settings) -> None:
        self._place, self._world, self._settings = place, place.world, settings
        numbers = arithmetic_named(settings.arithmetic)
        self._source_roots = lru_cache(lambda depth: self._world.cases(depth, numbers))
        self._roots = lru_cache(lambda depth: [root.converted(numbers, depth) for root in self._source_roots(depth)])
        self._evaluators: dict[str, Evaluator] = {}

    def row(self, cell: Cell) -> dict[str, Any]:
        """One row: a law, or where there is no verifier the bounds of the optimum, or how the verifier fails."""
        try:
            fields = self._optimum(cell) if cell.verifier is None else self._law(cell, cell.verifier)
        except Fails as error:
            assert cell.verifier is not None
            about = {"verifier": cell.verifier.label, "spec": cell.verifier.spec, "scheme": cell.scheme.as_dict()}
            failed = {"error": str(error), "fails_on": error.instance.as_dict(), "lossless": False}
            fields = {"kind": FAILURE, **about, **failed}
        about = {"source": self._world.source, "options": self._place.options}
        return {**fields, **about, "versions": versions()}

    def _optimum(self, cell: Cell) -> dict[str, Any]:
        bounds = [bound_root(root, cell.scheme, GOAL) for root in bound_roots(self._world, cell.scheme)]
        return {"kind": "bound", **bound_fields(bounds, cell.scheme)}

    def _law(self, cell: Cell, named: NamedVerifier) -> dict[str, Any]:
        """The exact law at every root, checked for losslessness, and its weighted average."""
        started, scheme = time.perf_counter(), cell.scheme
        if named.spec not in self._evaluators:
            self._evaluators[named.spec] = self._settings.evaluator(named)
        planned = isinstance(named.verifier, Planned)  # its plan needs the exact rows, in either arithmetic
        roots = self._source_roots(scheme.depth)
        checks = []
        for source_root, root in zip(roots, roots if planned else self._roots(scheme.depth), strict=True):
            with named_errors(f"{named.label} on {scheme}, root {root.name!r}"):
                result = self._evaluators[named.spec].check(root.target, root.draft, scheme)
                checks.append(self._exact(result, named, source_root) if result.rounding_decides else result)
        fields = _row_fields(cell, named, roots, checks)
        if self._settings.steady:
            fields |= number_fields("steady_state", self._steady_state(named, scheme, roots[0]))
        seconds = round(time.perf_counter() - started, 3)
        return {**fields, "arithmetic": self._settings.arithmetic, "seconds": seconds}

    def _exact(self, result: Check, named: NamedVerifier, root: Case) -> Check:
        """The check repeated in rationals; `result` itself where the rows are floats or too many."""
        with suppress(InvalidInput, TooLarge):
            exact = replace(self._settings, arithmetic=RATIONAL.name, device=None).evaluator(named)
            return exact.check(root.target, root.draft, result.scheme)
        return result

    def _steady_state(self, named: NamedVerifier, scheme: DraftScheme, root: Case) -> Fraction | float:
        if not isinstance(scheme, Delayed):
            raise InvalidInput(f"steady_state is computed for delayed trees, not for {scheme}")
        with named_errors(f"{named.label} on {scheme}, steady_state"):
            return self._evaluators[named.spec].steady_state(root.target, root.draft, scheme).efficiency


def _row_fields(cell: Cell, named: NamedVerifier, roots: Sequence[Case], checks: Sequence[Check]) -> dict[str, Any]:
    fields = cell.scheme.as_dict()
    return {
        "kind": "law",
        "verifier": named.label,
        "spec": named.spec,
        **{key: fields.get(key) for key in ("K", "L1", "L2")},
        "shape": shape_name(cell.scheme),
        "scheme": fields,
        "nodes": cell.scheme.nodes,
        **law_fields([root.weight for root in roots], checks),
        "control": named.verifier.card.control,
        "roots": [_root_fields(root, check) for root, check in zip(roots, checks, strict=True)],
        "engine": checks[0].engine,
    }


def compute_all(plan: Plan, cells: Sequence[Cell], store: Store, machines: Machines) -> None:
    """Compute the missing rows into the store, world by world, the cheapest first, with a bar.

    At Ctrl-C raises `KeyboardInterrupt`; the rows until then are in the store.
    """
    missing = [cell for cell in cells if cell.strong_id not in store]
    ordered = sorted(cells, key=lambda cell: (cell.place, cell.cost.seconds))
    questions = list({cell.strong_id: cell.question() for cell in ordered}.values())
    run(questions, store, row, Builders(plan.places, plan.settings), machines=machines, message=_steps(missing))


class Builders:
    """What computes the rows of each world: made once in each process, for some worlds at a time."""

    def __init__(self, places: Sequence[Place], settings: Settings) -> None:
        self._arguments = places, settings
        self.of = lru_cache(maxsize=64)(lambda number: RowBuilder(places[number], settings))

    def __reduce__(self) -> tuple[object, ...]:
        return Builders, self._arguments


def row(cell: Cell, builders: Builders) -> dict[str, Any]:
    """The row of a cell."""
    return builders.of(cell.place).row(cell)


def _steps(cells: Sequence[Cell]) -> str:
    runs = sum(cell.cost.steps for cell in cells if cell.cost.engine == "enumerate")
    programs = sum(cell.cost.steps for cell in cells if cell.cost.engine == "bound")
    steps = sum(cell.cost.steps for cell in cells) - runs - programs
    amounts = ((runs, "run", ""), (steps, "step", " of structured engines"), (programs, "program", " for the optimum"))
    said = [counted(amount, noun) + of for amount, noun, of in amounts if amount]
    longest = max(cells, key=lambda cell: cell.cost.seconds, default=None)
    if longest is not None and longest.verifier is not None and longest.cost.seconds > LONG:
        said.append(f"the longest {longest.verifier.label} on {longest.scheme}, {duration(longest.cost.seconds)}")
    return ", ".join(said) or "nothing to do"


def _root_fields(root: Case, result: Check) -> dict[str, Any]:
    return {
        "root": root.name,
        **number_fields("weight", root.weight),
        **accepted_length(result.metrics.depth_distribution),
        "lossless": result.lossless,
        **number_fields("max_deviation", result.max_deviation),
        **number_fields("total_variation", result.total_variation),
        "instance": root.digest(result.scheme.depth),
    }
