"""A named pair of processes: a root context of a text, a member of a family, an instance to judge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

from draftproof.simulator.arithmetic import RATIONAL, Arithmetic
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.protocol import DraftScheme, TokenProcess
from draftproof.simulator.tables import table_entries

#: Cases of at most so many table entries are identified by the hash of their rows, larger ones by their source.
DIGEST_ENTRIES = 5_000


@dataclass(frozen=True)
class Case:
    """A target and a draft with a name.

    weight: the share in averages. title: for people. draft_scheme: None where the case is for no scheme in particular.
    above: where the rows are an approximation whose optimum is a lower bound, rows whose optimum is an upper bound.
    """

    name: str
    target: TokenProcess
    draft: TokenProcess
    weight: Fraction = Fraction(1)
    title: str = ""
    draft_scheme: DraftScheme | None = None
    above: Case | None = None

    @property
    def scheme(self) -> DraftScheme:
        """The draft scheme of the case; raises `InvalidInput` where it has none."""
        if self.draft_scheme is None:
            raise InvalidInput(f"case {self.name!r} is meant for no draft scheme; give it one as draft_scheme")
        return self.draft_scheme

    @cached_property
    def instance(self) -> Instance:
        """The exact rows for trees of its scheme."""
        return self.rows(self.scheme.depth)

    def rows(self, depth: int) -> Instance:
        """The exact rows for trees of this depth; raises `InvalidInput` or `TooLarge` where there are none."""
        return Instance.of(self.target, self.draft, depth, RATIONAL)

    def on(self, scheme: DraftScheme) -> Case:
        """The same case with this scheme."""
        return replace(self, draft_scheme=scheme)

    def converted(self, arithmetic: Arithmetic, depth: int) -> Case:
        """The same case in another arithmetic, for trees of this depth; processes other than Markov ones become tables.

        Raises as `tabulate`.
        """
        if isinstance(self.target, MarkovProcess) and isinstance(self.draft, MarkovProcess):
            pair = self.target.converted(arithmetic, "target"), self.draft.converted(arithmetic, "draft")
            return replace(self, target=pair[0], draft=pair[1])
        cut = Instance.of(self.target, self.draft, depth, arithmetic)
        return replace(self, target=cut.target, draft=cut.draft)

    def identity(self, depth: int, source: object) -> list[object]:
        """What identifies it in the hash of a row: the hash of its rows, or `source` where they are too many."""
        above = [] if self.above is None else [self.above.digest(depth)]
        return [self.digest(depth) or source, self.name, str(self.weight), *above]

    def digest(self, depth: int) -> str | None:
        """Hash of the rows; None where they are too many."""
        small = table_entries(self.target.vocab_size, depth) <= DIGEST_ENTRIES
        return _digest(self, depth) if small else None


@lru_cache(maxsize=1024)
def _digest(case: Case, depth: int) -> str:
    numbers = getattr(case.target, "arithmetic", RATIONAL)
    return Instance.of(case.target, case.draft, depth, numbers).digest()
