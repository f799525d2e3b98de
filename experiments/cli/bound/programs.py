"""The programs that `bound` solves: one for each root of a world, on one scheme; their rows and certificates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

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

#: What proves the bounds of a root, and those of `Case.above`: the end of the field's name, and of the file's.
PROOFS = {"": "", "_above": "-above"}
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

    def mean(self, rows: Sequence[Row], key: str) -> Fraction | float:
        """The mean of a number over the roots that have rows, by their weights."""
        weights = [Fraction(self.roots[row["place"]].weight) for row in rows]
        return mixture([weight / sum(weights) for weight in weights], [number_of(row[key]) for row in rows])


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


class Solved(NamedTuple):
    """The rows of the roots of each world and scheme that are done, in order, and the files of their certificates.

    finished: makes the result that is returned, or where some rows are missing raised; see `Answers.result`.
    """

    rows: list[list[Row]]
    files: dict[str, str | bytes]
    finished: Callable[[Result], Result]


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

    def solved(self, programs: Sequence[Programs], compute: Any, *shared: Any, **settings: Any) -> Solved:
        """The rows of the roots of each world and scheme, with certificates; see `answers`.

        compute: gives the row of one root. settings: what decides a row, beside its program and whether there is a
        certificate in it. Raises `InvalidInput`, before the work, for a certificate whose name is taken.
        """
        cells = [(number, place) for number, own in enumerate(programs) for place in range(len(own.roots))]
        names = {proof: self._certificates(len(cells), middle) for proof, middle in PROOFS.items()}
        certified = self.certificate is not None
        name = partial(_name, programs, compute.__name__, {**settings, "certificate": certified})
        how: Any = {"kind": "root", "name": name, "resume": self.resume, "machines": self.machines}
        done = answers(cells, compute, programs, certified, *shared, **how)
        rows, files = [list[Row]() for _ in programs], dict[str, str | bytes]()
        for (number, place), row in done.rows:
            own = {**row, "place": place}
            for proof in (proof for proof in PROOFS if f"proof{proof}" in row):
                own[f"certificate{proof}"] = file = names[proof][cells.index((number, place))]
                files[file] = row[f"proof{proof}"]
            rows[number].append(own)
        return Solved(rows, files, done.result)

    def _certificates(self, count: int, middle: str) -> list[str]:
        """For each of so many programs the file of its certificate, with numbers where there are several."""
        if self.certificate is None:
            return []
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
