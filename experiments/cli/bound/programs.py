"""The programs that `bound` solves: one for each root of a world, on one scheme; and the files that it writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from draftproof.experiments.inputs.worlds import GridWorld, World
from draftproof.experiments.result import Column
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

    def weights(self, count: int) -> list[Fraction]:
        """The shares of the first roots, with sum 1."""
        exact = [Fraction(root.weight) for root in self.roots[:count]]
        return [weight / sum(exact) for weight in exact]


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
class Files:
    """The files of one run: of certificates, of a picture, and those that may be read."""

    certificate: str | None
    plot: str | None
    inputs: Sequence[Any]

    def certificates(self, programs: Sequence[Programs]) -> list[tuple[str | None, str | None]]:
        """For each root the file of its certificate, and for one of a cut vocabulary that of its upper bound, `-above`.

        A single root has `certificate` itself, several have it numbered before the suffix. Raises `InvalidInput` for a
        name that is taken.
        """
        roots = [root for each in programs for root in each.roots]
        above = [
            name if root.above else None for root, name in zip(roots, self._named(len(roots), "-above"), strict=True)
        ]
        made = list(zip(self._named(len(roots)), above, strict=True))
        self._check(name for pair in made for name in pair)
        return made

    def one_each(self, count: int) -> list[str | None]:
        """For each of so many the file of its certificate, numbered where there are several."""
        names = self._named(count)
        self._check(names)
        return names

    def _named(self, count: int, middle: str = "") -> list[str | None]:
        if self.certificate is None:
            return [None] * count
        path = Path(self.certificate)
        ends = [middle + (f"-{number}" if count > 1 else "") for number in range(1, count + 1)]
        return [str(path.with_name(f"{path.stem}{end}{path.suffix}")) if end else self.certificate for end in ends]

    def _check(self, names: Iterable[str | None]) -> None:
        given = [name for name in names if name]
        numbered = {f"certificate, file {number}": name for number, name in enumerate(given, start=1)}
        check_files(self.inputs, {"plot": self.plot, **numbered})


def check_note(files: Iterable[str]) -> list[str]:
    """The command that checks the first certificate, as a note; none where there is no certificate."""
    names = list(files)
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return [f"certificate: {names[0]}{more}; check it: draftproof verify {names[0]}"] if names else []
