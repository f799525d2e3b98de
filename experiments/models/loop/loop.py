"""Speculative generation on a real pair of models: draft a tree, read it with the target in one pass, verify, trim.

The verifier is the one that `draftproof check` proves, with a coin that samples. `Loop.step` makes one block of each
of `B` sequences; states are never changed, so any number of runs can start from one prompt that was read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from experiments.models.loop.caches import Remembered, prompt_read
from experiments.models.loop.drafting import Drafted, draft_trees
from experiments.models.loop.rows import RowsOf, TreeRows
from experiments.models.loop.supported import check_prompt, check_supported
from experiments.models.loop.timing import Stopwatch
from experiments.models.loop.tree_forward import read_trees
from experiments.models.loop.tree_shape import TreeShape
from experiments.models.pair.devices import within_memory
from experiments.models.pair.pair import Pair
from experiments.models.pair.warp import Warp
from simulator.drafts import Delayed
from simulator.errors import InvalidInput
from simulator.laws.enumeration import assert_verdict, guarded
from simulator.protocol import Coin, Context, DraftScheme, Verdict, Verifier


@dataclass(frozen=True)
class Block:
    """One block: the accepted tokens and the correction.

    distances: where they were asked for, the L1 distance of p and q at the depths 0..L-1, averaged over the paths.
    """

    accepted: Context
    correction: int
    distances: tuple[float, ...] = ()

    @property
    def depth(self) -> int:
        """The accepted depth tau."""
        return len(self.accepted)

    @property
    def tokens(self) -> Context:
        """What the block adds to the text: tau + 1 tokens."""
        return (*self.accepted, self.correction)


@dataclass(frozen=True)
class State:
    """Where `B` sequences stand between two blocks.

    waiting: for each sequence the tokens that the draft model has not read; nor has the target read the last one.
    """

    target: Remembered
    draft: Remembered
    waiting: tuple[Context, ...]

    def repeated(self, copies: int) -> State:
        """The same sequence `copies` times."""
        return State(self.target.repeated(copies), self.draft.repeated(copies), self.waiting * copies)


@dataclass(frozen=True)
class _Made:
    """What a step found out: trees, `p` at the root and at every slot (shape `(B, N + 1, V)`), the target's cache."""

    drafted: Drafted
    numbers: torch.Tensor
    target: Remembered
    verdicts: list[Verdict]


@dataclass(frozen=True)
class Loop:
    """A pair of models, a verifier and a shape.

    pair: both models, with `device` and `vocab_size`. warp: temperature and the rest, for both models.
    vectors: "numpy" or "torch". observe: whether blocks hold distances of p and q.
    watch: where the seconds went; shape, rows_of: what follows from the rest.
    Raises `InvalidInput` for a scheme other than delayed trees and for models that cannot be read as trees.
    """

    pair: Pair
    verifier: Verifier
    scheme: DraftScheme
    warp: Warp
    vectors: str = "numpy"
    observe: bool = False
    watch: Stopwatch = field(init=False)
    shape: TreeShape = field(init=False)
    rows_of: RowsOf = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.scheme, Delayed):
            raise InvalidInput(f"real models draft delayed trees (K, L1, L2), not {self.scheme}")
        object.__setattr__(self, "watch", Stopwatch(self.pair.device))
        object.__setattr__(self, "shape", TreeShape(self.scheme))
        object.__setattr__(self, "rows_of", RowsOf(self.warp, self.pair.vocab_size, self.vectors))
        check_supported(self.pair.target, "the target")
        check_supported(self.pair.draft, "the draft")

    @torch.inference_mode()
    def start(self, prompt: Sequence[int], more: int = 0) -> State:
        """Read a prompt with both models, all but its last token.

        more: how many tokens will follow. Raises `InvalidInput` for an empty prompt, for tokens outside the vocabulary,
        and where the models have no positions for that many.
        """
        check_prompt(self.pair, prompt, more + self.scheme.depth)
        with self.watch.part("prompt"), within_memory("reading the prompt", self.pair.device):
            target, draft = (
                prompt_read(model, prompt[:-1], self.pair.device) for model in (self.pair.target, self.pair.draft)
            )
        return State(target, draft, ((int(prompt[-1]),),))

    @torch.inference_mode()
    def step(self, state: State, coin: Coin) -> tuple[list[Block], State]:
        """One block of every sequence, and the state after it."""
        with within_memory("making a block", self.pair.device):
            made = self._made(state, coin)
            with self.watch.part("cache"):
                after = _trimmed(state, made)
        return self._blocks(made), after

    @torch.inference_mode()
    def blocks(self, state: State, coin: Coin) -> list[Block]:
        """One block of every sequence, where nothing comes after it: caches are left as they are."""
        with within_memory("making a block", self.pair.device):
            return self._blocks(self._made(state, coin))

    def _made(self, state: State, coin: Coin) -> _Made:
        with self.watch.part("draft"):
            drafted = draft_trees(self.pair.draft, state.draft, state.waiting, self.shape, self.rows_of, coin)
        with self.watch.part("target"):
            roots = [tokens[-1] for tokens in state.waiting]
            logits, target = read_trees(self.pair.target, state.target, roots, drafted.tokens(), self.shape)
            numbers = self.rows_of.numbers(logits)
        with self.watch.part("verify"):
            vectors = self.rows_of.vectors(numbers)
            verdicts = [self._verify(drafted, each, vectors[each], coin) for each in range(len(vectors))]
        return _Made(drafted, numbers, target, verdicts)

    def _blocks(self, made: _Made) -> list[Block]:
        distances = _distances(made) if self.observe else [()] * len(made.verdicts)
        return [Block(each.accepted, each.correction, far) for each, far in zip(made.verdicts, distances, strict=True)]

    def _verify(self, drafted: Drafted, sequence: int, vectors: Any, coin: Coin) -> Verdict:
        """Run the verifier on one tree; vectors: `p` at the root and at each slot."""
        rows = TreeRows(self.pair.vocab_size, {(): vectors[0]})
        for slot, context in enumerate(drafted.contexts[sequence], 1):
            rows.known.setdefault(context, vectors[slot])
        tree = drafted.tree(sequence)
        verdict = guarded(self.verifier, tree.root(rows, drafted.rows[sequence]))(coin)
        assert_verdict(verdict, rows.known, self.pair.vocab_size)
        return Verdict(tuple(map(int, verdict.accepted)), int(verdict.correction))


def _trimmed(state: State, made: _Made) -> State:
    """Both caches with the accepted paths and nothing else; the target reads the correction in the next block."""
    drafted, target = made.drafted, made.target
    kept_by_target, kept_by_draft, waiting = [], [], []
    read_by_draft = drafted.numbers.shape[1] - 1  # slots; those of the last level are not read
    for sequence, verdict in enumerate(made.verdicts):
        slots = drafted.slots(sequence, verdict.accepted)
        kept_by_target.append([0, *(slot + 1 for slot in slots)])
        unread = len(state.waiting[sequence])
        inside = [drafted.width + slot for slot in slots if slot < read_by_draft]
        kept_by_draft.append([*range(drafted.width - unread, drafted.width), *inside])
        waiting.append((*verdict.accepted[len(inside) :], verdict.correction))
    kept = target.kept(state.target.slots, kept_by_target)
    if not drafted.shape.depth:  # the draft model was not asked, and never will be
        return State(kept, state.draft, tuple(waiting))
    return State(kept, drafted.remembered.kept(state.draft.slots, kept_by_draft), tuple(waiting))


def _distances(made: _Made) -> list[tuple[float, ...]]:
    """For each sequence the L1 distance of p and q at each depth with drafts below, averaged over the paths."""
    shape, q = made.drafted.shape, made.drafted.numbers
    if not shape.depth:
        return [()] * len(q)
    far = (made.numbers[:, : q.shape[1]] - q).abs().sum(-1)
    levels = [range(1), *(range(level.start + 1, level.stop + 1) for level in map(shape.level, range(1, shape.depth)))]
    means = torch.stack([far[:, level.start : level.stop].mean(1) for level in levels], 1)
    return [tuple(each) for each in means.tolist()]
