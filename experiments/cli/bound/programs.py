"""The programs that `bound` solves: one for each root of a world, on one scheme; their rows and certificates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from draftproof.experiments.cli.answers import answers
from draftproof.experiments.grid.machines import Machines
from draftproof.experiments.grid.rows import mixture, row_id
from draftproof.experiments.grid.store import Row
from draftproof.experiments.inputs.worlds import GridWorld, World
from draftproof.experiments.result import Column, Result, number_of
from draftproof.experiments.shared.output import check_files
from draftproof.lp_analysis.problem import assert_size
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.protocol import DraftScheme

#: The first columns of every table: see `Programs.place`.
PLACE = (Column("world"), Column("scheme"))


@dataclass(frozen=True)
class Programs:
    """Those of one world and scheme. roots: `Case.above` bounds the optimum of delayed trees only.

    cut: whether the rows are those of a cut vocabulary.
    """

    world: World
    scheme: DraftScheme
    roots: list[Case]
    cut: bool

    @property
    def place(self) -> dict[str, str]:
        """World and scheme, for rows."""
        return {"world": str(self.world), "scheme": str(self.scheme)}

    def mean(self, values: Sequence[Any]) -> Fraction | float:
        """The mean over the first roots, which have these values, by their weights."""
        weights = [Fraction(root.weight) for root in self.roots[: len(values)]]
        return mixture([weight / sum(weights) for weight in weights], [number_of(value) for value in values])


def programs_of(cells: Iterable[tuple[World, DraftScheme]]) -> list[Programs]:
    """The programs of each world on its scheme.

    Raises `TooLarge`, and `InvalidInput` for a grid and where verifiers are told another q.
    """
    made = []
    for world, scheme in cells:
        if isinstance(world, GridWorld):
            raise InvalidInput("a grid has no roots to take a mean over; it is for check")
        assert_size(world.vocab_size, scheme)
        cases = world.cases(scheme.depth, RATIONAL)
        if any(getattr(case.draft, "told", None) is not None for case in cases):
            raise InvalidInput(
                f"{world}: told plants a mistake in what verifiers are told; a bound is about all of them"
            )
        roots = cases if isinstance(scheme, Delayed) else [replace(case, above=None) for case in cases]
        made.append(Programs(world, scheme, roots, cases[0].above is not None))
    return made


@dataclass(frozen=True)
class Run:
    """How the programs are solved and where rows and certificates go. inputs: files that may be read.

    certificate: the file of what proves the bounds; of several programs each has its own, numbered.
    """

    machines: Machines
    resume: str | None
    certificate: str | None
    plot: str | None
    inputs: Sequence[Any]

    def rows(
        self, programs: Sequence[Programs], compute: Any, *shared: Any, **settings: Any
    ) -> tuple[list[list[Row]], Callable[[Result], Result]]:
        """The rows of the roots of each world and scheme, and what makes the result from theirs; see `answers`.

        compute: gives the row of one root. settings: what decides a row, beside its program and whether there is a
        certificate in it.
        """
        cells = [(each, place) for each, own in enumerate(programs) for place in range(len(own.roots))]
        certified = self.certificate is not None
        name = partial(_name, programs, compute.__name__, {**settings, "certificate": certified})
        how: Any = {"kind": "root", "name": name, "resume": self.resume, "machines": self.machines}
        found = answers(cells, compute, programs, certified, *shared, **how)
        return [
            [row for (number, _), row in found.rows if number == each] for each in range(len(programs))
        ], found.result

    def certificates(self, count: int, middle: str = "") -> list[str | None]:
        """For each of so many programs the file of its certificate, with numbers where there are several.

        Raises `InvalidInput` for a name that is taken.
        """
        if self.certificate is None:
            return [None] * count
        path = Path(self.certificate)
        ends = [middle + (f"-{number}" if count > 1 else "") for number in range(1, count + 1)]
        names = [str(path.with_name(f"{path.stem}{end}{path.suffix}")) if end else self.certificate for end in ends]
        numbered = {f"certificate, file {number}": name for number, name in enumerate(names, start=1)}
        check_files(self.inputs, {"plot": self.plot, **numbered})
        return [*names]


def _name(programs: Sequence[Programs], work: str, settings: dict[str, Any], cell: tuple[int, int]) -> str:
    own = programs[cell[0]]
    return row_id(work, {**own.world.source, "root": cell[1]}, own.scheme, **settings)


def check_note(files: Iterable[str]) -> list[str]:
    """The command that checks the first certificate, as a note; none where there is no certificate."""
    names = list(files)
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return [f"certificate: {names[0]}{more}; check it: draftproof verify {names[0]}"] if names else []
