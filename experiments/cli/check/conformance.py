"""`draftproof check --world conformance`: verifiers on the conformance instances of draft schemes, all enumerated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from draftproof.experiments.cli.check.views import CONFORMANCE, Found, words
from draftproof.experiments.grid.cost import check_runs, expected_cost
from draftproof.experiments.inputs.grammar import parse_assignments
from draftproof.experiments.inputs.schemes import Schemes, as_scheme
from draftproof.experiments.inputs.verifiers import NamedVerifier, Settings
from draftproof.experiments.shared.progress import bar
from draftproof.simulator.drafts import SCHEMES, UserScheme, lossless_for
from draftproof.simulator.errors import InvalidInput, InvalidVerifier, UnsupportedTree
from draftproof.simulator.instances.families import CORNER_CASES
from draftproof.simulator.verdicts.cases import CASES, SizedScheme, case_instances
from draftproof.simulator.verdicts.compatibility import Cell, compatibility

#: Vocabulary sizes of the cases of a scheme that is given with its parameters or as a file.
SIZES = (2, 3)


def on_conformance(
    verifiers: Sequence[NamedVerifier], schemes: Schemes | None, world: str, settings: Settings
) -> Iterator[Found]:
    """What each verifier shows on each scheme, until an instance refutes it. schemes: None for all.

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
    with bar("cells", len(verifiers) * len(columns)) as tick:
        for named in verifiers:
            cells: list[Cell] = []
            for name, cases in columns:
                try:
                    cells.append(compatibility(named.verifier, name, count, cases))
                except KeyboardInterrupt:
                    row = {"scheme": name, "verdict": "UNFINISHED, no verdict", "world": world}
                    yield from (_found(named, cell, world) for cell in cells)
                    yield Found(named, "unfinished", row)
                tick(1)
            if named.from_file and all(cell.error and cell.status != "refuted" for cell in cells):
                raise InvalidVerifier(f"{named.label} on {cells[0].scheme}: {cells[0].error}")
            yield from (_found(named, cell, world) for cell in cells)


def _found(named: NamedVerifier, cell: Cell, world: str) -> Found:
    """A cell; its card is told where it says otherwise, and where a card can speak of the scheme."""
    scheme = cell.scheme.partition("(")[0]
    declared = scheme in lossless_for(named.verifier.card)
    row = {
        "scheme": cell.scheme,
        "verdict": words(cell.status, "rational", "proved for the instances checked"),
        "fails": cell.error,
        "world": world,
        "instances": cell.instances,
        "arithmetic": "rational",
        "engine": "enumerate",
        "card": "says otherwise" if scheme in SCHEMES and declared != (cell.status == "lossless") else None,
        "lossless": cell.status == "lossless",
    }
    return Found(named, cell.status, row, witness=cell.witness, saved=False)


def _instances(world: str) -> int:
    """The number of random instances of a case."""
    given = parse_assignments(world.partition(":")[2], CONFORMANCE, world)
    text = given.pop("instances", "8")
    if given or not text.isdecimal() or text == "0":
        raise InvalidInput(
            f"{world!r}: write {CONFORMANCE}, or {CONFORMANCE}:instances=8 with the random instances of each case"
        )
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
