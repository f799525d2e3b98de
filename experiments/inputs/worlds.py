"""Sources of instances: an instance file, a member of a synthetic family, or a text with its root contexts.

`Samplings` changes their rows as temperature, top-k and others do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any, ClassVar, Protocol

import numpy as np

from draftproof.simulator.arithmetic import RATIONAL, Arithmetic
from draftproof.simulator.errors import cut
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.exact import FLOAT_UNIT
from draftproof.simulator.instances.families import family_named
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.ngram import TextPair
from draftproof.simulator.instances.sampling import Samplings
from draftproof.simulator.protocol import TokenProcess
from draftproof.simulator.tables import table_entries
from draftproof.simulator.verdicts.grids import generic_row, grid, grid_sample, grid_size

#: Samplings that leave the rows as they are.
AS_THEY_ARE = Samplings()
#: Instances of a family are rational up to this number of table entries; larger ones are floats in a float64 run.
EXACT_ENTRIES = 200_000


class World(Protocol):
    """A source of instances. `source`: everything that defines them, for rows and their `strong_id`."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def source(self) -> dict[str, Any]: ...

    @property
    def kind(self) -> str:
        """What it is made of: family, text, file, grid, rows, strings or models."""
        ...

    def cases(self, depth: int, arithmetic: Arithmetic) -> list[Case]:
        """The roots for trees of this depth, with weights that sum to 1; rational unless they are too large."""
        ...

    def __str__(self) -> str: ...


def samplings_of(problem: World) -> Samplings:
    """How tokens of a source are drawn, from models too."""
    sampled: Samplings = problem.samplings  # type: ignore[attr-defined]
    return sampled


def told_note(problem: World | None) -> str:
    """A line where verifiers are told another q than tokens are drawn from, else ""."""
    if problem is None:
        return ""
    of_file = isinstance(problem, FileWorld) and problem.instance.draft.told is not None
    if not (of_file or samplings_of(problem).tells_another_q):
        return ""
    return "Verifiers that read q are told another one than drafts come from: what their cards promise does not apply."


@dataclass(frozen=True)
class FileWorld:
    """One instance file. digest: of the file."""

    path: str
    instance: Instance
    digest: str
    samplings: Samplings = AS_THEY_ARE

    kind: ClassVar[str] = "file"

    @property
    def vocab_size(self) -> int:
        return self.instance.vocab_size

    @property
    def source(self) -> dict[str, Any]:
        """See `World`: rows name the file, so another one with the same content has rows of its own."""
        return {"instance": self.path, "instance_hash": self.digest, **self.samplings.source}

    def cases(self, depth: int, arithmetic: Arithmetic) -> list[Case]:
        exact = self.instance.target.arithmetic.exact
        cut = self.instance.converted(RATIONAL if exact else arithmetic, depth)
        return self.samplings.cases([Case(self.path, cut.target, cut.draft)], depth, FLOAT_UNIT)

    def __str__(self) -> str:
        return f"instance {self.path}, V = {self.vocab_size}{_sampling_text(self.samplings, FLOAT_UNIT)}"


@dataclass(frozen=True)
class FamilyWorld:
    """A member of a synthetic family; the rows of a shallow tree are the first rows of a deeper one."""

    family: str
    vocab_size: int
    seed: int
    denominator: int
    parameters: Mapping[str, float] = field(default_factory=dict)
    samplings: Samplings = AS_THEY_ARE

    kind: ClassVar[str] = "family"

    @property
    def source(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "vocab_size": self.vocab_size,
            "seed": self.seed,
            "denominator": self.denominator,
            **self.parameters,
            **self.samplings.source,
        }

    def cases(self, depth: int, arithmetic: Arithmetic) -> list[Case]:
        return [self.member(self.seed, depth, arithmetic)]

    def member(self, seed: int, depth: int, arithmetic: Arithmetic) -> Case:
        """The instance of any seed."""
        family = family_named(self.family)
        numbers = RATIONAL if table_entries(self.vocab_size, depth) <= EXACT_ENTRIES else arithmetic
        made = family.instance(
            self.vocab_size, depth, np.random.default_rng(seed), self.denominator, numbers, **self.parameters
        )
        return self.samplings.cases([Case(f"seed {seed}", made.target, made.draft)], depth, self.denominator)[0]

    def __str__(self) -> str:
        given = "".join(f", {key} = {value:g}" for key, value in self.parameters.items())
        sampling = _sampling_text(self.samplings, self.denominator)
        return f"family {self.family}{given}, V = {self.vocab_size}, seed {self.seed}{sampling}"


@dataclass(frozen=True)
class TextWorld:
    """An n-gram pair from a text, at its most frequent root contexts or at one given."""

    name: str
    pair: TextPair
    root: str | None = None
    count: int = 8
    samplings: Samplings = AS_THEY_ARE

    kind: ClassVar[str] = "text"

    @property
    def vocab_size(self) -> int:
        return self.pair.vocab_size

    @property
    def source(self) -> dict[str, Any]:
        """See `World`: the text stands there by its hash."""
        return {
            "text": self.name,
            "text_hash": self.pair.digest,
            "vocab_size": self.vocab_size,
            "target_order": self.pair.target_order,
            "draft_order": self.pair.draft_order,
            "denominator": self.pair.denominator,
            **({"roots": self.count} if self.root is None else {"root": self.root}),
            **self.samplings.source,
        }

    def cases(self, depth: int, arithmetic: Arithmetic) -> list[Case]:
        if self.root is not None:
            contexts = [(self.pair.root_of(self.root), Fraction(1))]
        else:
            contexts = self.pair.frequent_roots(self.count)
        made = [Case(self.pair.show(context), *self.pair.processes(context), weight) for context, weight in contexts]
        symbols = self.pair.show(tuple(range(self.pair.vocab_size)))
        return self.samplings.cases(made, depth, self.pair.denominator, symbols)

    def __str__(self) -> str:
        roots = f"root {cut(repr(self.root))}" if self.root is not None else f"{self.count} most frequent roots"
        return (
            f"text {self.name} (sha256 {self.pair.digest}), V = {self.vocab_size}, "
            f"order-{self.pair.target_order} target, order-{self.pair.draft_order} draft, "
            f"{roots}{_sampling_text(self.samplings, self.pair.denominator)}"
        )


@dataclass(frozen=True)
class GridWorld:
    """Every p and q in multiples of 1/denominator; the target after the last drafted token is one generic row."""

    vocab_size: int
    denominator: int
    samplings: ClassVar[Samplings] = AS_THEY_ARE

    kind: ClassVar[str] = "grid"

    @property
    def source(self) -> dict[str, Any]:
        return {"grid": self.denominator, "vocab_size": self.vocab_size}

    def size(self, depth: int) -> int:
        """The number of its cases; raises `TooLarge` where that has more than a thousand digits."""
        return grid_size(self.vocab_size, depth, self.denominator)

    def each(self, depth: int) -> Iterator[Case]:
        """Its cases, one by one."""
        for number, made in enumerate(grid(self.vocab_size, depth, self.denominator), 1):
            yield Case(f"grid instance {number:,}", made.target, made.draft)

    def sample(self, depth: int) -> list[Case]:
        """A few of its cases, drawn with a fixed seed."""
        random = Random(0)
        made = (grid_sample(self.vocab_size, depth, self.denominator, random) for _ in range(24))
        return [Case("grid instance", instance.target, instance.draft) for instance in made]

    def cases(self, depth: int, arithmetic: Arithmetic) -> list[Case]:
        return list(self.each(depth))

    def __str__(self) -> str:
        row = ", ".join(map(str, generic_row(self.vocab_size)))
        return (
            f"every p and q with probabilities in multiples of 1/{self.denominator}, V = {self.vocab_size}; "
            f"the target after the last drafted token is fixed at ({row})"
        )


@dataclass(frozen=True)
class RowsWorld:
    """Two processes given in Python."""

    target: TokenProcess
    draft: TokenProcess
    samplings: Samplings = AS_THEY_ARE

    kind: ClassVar[str] = "rows"

    @property
    def vocab_size(self) -> int:
        return self.target.vocab_size

    @property
    def source(self) -> dict[str, Any]:
        """See `World`; the rows themselves are in the identity of its case where they are few."""
        return {"rows": [str(self.target), str(self.draft)], **self.samplings.source}

    def cases(self, depth: int, arithmetic: Arithmetic) -> list[Case]:
        return self.samplings.cases([Case("the pair", self.target, self.draft)], depth, FLOAT_UNIT)

    def __str__(self) -> str:
        return f"two processes, V = {self.vocab_size}{_sampling_text(self.samplings, FLOAT_UNIT)}"


def _sampling_text(samplings: Samplings, denominator: int) -> str:
    """The sampling in the text of a source."""
    return (
        "" if samplings.is_identity else f", {samplings.description(f', rows rounded to multiples of 1/{denominator}')}"
    )
