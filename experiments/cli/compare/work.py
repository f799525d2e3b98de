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
from draftproof.experiments.shared.progress import counted, named_errors
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import Fails, InvalidInput, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.numbers import arithmetic_named
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import Check, Evaluator

#: The kind of the row of a verifier that fails, and has no law.
FAILURE = "failure"


class Rows:
    """Computes rows, in each process; those of one world share its roots and evaluators."""

    def __init__(self, places: Sequence[Place], settings: Settings) -> None:
        self._arguments = places, settings
        self._places, self._settings = places, settings
        numbers = arithmetic_named(settings.arithmetic)
        self._source_roots = lru_cache(maxsize=64)(lambda place, depth: places[place].world.cases(depth, numbers))
        self._evaluators: dict[tuple[int, str], Evaluator] = {}
        self._roots = lru_cache(maxsize=64)(
            lambda place, depth: [root.converted(numbers, depth) for root in self._source_roots(place, depth)]
        )

    def __reduce__(self) -> tuple[object, ...]:
        return Rows, self._arguments

    def row(self, cell: Cell) -> dict[str, Any]:
        """One row: a law, or where there is no verifier the bounds of the optimum, or how the verifier fails."""
        place = self._places[cell.place]
        try:
            fields = self._optimum(cell) if cell.verifier is None else self._law(cell, cell.verifier)
        except Fails as error:
            assert cell.verifier is not None
            about = {"verifier": cell.verifier.label, "spec": cell.verifier.spec, "scheme": cell.scheme.as_dict()}
            failed = {"error": str(error), "fails_on": error.instance.as_dict(), "lossless": False}
            fields = {"kind": FAILURE, **about, **failed}
        return {**fields, "source": place.world.source, "options": place.options, "versions": versions()}

    def _optimum(self, cell: Cell) -> dict[str, Any]:
        roots = bound_roots(self._places[cell.place].world, cell.scheme)
        bounds = [bound_root(root, cell.scheme, GOAL) for root in roots]
        return {"kind": "bound", **bound_fields(bounds, cell.scheme)}

    def _law(self, cell: Cell, named: NamedVerifier) -> dict[str, Any]:
        """The exact law at every root, checked for losslessness, and its weighted average."""
        started, scheme = time.perf_counter(), cell.scheme
        evaluator = self._evaluator(cell.place, named)
        planned = isinstance(named.verifier, Planned)  # its plan needs the exact rows, in either arithmetic
        roots = self._source_roots(cell.place, scheme.depth)
        checks = []
        for source_root, root in zip(roots, roots if planned else self._roots(cell.place, scheme.depth), strict=True):
            with named_errors(f"{named.label} on {scheme}, root {root.name!r}"):
                result = evaluator.check(root.target, root.draft, scheme)
                checks.append(self._exact(result, named, source_root) if result.rounding_decides else result)
        fields = _row_fields(cell, named, roots, checks)
        if self._settings.steady:
            fields |= number_fields("steady_state", self._steady_state(evaluator, named, scheme, roots[0]))
        seconds = round(time.perf_counter() - started, 3)
        return {**fields, "arithmetic": self._settings.arithmetic, "seconds": seconds}

    def _exact(self, result: Check, named: NamedVerifier, root: Case) -> Check:
        """The check repeated in rationals; `result` itself where the rows are floats or too many."""
        with suppress(InvalidInput, TooLarge):
            exact = replace(self._settings, arithmetic=RATIONAL.name, device=None).evaluator(named)
            return exact.check(root.target, root.draft, result.scheme)
        return result

    def _evaluator(self, place: int, named: NamedVerifier) -> Evaluator:
        """That of a verifier in a world; rows of one world come together."""
        if (place, named.spec) not in self._evaluators:
            self._evaluators = {key: evaluator for key, evaluator in self._evaluators.items() if key[0] == place}
            self._evaluators[place, named.spec] = self._settings.evaluator(named)
        return self._evaluators[place, named.spec]

    def _steady_state(
        self, evaluator: Evaluator, named: NamedVerifier, scheme: DraftScheme, root: Case
    ) -> Fraction | float:
        if not isinstance(scheme, Delayed):
            raise InvalidInput(f"steady_state is computed for delayed trees, not for {scheme}")
        with named_errors(f"{named.label} on {scheme}, steady_state"):
            return evaluator.steady_state(root.target, root.draft, scheme).efficiency


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
    run(questions, store, row, Rows(plan.places, plan.settings), machines=machines, message=_steps(missing))


def row(cell: Cell, rows: Rows) -> dict[str, Any]:
    """The row of a cell."""
    return rows.row(cell)


def _steps(cells: Sequence[Cell]) -> str:
    runs = sum(cell.cost.steps for cell in cells if cell.cost.engine == "enumerate")
    programs = sum(cell.cost.steps for cell in cells if cell.cost.engine == "bound")
    steps = sum(cell.cost.steps for cell in cells) - runs - programs
    amounts = ((runs, "run", ""), (steps, "step", " of structured engines"), (programs, "program", " for the optimum"))
    return ", ".join(counted(amount, noun) + of for amount, noun, of in amounts if amount) or "nothing to do"


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
