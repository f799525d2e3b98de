"""`draftproof check --world conformance`: verifiers on the conformance instances of draft schemes, all enumerated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from draftproof.experiments.cli.check.views import CONFORMANCE, checked_row, words
from draftproof.experiments.grid.cost import check_runs, expected_cost
from draftproof.experiments.grid.store import Row
from draftproof.experiments.inputs.grammar import parse_assignments
from draftproof.experiments.inputs.schemes import Schemes, as_scheme
from draftproof.experiments.inputs.verifiers import NamedVerifier, Settings
from draftproof.simulator.drafts import SCHEMES, UserScheme, lossless_for
from draftproof.simulator.errors import InvalidInput, InvalidVerifier, UnsupportedTree
from draftproof.simulator.instances.families import CORNER_CASES
from draftproof.simulator.verdicts.cases import CASES, SizedScheme, case_instances
from draftproof.simulator.verdicts.compatibility import compatibility

#: Vocabulary sizes of the cases of a scheme that is given with its parameters or as a file.
SIZES = (2, 3)
#: The name of a scheme, and its cases.
NamedCases: TypeAlias = tuple[str, tuple[SizedScheme, ...]]


def on_conformance(about: tuple[NamedVerifier, NamedCases], count: int) -> Row:
    """The row of a verifier on a scheme, until an instance refutes it.

    Its card is told where it says otherwise, and where a card can speak of the scheme.
    """
    named, (name, cases) = about
    cell = compatibility(named.verifier, name, count, cases)
    scheme = name.partition("(")[0]
    declared = scheme in lossless_for(named.verifier.card)
    fields = {
        "scheme": name,
        "verdict": words(cell.status, "rational", "proved for the instances checked"),
        "fails": cell.error,
        "world": f"{CONFORMANCE}:instances={count}",
        "instances": cell.instances,
        "arithmetic": "rational",
        "engine": "enumerate",
        "card": "says otherwise" if scheme in SCHEMES and declared != (cell.status == "lossless") else None,
        "lossless": cell.status == "lossless",
    }
    return checked_row(named, cell.status, fields, cell.witness)


def columns_of(
    schemes: Schemes | None, verifiers: Sequence[NamedVerifier], count: int, settings: Settings
) -> list[NamedCases]:
    """The schemes with their cases; None for all. Raises `TooLarge` where a verifier has too many runs on one.

    A name of a scheme has the cases on which verifiers that declare it are tested.
    """
    listed = list(SCHEMES) if schemes is None else schemes
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        listed = [listed]
    columns = [_column(scheme) for scheme in listed]
    for _, cases in columns:
        for case in cases:
            _assert_size(verifiers, case, count, settings)
    return columns


def random_instances(world: Any) -> int | None:
    """The number of random instances of a case, as `conformance:instances=8` says it; None for another world."""
    if not isinstance(world, str) or world.partition(":")[0] != CONFORMANCE:
        return None
    given = parse_assignments(world.partition(":")[2], CONFORMANCE, world)
    text = given.pop("instances", "8")
    if given or not text.isdecimal() or text == "0":
        raise InvalidInput(
            f"{world!r}: write {CONFORMANCE}, or {CONFORMANCE}:instances=8 with the random instances of each case"
        )
    return int(text)


def _column(scheme: Any) -> NamedCases:
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
