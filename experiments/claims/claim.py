"""A claim: its card, the test that decides it, and a false variant that the same test must refute.

An `Exact` claim is about every instance and scheme of its cases; one failure refutes it. A `Measured` claim is about
figures over instances. An `Open` claim cannot be decided by these tests and says why.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme, Source
from draftproof.simulator.verdicts.cases import SizedScheme, case_instances

HOLDS, REFUTED, MEASURED, OPEN = "holds", "refuted", "measured", "cannot be decided here"
#: Placeholders in commands: the file of the instance, and the folder of this module.
INSTANCE, HERE = "{file}", "{here}"
#: `--deep` tests this many times the random instances.
DEEP = 20
Command: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """The result of a statement on one instance.

    text: the values where it fails. applies: whether the statement is about such an instance. commands: commands that
    show the failure, with `INSTANCE` for the instance.
    """

    holds: bool
    text: str = ""
    commands: tuple[Command, ...] = ()
    applies: bool = True


class Statement(Protocol):
    """A statement about an instance and a draft scheme."""

    def evaluate(self, instance: Instance, scheme: DraftScheme) -> Outcome:
        """Whether the statement holds there."""
        ...

    def refuted_by(self, outputs: list[dict[str, Any]]) -> bool:
        """Whether the failure can be read from `outputs`, the JSON output of the commands of a failed `Outcome`."""
        ...


@dataclass(frozen=True)
class Cases:
    """The instances of a claim: for each vocabulary size and scheme the corner cases and `count` random instances.

    for_deep: further sizes and schemes for `--deep`. only: names of families, all where it is empty.
    """

    shapes: tuple[SizedScheme, ...]
    count: int = 4
    for_deep: tuple[SizedScheme, ...] = ()
    only: tuple[str, ...] = ()

    def all_shapes(self, deep: bool) -> tuple[SizedScheme, ...]:
        """The shapes, with those of `--deep`."""
        return (*self.shapes, *self.for_deep) if deep else self.shapes

    def instances(self, case: SizedScheme, deep: bool) -> Iterator[Instance]:
        """The instances of one shape."""
        made = case_instances(case, self.count * (DEEP if deep else 1))
        return (item for item in made if not self.only or item.about["family"] in self.only)


@dataclass(frozen=True)
class Figures:
    """A measurement. shown: whether it agrees with the claim. text: the numbers. instances: how many, of `families`."""

    shown: bool
    text: str
    instances: int
    families: tuple[str, ...]


#: `measure(n)`: figures over `n` times the usual number of instances.
Measure: TypeAlias = Callable[[int], Figures]


@dataclass(frozen=True)
class Variant:
    """A variant of a claim, with its test: a false one, or a true one for a claim that is refuted.

    test: a statement, or a measure. cases: None for those of the claim.
    """

    words: str
    test: Any
    cases: Cases | None = None


@dataclass(frozen=True)
class Claim:
    """The card of a claim. id: its name; words: the statement."""

    id: str
    source: Source
    words: str

    @property
    def expected(self) -> str:
        """The status that earlier runs have found."""
        raise NotImplementedError


@dataclass(frozen=True)
class Exact(Claim):
    """A claim about every instance of its cases.

    true_variant: only for a claim that is refuted: a true statement, which the test must not refute. note: what the
    verdict means. keep_unshrunk: whether the refuting instance is not shrunk.
    """

    test: Statement
    cases: Cases
    false_variant: Variant
    true_variant: Variant | None = None
    note: str = ""
    keep_unshrunk: bool = False

    @property
    def expected(self) -> str:
        """See `Claim`: refuted where there is a true variant."""
        return HOLDS if self.true_variant is None else REFUTED


@dataclass(frozen=True)
class Measured(Claim):
    """A claim about figures. false_variant: a variant with which the figures must disagree."""

    measure: Measure
    false_variant: Variant
    note: str = ""

    @property
    def expected(self) -> str:
        return MEASURED


@dataclass(frozen=True)
class Open(Claim):
    """A claim that the tests cannot decide. why: what is missing, and what is known."""

    why: str = field(default="")

    @property
    def expected(self) -> str:
        return OPEN
