"""Speculative generation on a real pair of models: draft a tree, read it with the target in one pass, verify, trim.

The verifier is the object that `draftproof check` proves lossless, here with a sampling coin. `Loop.step` makes one
block for each of `B` sequences. States are immutable, so any number of runs can start from a prompt that is read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch

from draftproof.experiments.models.loop.caches import ModelCache
from draftproof.experiments.models.loop.drafter import Drafter, Features, check_pair, drafter_of
from draftproof.experiments.models.loop.drafting import Drafting, nodes_of
from draftproof.experiments.models.loop.reading import Reading
from draftproof.experiments.models.loop.supported import check_prompt
from draftproof.experiments.models.loop.timing import Stopwatch
from draftproof.experiments.models.loop.vectors import RowsOf, TextSoFar, TreeRows, coin_of_each
from draftproof.experiments.models.pair.devices import within_memory
from draftproof.experiments.models.pair.pair import ROLES, Pair
from draftproof.simulator.changes import Watch
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.laws.enumeration import assert_verdict, guarded
from draftproof.simulator.origins import is_library
from draftproof.simulator.protocol import Coin, Context, DraftScheme, Progress, Verifier
from draftproof.simulator.verdicts.validation import check_scheme


@dataclass(frozen=True)
class Block:
    """One block: the accepted tokens and the correction.

    passes: of the draft model, for this tree.
    """

    accepted: Context
    correction: int
    passes: int = 0

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
    """`B` sequences between two blocks, with the caches of both models.

    waiting: for each sequence the tokens that the draft has not read yet; the target has not read the last of them.
    texts: of each sequence. features: what the draft reads of the target before these tokens.
    """

    target: ModelCache
    draft: ModelCache
    waiting: tuple[Context, ...]
    texts: tuple[TextSoFar, ...]
    features: Features = ()

    @property
    def caches(self) -> tuple[ModelCache, ...]:
        """Of each model, the target's first."""
        return self.target, self.draft

    def repeated(self, copies: int) -> State:
        caches = self.target.repeated(copies), self.draft.repeated(copies)
        return State(*caches, self.waiting * copies, self.texts * copies, self.features * copies)

    def only(self, places: Sequence[int]) -> State:
        waiting = tuple(self.waiting[place] for place in places)
        features = tuple(self.features[place] for place in places) if self.features else ()
        texts = tuple(self.texts[place] for place in places)
        return State(self.target.only(places), self.draft.only(places), waiting, texts, features)

    @classmethod
    def joined(cls, states: Sequence[State]) -> State:
        return cls(
            ModelCache.joined([state.target for state in states]),
            ModelCache.joined([state.draft for state in states]),
            tuple(waiting for state in states for waiting in state.waiting),
            tuple(text for state in states for text in state.texts),
            tuple(features for state in states for features in state.features),
        )


@dataclass(frozen=True)
class Made:
    """The blocks of a step, before the caches are trimmed.

    before: the state before them. rows: for each sequence `p` at the root and at every drafted node; reading: the
    target's. seen: what the draft looks at in the target's pass.
    """

    before: State
    drafted: Drafting
    rows: list[TreeRows]
    reading: Reading
    seen: list[torch.Tensor]
    blocks: list[Block]


@dataclass(frozen=True)
class Loop:
    """A pair of models, a verifier and a draft scheme.

    pair: both models, with `device` and `vocab_size`. sampling: temperature and the rest, for both models or for each.
    vectors: "numpy" or "torch". watch: seconds by part. drafter, rows_of, draft_rows_of, told_rows_of, library,
    changes: derived from the other fields.
    Raises `InvalidInput` for an object that is no scheme, and for models that do not support tree attention.
    """

    pair: Pair
    verifier: Verifier
    scheme: DraftScheme
    sampling: Sampling
    vectors: str = "numpy"
    watch: Stopwatch = field(init=False)
    drafter: Drafter = field(init=False)
    rows_of: RowsOf = field(init=False)
    draft_rows_of: RowsOf = field(init=False)
    told_rows_of: RowsOf | None = field(init=False)
    library: bool = field(init=False)
    changes: Watch | None = field(init=False)

    def __post_init__(self) -> None:
        check_scheme(self.scheme)
        size = self.pair.vocab_size
        object.__setattr__(self, "watch", Stopwatch(self.pair.device))
        object.__setattr__(self, "drafter", drafter_of(self.pair))
        object.__setattr__(self, "rows_of", RowsOf(self.sampling.of("target"), size, self.vectors))
        object.__setattr__(self, "draft_rows_of", RowsOf(self.sampling.of("draft"), size, self.vectors, "draft"))
        told = RowsOf(self.sampling.of("told"), size, self.vectors, "told") if self.sampling.told_apart else None
        object.__setattr__(self, "told_rows_of", told)
        object.__setattr__(self, "library", is_library(self.verifier))
        object.__setattr__(self, "changes", Watch.of(self.verifier))
        check_pair(self.pair)

    @torch.inference_mode()
    def start(self, prompt: Sequence[int], more: int | None = None, padding: Sequence[int] = ()) -> State:
        """Read a prompt with both models, all but its last token.

        more: how many tokens will be read after it, by default those of one tree. padding: tokens before the prompt
        that no model reads, and that `no_repeat_ngram_size` counts, as in transformers.
        Raises `InvalidInput` for an empty prompt, for tokens outside the vocabulary, and where the models have no
        positions for that many.
        """
        check_prompt(self.pair, prompt, self.scheme.depth if more is None else more)
        with self.watch.part("prompt"), within_memory("reading the prompt", self.pair.device):
            return self._started(prompt, padding)

    def fits(self, tokens: int) -> bool:
        """Whether both models are made for a text of so many tokens and a block after it."""
        return self.pair.positions is None or tokens + self.scheme.depth < self.pair.positions

    def _started(self, prompt: Sequence[int], padding: Sequence[int]) -> State:
        target, draft, features = self.drafter.start(prompt[:-1])
        texts = (text_so_far(self.pair, self.sampling, prompt, padding),)
        return State(target, draft, ((int(prompt[-1]),),), texts, features)

    @torch.inference_mode()
    def step(self, state: State, coin: Coin | Sequence[Coin]) -> tuple[list[Block], State]:
        """One block of every sequence, and the state after it.

        coin: one for all sequences, or one for each, which makes a sequence independent of the others in its batch.
        """
        with within_memory("making a block", self.pair.device):
            made = self.made(state, coin)
            return made.blocks, self.after(made)

    @torch.inference_mode()
    def blocks(self, state: State, coin: Coin | Sequence[Coin]) -> list[Block]:
        """One block of every sequence, without the state after it, for runs of one block."""
        with within_memory("making a block", self.pair.device):
            return self.made(state, coin).blocks

    def begin(self, state: State) -> Drafting:
        """The draft before it reads the trees of a block."""
        reading = self.drafter.begin(state.draft, state.waiting, state.features)
        return Drafting(reading, self.draft_rows_of, state.texts, self.told_rows_of)

    def drafted(self, state: State, coin: Coin | Sequence[Coin], begun: Drafting | None = None) -> Drafting:
        """One tree of every sequence; begun: by `begin`, where the draft has read something of the trees already."""
        drafting = begun or self.begin(state)
        drafting.draw(self.scheme, coin_of_each(coin, len(state.waiting)))
        return drafting

    def read(self, state: State, drafted: Drafting) -> tuple[list[TreeRows], Reading]:
        """`p` at the root and at every node of the trees, from one pass of the target, and the state of its reading."""
        reading = Reading(self.pair.target, state.target, [tokens[-1:] for tokens in state.waiting])
        contexts = [[(), *nodes_of(tree)] for tree in drafted.trees]
        vectors = self.rows_of.vectors(self.rows_of.rows(reading.read(contexts), contexts, state.texts))
        known = [dict(zip(nodes, rows, strict=False)) for nodes, rows in zip(contexts, vectors, strict=True)]
        return [TreeRows(self.pair.vocab_size, rows) for rows in known], reading

    def made(self, state: State, coin: Coin | Sequence[Coin], begun: Drafting | None = None) -> Made:
        """Draft, read and verify, without trimming the caches; begun: as in `drafted`."""
        coins = coin_of_each(coin, len(state.waiting))
        with self.watch.part("draft"):
            drafted = self.drafted(state, coins, begun)
        with self.watch.part("target"), self.drafter.watching() as seen:
            rows, reading = self.read(state, drafted)
        with self.watch.part("verify"):
            blocks = [self._verify(drafted, sequence, p, coins[sequence]) for sequence, p in enumerate(rows)]
        return Made(state, drafted, rows, reading, seen, blocks)

    def after(self, made: Made) -> State:
        """The state after the block: both caches hold the text and the accepted path, not the correction."""
        with self.watch.part("cache"):
            accepted = [block.accepted for block in made.blocks]
            draft, unread = made.drafted.reading.kept(accepted)
            waiting = tuple((*tokens, block.correction) for tokens, block in zip(unread, made.blocks, strict=True))
            texts = tuple(text.after(block.tokens) for text, block in zip(made.before.texts, made.blocks, strict=True))
            features = self.drafter.features_after(made.drafted.reading, made.reading, made.seen, accepted)
            return State(made.reading.kept(accepted)[0], draft, waiting, texts, features)

    def _verify(self, drafted: Drafting, sequence: int, rows: TreeRows, coin: Coin) -> Block:
        root = drafted.trees[sequence].root(rows, drafted.told[sequence])
        verdict = guarded(self.verifier, root, self.library, self.changes)(coin)
        assert_verdict(verdict, rows.known, self.pair.vocab_size)
        return Block(tuple(map(int, verdict.accepted)), int(verdict.correction), drafted.passes[sequence])


def text_so_far(pair: Pair, sampling: Sampling, prompt: Sequence[int], padding: Sequence[int] = ()) -> TextSoFar:
    """A prompt, with the masks of what follows; padding: see `Loop.start`."""
    tokens = tuple(map(int, prompt))
    seen = (*padding, *tokens)
    masked = [role for role in (*ROLES, "told") if sampling.of(role).masked]
    return TextSoFar(
        tokens, {role: sampling.of(role).masks(pair.vocab_size, seen, pair.token_names) for role in masked}
    )


#: The number of runs in one batch of passes.
BATCH = 256


def many_blocks(
    loop: Loop,
    root: Sequence[int],
    runs: int,
    coin: Coin,
    batch: int = BATCH,
    progress: Progress | None = None,
) -> list[Block]:
    """The first block of each of `runs` independent runs that start after the tokens of `root`.

    batch: how many runs share their passes. progress: told how many runs are done.
    """
    start = loop.start(root)
    blocks: list[Block] = []
    for count in _portions(runs, batch):
        blocks += loop.blocks(start.repeated(count), coin)
        if progress:
            progress(count)
    return blocks


def _portions(runs: int, batch: int) -> Iterator[int]:
    for first in range(0, runs, batch):
        yield min(batch, runs - first)
