"""A pair of models as a problem of the exact commands: its own rows of p and q after root contexts of a text.

`V` is the number of tokens of the tables. A vocabulary of more than `FULL` tokens is cut: at every context the `V - 4`
most probable tokens are kept and four more stand for all others. Block efficiencies on such tables are those of a
verifier of the whole vocabulary, and a second instance bounds every other verifier from above (`truncated`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from draftproof.experiments.grid.rows import strong_id
from draftproof.experiments.inputs.worlds import EXACT_ENTRIES
from draftproof.experiments.models.expect.tables import pair_tables
from draftproof.experiments.models.expect.truncated import REST, truncated_tables
from draftproof.experiments.models.pair.devices import model_versions
from draftproof.experiments.models.pair.opened import Opened
from draftproof.experiments.models.pair.pair import Pair, pair_digest
from draftproof.experiments.models.pair.roots import Roots, context_of
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, Arithmetic
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.exact import FLOAT_UNIT
from draftproof.simulator.instances.processes import rationalise, telling
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Context
from draftproof.simulator.tables import TableProcess, table_entries

#: Vocabularies of at most `FULL` tokens are not cut; the tables of larger ones have `CUT` tokens.
FULL, CUT = 32, 8
#: The default number of root contexts.
ROOTS = 4


@dataclass(frozen=True)
class ModelsWorld:
    """A pair of models after contexts of a text, each of equal weight.

    names: of both models. digest: hash of their weights, precision, device and library versions. pair: None in another
    process, which gets tables computed before. given: the root contexts; words: their names; text_hash: of the text or
    the file of prompts that they come from. vocab_size: `V` of the tables; full_vocab_size: `V` of the pair.
    denominator: exact rows are rounded to multiples of 1/denominator; None: to multiples of `2^-52`, which keeps the
    float64 rows. Raises `InvalidInput` for a `V` that the vocabulary does not have.
    """

    pair: Pair | None
    names: tuple[str, str]
    digest: str
    vocab_size: int
    full_vocab_size: int
    samplings: Sampling
    root_set: Roots
    words: tuple[str, ...]
    text_hash: str
    denominator: int | None = None
    tables: dict[int, list[Case]] = field(default_factory=dict, compare=False)

    kind: ClassVar[str] = "models"

    def __post_init__(self) -> None:
        if not 2 <= self.vocab_size <= self.full_vocab_size:
            raise InvalidInput(
                f"vocab {self.vocab_size}: the pair has {self.full_vocab_size} tokens; take 2 of them to all"
            )
        if self.cut and self.vocab_size <= REST:
            raise InvalidInput(
                f"vocab {self.vocab_size}: {REST} tokens of the tables stand for those that are not kept; take at "
                f"least {REST + 1}, or all {self.full_vocab_size}"
            )

        if self.cut and self.samplings.tells_another_q:
            raise InvalidInput(
                f"told needs tables of all {self.full_vocab_size:,} tokens, as a verifier that is told another q is "
                f"another one behind a cut of the vocabulary; add vocab={self.full_vocab_size} where that fits"
            )

    @property
    def contexts(self) -> tuple[Context, ...]:
        return self.root_set.contexts

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of the prompts that roots come from; empty where they come from a text."""
        return self.root_set.groups

    @property
    def cut(self) -> bool:
        return self.full_vocab_size > self.vocab_size

    def __getstate__(self) -> dict[str, Any]:
        """The state for other processes, without the models."""
        return {**self.__dict__, "pair": None}

    @property
    def source(self) -> dict[str, Any]:
        return {
            "pair": self.digest,
            "text_hash": self.text_hash,
            "vocab_size": self.vocab_size,
            "warp": self.samplings.as_dict(),  # the name is part of the key of stored rows
            "roots": [list(context) for context in self.contexts],
            "denominator": FLOAT_UNIT if self.denominator is None else self.denominator,
            **({"rest": REST} if self.cut else {}),
        }

    def cases(self, depth: int, arithmetic: Arithmetic) -> list[Case]:
        exact = arithmetic.exact or table_entries(self.vocab_size, depth) <= EXACT_ENTRIES
        return [self._rounded(case, RATIONAL if exact else FLOAT64) for case in self._tables(max(depth, 1))]

    def _rounded(self, case: Case, arithmetic: Arithmetic) -> Case:
        """The same rows in this arithmetic; rounded to multiples of 1/denominator they bound no whole vocabulary."""
        return replace(
            case,
            target=self._process(case.target, arithmetic),
            draft=self._process(case.draft, arithmetic),
            above=None if case.above is None or self.denominator else self._rounded(case.above, arithmetic),
        )

    def _process(self, process: Any, arithmetic: Arithmetic) -> TableProcess:
        """Tables in this arithmetic, with those that verifiers are told."""
        grain = self.denominator or (FLOAT_UNIT if arithmetic.exact else None)
        tables = [rows if grain is None else rationalise(rows, grain, arithmetic) for rows in process.tables]
        told = None if process.told is None else self._process(process.told, arithmetic)
        return telling(TableProcess(tables, process.name), told)

    def _tables(self, depth: int) -> list[Case]:
        """The rows of both models after each context, float64."""
        if depth not in self.tables:
            self.tables[depth] = self._cut_tables(depth) if self.cut else self._whole_tables(depth)
        return self.tables[depth]

    def _whole_tables(self, depth: int) -> list[Case]:
        pair = self._read_pair(depth)
        return [
            Case(word, *pair_tables(pair, self.samplings, root, depth), self._weight)
            for word, root in zip(self.words, self.contexts, strict=True)
        ]

    def _cut_tables(self, depth: int) -> list[Case]:
        """Prints with which probability a path leaves the tokens that are kept."""
        pair, kept = self._read_pair(depth), self.vocab_size - REST
        cut = [truncated_tables(pair, self.samplings, root, depth, kept) for root in self.contexts]
        target, draft = (
            float(np.mean([by_depth[-1] for by_depth in by_root]))
            for by_root in ([tables.outside_target for tables in cut], [tables.outside_draft for tables in cut])
        )
        remark(
            f"{kept} tokens kept at each context, {REST} for the rest: a path of {depth} leaves those kept with "
            f"probability {target:.3g} in the target and {draft:.3g} in the draft; {self._scope_note}"
        )
        return [
            Case(word, tables.target, tables.draft, self._weight, above=Case(word, *tables.above, self._weight))
            for word, tables in zip(self.words, cut, strict=True)
        ]

    @property
    def _weight(self) -> Fraction:
        return Fraction(1, len(self.contexts))

    def _read_pair(self, depth: int) -> Pair:
        if self.pair is None:
            raise InvalidInput(f"tables of depth {depth} were not made before the work was shared out; use --jobs 1")
        return self.pair

    @property
    def _scope_note(self) -> str:
        everything = f"all {self.full_vocab_size:,} tokens"
        if self.denominator is not None:
            return f"rounded to multiples of 1/{self.denominator}, they prove nothing about {everything}"
        return (
            f"on delayed trees they are the numbers of a verifier behind this cut with {everything}; "
            "on other schemes they hold for these tables only"
        )

    def __str__(self) -> str:
        size = f"V = {self.vocab_size}"
        if self.cut:
            size += f" (of {self.full_vocab_size:,}; the last {REST} stand for all others)"
        roots = f"root {self.words[0]!r}" if len(self.contexts) == 1 else str(self.root_set)
        return f"target {self.names[0]}, draft {self.names[1]}, {size}, {self.samplings}, {roots}"


def pair_problem(
    opened: Opened,
    samplings: Sampling,
    size: int | None = None,
    count: int | None = None,
    root: str | None = None,
    denominator: int | None = None,
) -> ModelsWorld:
    """The problem after `count` prompts or contexts of a text, or after the one text `root`.

    size: `V` of the tables; by default the whole vocabulary up to `FULL` tokens, else `CUT`. Raises `InvalidInput`.
    """
    pair = opened.pair
    if root == "":
        raise InvalidInput("root is empty; give at least one character of the text before the root")
    given = opened.roots(count, ROOTS) if root is None else Roots((context_of(pair, root, opened.context),), "root")
    if size is None:
        size = pair.vocab_size if pair.vocab_size <= FULL else CUT
    computed = {"dtype": str(pair.dtype), "device": pair.device.type, "versions": model_versions()}
    fields = {"pair": pair_digest(pair), **computed}
    words = given.names or tuple(pair.decode(context[len(pair.begins) :]) for context in given.contexts)
    if root is not None and words[0] != root:
        remark(f"root {root!r} is taken as {words[0]!r}: so the tokenizer reads it")
    return ModelsWorld(
        pair,
        pair.names,
        strong_id(fields),
        size,
        pair.vocab_size,
        samplings,
        given,
        words,
        opened.corpus.digest if opened.prompts is None else opened.prompts.digest,
        denominator,
    )
