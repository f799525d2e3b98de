"""A pair of models after contexts: exact tables, truncated tables and rows, each computed once for all that ask."""

from __future__ import annotations

from collections.abc import Sequence

from draftproof.experiments.models.expect.sums import RootRows
from draftproof.experiments.models.expect.tables import root_case
from draftproof.experiments.models.expect.truncated import REST, Truncated, truncated_tables
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.progress import Progress
from draftproof.simulator.protocol import Context

#: The most numbers in truncated tables; it decides how many tokens are kept.
TRUNCATED_ENTRIES = 60_000


class Contexts:
    """contexts: of equal weight, each of at least one token. Work that a time limit ends leaves nothing behind."""

    def __init__(self, pair: Pair, sampling: Sampling, contexts: Sequence[Context]) -> None:
        self.pair, self.sampling, self.contexts = pair, sampling, tuple(contexts)
        self._cases: dict[bool, tuple[int, list[Case]]] = {}
        self._truncated: dict[int, list[Truncated]] = {}
        self._rows: dict[int, list[RootRows]] = {}

    def __len__(self) -> int:
        return len(self.contexts)

    def cases(self, depth: int, leaf_rows: bool = True, progress: Progress = lambda _: None) -> list[Case]:
        """The tables after each context, at least to this depth; raises as `root_case`, which says what leaf rows are.

        A verifier that goes from the top down accepts the same depths without leaf rows. progress: called with 1 after
        each context.
        """
        if leaf_rows not in self._cases or depth > self._cases[leaf_rows][0]:
            cases = []
            for context in self.contexts:
                cases.append(root_case(self.pair, self.sampling, context, depth, leaf_rows))
                progress(1)
            self._cases[leaf_rows] = depth, cases
        return self._cases[leaf_rows][1]

    def truncated(self, depth: int) -> list[Truncated]:
        """Tables of the most probable tokens; empty where all tokens fit, or not even one does."""
        if depth not in self._truncated:
            kept = int(TRUNCATED_ENTRIES ** (1 / (depth + 1))) - REST
            fit = depth and 1 <= kept < self.pair.vocab_size
            self._truncated[depth] = [
                truncated_tables(self.pair, self.sampling, context, depth, kept) for context in self.contexts if fit
            ]
        return self._truncated[depth]

    def rows(self, entries: int) -> list[RootRows]:
        """Rows after each context, read as they are asked for; entries: the most numbers at one depth."""
        if entries not in self._rows:
            self._rows[entries] = [RootRows.of(self.pair, self.sampling, context, entries) for context in self.contexts]
        return self._rows[entries]
