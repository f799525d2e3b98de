"""Drafts of a pair whose draft itself writes by speculative decoding, many side by side.

A small model drafts some tokens, the draft of the pair (the middle model) reads them in one pass, block verification
accepts some and corrects, until the path is as long as the scheme says. The tokens that a lossless verifier writes have
the middle model's law after every accepted context, so the path is one drawn from the middle model's rows, which are
what the target's verifier gets ([sun2024block], algorithm 2, with the middle model as the target).

The middle model's pass gives one token more than was accepted, so the small model drafts at most one token less than
are missing. Rejected tokens stay in both caches, hidden, until the target has verified the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from draftproof.experiments.models.loop.caches import ModelCache, prompt_cache
from draftproof.experiments.models.loop.drafting import Drafted
from draftproof.experiments.models.loop.reading import Reading
from draftproof.experiments.models.loop.vectors import RowsOf, TextSoFar, TreeRows
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Coin, Context, DraftScheme, Vector
from draftproof.verifiers import make


@dataclass(frozen=True)
class ChainCache:
    """The caches of both models. behind: for each sequence the tokens that the middle one has read, the small not."""

    middle: ModelCache
    small: ModelCache
    behind: tuple[Context, ...]

    @classmethod
    def of_prompt(cls, chain: Any, tokens: Sequence[int], device: Any) -> ChainCache:
        """Both models read the tokens of one sequence."""
        return cls(prompt_cache(chain, tokens, device), prompt_cache(chain.small, tokens, device), ((),))

    @classmethod
    def joined(cls, parts: Sequence[ChainCache]) -> ChainCache:
        return cls(
            ModelCache.joined([part.middle for part in parts]),
            ModelCache.joined([part.small for part in parts]),
            tuple(tokens for part in parts for tokens in part.behind),
        )

    def repeated(self, copies: int) -> ChainCache:
        return ChainCache(self.middle.repeated(copies), self.small.repeated(copies), self.behind * copies)

    def only(self, places: Sequence[int]) -> ChainCache:
        behind = tuple(self.behind[place] for place in places)
        return ChainCache(self.middle.only(places), self.small.only(places), behind)


@dataclass(frozen=True)
class ChainReading:
    """What both models read for `B` paths; as `Reading`, after the block."""

    middle: Reading
    small: Reading

    def kept(self, accepted: Sequence[Context]) -> tuple[ChainCache, list[Context]]:
        """The caches with only the accepted contexts, and for each sequence what the middle model has not read."""
        middle, unread = self.middle.kept(accepted)
        small, more = self.small.kept(accepted)
        behind = tuple(all_[: len(all_) - len(own)] for all_, own in zip(more, unread, strict=True))
        return ChainCache(middle, small, behind), unread


def is_single_path(scheme: DraftScheme) -> bool:
    """Whether trees are single paths of one length."""
    return type(scheme) is Delayed and scheme.K == 1


def assert_single_path(scheme: DraftScheme) -> None:
    """Raises `InvalidInput` for trees that a chain does not draft."""
    if not is_single_path(scheme):
        raise InvalidInput(
            f"{scheme}: a chain drafts one path of one length; give such trees: --K 1 --L2 4, or Delayed(1, 0, 4)"
        )


def draft_chains(
    chain: Any,
    before: ChainCache,
    waiting: Sequence[Context],
    depth: int,
    rows_of: RowsOf,
    coins: Sequence[Coin],
    texts: Sequence[TextSoFar] = (),
    told_of: RowsOf | None = None,
) -> Drafted:
    """One path of `depth` tokens a sequence, with the middle model's law; arguments as for `draft_trees`.

    chain: the draft of the pair. waiting: what its middle model has not read. Both models are sampled alike.
    """
    unread = [(*behind, *own) for behind, own in zip(before.behind, waiting, strict=True)]
    middle = _Rows(Reading(chain, before.middle, waiting), rows_of, texts, told_of)
    small = _Rows(Reading(chain.small, before.small, unread), rows_of, texts)
    verifier = make("block")
    paths: list[Context] = [()] * len(waiting)
    while any(len(path) < depth for path in paths):
        drafts = _drafted(small, paths, [min(chain.length, depth - len(path) - 1) for path in paths], coins)
        middle.read([draft if len(path) < depth else None for path, draft in zip(paths, drafts, strict=True)])
        for each, (path, draft) in enumerate(zip(paths, drafts, strict=True)):
            if len(path) < depth:
                tree = DraftTree.from_paths((), [draft[len(path) :]])
                verdict = verifier.verify(tree.root(middle.after(each, path), small.after(each, path)), coins[each])
                paths[each] = (*path, *map(int, verdict.accepted), int(verdict.correction))
    size = rows_of.vocab_size
    rows = [TreeRows(size, known) for known in middle.known]
    return Drafted(
        trees=[DraftTree.from_paths((), [path]) for path in paths],
        rows=rows,
        reading=ChainReading(middle.reading, small.reading),
        passes=middle.passes,
        told=[TreeRows(size, known) for known in middle.told] if told_of else rows,
    )


def _drafted(small: _Rows, paths: Sequence[Context], counts: Sequence[int], coins: Sequence[Coin]) -> list[Context]:
    """The paths, each with so many tokens of the small model after it; none where its count is below 1."""
    found = list(paths)
    for step in range(max(counts)):
        small.read([path if step < count else None for path, count in zip(found, counts, strict=True)])
        for each, (path, count) in enumerate(zip(found, counts, strict=True)):
            if step < count:
                found[each] = (*path, int(coins[each].choose(small.known[each][path])))
    return found


class _Rows:
    """The rows of one model, for each sequence by context. passes: for each sequence how many it had a part in.

    told: what verifiers are told of them, where that differs.
    """

    def __init__(
        self, reading: Reading, rows_of: RowsOf, texts: Sequence[TextSoFar], told_of: RowsOf | None = None
    ) -> None:
        count = len(reading.sight)
        self.reading, self.passes = reading, [0] * count
        self.known: list[dict[Context, Vector]] = [{} for _ in range(count)]
        self.told: list[dict[Context, Vector]] = [{} for _ in range(count)]
        self._size, self._texts = rows_of.vocab_size, texts
        self._ways = [(rows_of, self.known), *([(told_of, self.told)] if told_of else [])]

    def read(self, contexts: Sequence[Context | None]) -> None:
        """One pass over what is not known up to these contexts; no pass where all is known."""
        wanted = [
            [] if each is None else [each[:depth] for depth in range(len(each) + 1) if each[:depth] not in known]
            for each, known in zip(contexts, self.known, strict=True)
        ]
        if not any(wanted):
            return
        self.passes = [count + bool(each) for count, each in zip(self.passes, wanted, strict=True)]
        logits = self.reading.read(wanted)
        for how, known in self._ways:
            vectors = how.vectors(how.rows(logits, wanted, self._texts))
            for rows, each, portion in zip(known, wanted, vectors, strict=True):
                rows.update(zip(each, portion, strict=False))

    def after(self, sequence: int, path: Context) -> TreeRows:
        """The rows of one sequence as a process that begins after this path."""
        known, depth = self.known[sequence], len(path)
        return TreeRows(self._size, {context[depth:]: row for context, row in known.items() if context[:depth] == path})
