"""`draftproof check --world conformance`: verifiers on the conformance instances of draft schemes, all enumerated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from draftproof.experiments.cli.check.views import cell_result
from draftproof.experiments.grid.cost import check_runs, expected_cost
from draftproof.experiments.inputs.grammar import parse_assignments
from draftproof.experiments.inputs.schemes import Schemes, as_scheme
from draftproof.experiments.inputs.verifiers import NamedVerifier, Settings
from draftproof.experiments.result import Result
from draftproof.experiments.shared.progress import bar
from draftproof.simulator.drafts import SCHEMES, UserScheme, lossless_for
from draftproof.simulator.errors import InvalidInput, InvalidVerifier, UnsupportedTree
from draftproof.simulator.instances.families import CORNER_CASES
from draftproof.simulator.verdicts.cases import CASES, SizedScheme, case_instances
from draftproof.simulator.verdicts.compatibility import Cell, compatibility

#: The text of the world.
NAME = "conformance"
#: Vocabulary sizes of the cases of a scheme that is given with its parameters or as a file.
SIZES = (2, 3)


def conformance_results(
    verifiers: Sequence[NamedVerifier], schemes: Schemes | None, world: str, settings: Settings
) -> list[Result]:
    """A result for each verifier and scheme, until an instance refutes it. schemes: None for all.

    A name of a scheme has the cases on which verifiers that declare it are tested. world: `conformance:instances=8`
    says how many random instances a case has beside the corner cases. Raises `TooLarge`, and `InvalidVerifier` for a
    user-defined verifier that fails on every scheme.
    """
    count = _instances(world)
    listed = list(SCHEMES) if schemes is None else schemes
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        listed = [listed]
    columns = [_cases(each) for each in listed]
    for _, cases in columns:
        for case in cases:
            _assert_size(verifiers, case, count, settings)
    results = []
    with bar("cells", len(verifiers) * len(columns)) as tick:
        for named in verifiers:
            cells = []
            for name, cases in columns:
                cells.append(compatibility(named.verifier, name, count, None, cases))
                tick(1)
            if named.from_file and all(cell.error and cell.status != "witness" for cell in cells):
                raise InvalidVerifier(f"{named.label} on {cells[0].scheme}: {cells[0].error}")
            results += [cell_result(named, cell, world, _card(named, cell)) for cell in cells]
    return results


def _instances(world: str) -> int:
    """The number of random instances of a case."""
    given = parse_assignments(world.partition(":")[2], NAME, world)
    text = given.pop("instances", "8")
    if given or not text.isdecimal() or text == "0":
        raise InvalidInput(f"{world!r}: write {NAME}, or {NAME}:instances=8 with the random instances of each case")
    return int(text)


def _cases(scheme: Any) -> tuple[str, tuple[SizedScheme, ...]]:
    """The name of a scheme, and its cases."""
    if isinstance(scheme, str) and scheme in SCHEMES:
        return scheme, CASES[scheme]
    made = as_scheme(scheme)
    name = scheme if isinstance(made, UserScheme) and isinstance(scheme, str) else str(made)
    return name, tuple((size, made) for size in SIZES)


def _assert_size(verifiers: Sequence[NamedVerifier], case: SizedScheme, count: int, settings: Settings) -> None:
    sample = next(iter(case_instances(case, 1)))
    for named in verifiers:
        try:
            cost = expected_cost(named, case[1], settings, [(sample.target, sample.draft)])
        except (UnsupportedTree, InvalidVerifier):
            continue  # the cell says so
        check_runs(named, case[1], settings, cost.steps * (count + len(CORNER_CASES)), case[0])


def _card(named: NamedVerifier, cell: Cell) -> str | None:
    """What is to be said about the card: nothing of a scheme that no card can speak of."""
    name = cell.scheme.partition("(")[0]
    declared = name in lossless_for(named.verifier.card)
    return "says otherwise" if name in SCHEMES and declared != (cell.status == "lossless") else None
