"""Speculative generation on a real pair of models: draft a tree, read it with the target in one pass, verify, trim.

`Loop(pair, sampling).step(state, verifier, scheme, coin)` makes one block for each of `B` sequences. The verifier is
the object that `draftproof check` proves lossless, here with a sampling coin. States are immutable, so any number of
runs can start from a prompt that is read once.

The road of a block: `State` (caches of both models, texts) -> `Drafting` (trees of one scheme, or of one that a
`Chooser` chooses, and the rows of the draft) -> `Reading` of the target (its rows at all nodes) -> `Block` (what the
verifier accepts, and the correction) -> `State`, with the caches trimmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial

import torch
from torch.nn.functional import pad

from draftproof.experiments.models.loop.caches import ModelCache, prompt_pass
from draftproof.experiments.models.loop.choosing import BlockStart, Chooser, TokenOutput
from draftproof.experiments.models.loop.drafting import Drafting, nodes_of
from draftproof.experiments.models.loop.head_reading import HeadReading
from draftproof.experiments.models.loop.reading import Reading
from draftproof.experiments.models.loop.supported import check_prompt, check_supported
from draftproof.experiments.models.loop.timing import Stopwatch
from draftproof.experiments.models.loop.vectors import RowsOf, TextSoFar, TreeRows, check_vectors, coin_of_each
from draftproof.experiments.models.pair.devices import within_memory
from draftproof.experiments.models.pair.head import Head
from draftproof.experiments.models.pair.hidden import features_of
from draftproof.experiments.models.pair.pair import ROLES, Pair
from draftproof.simulator.changes import Watch
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.laws.enumeration import assert_verdict
from draftproof.simulator.laws.guarded import guarded
from draftproof.simulator.origins import is_library
from draftproof.simulator.protocol import Coin, Context, DraftScheme, Verifier
from draftproof.simulator.verdicts.validation import check_scheme


@dataclass(frozen=True)
class Block:
    """One block: the accepted tokens and the correction.

    passes: of the draft model, for this tree. action: the position of the scheme where one was chosen.
    """

    accepted: Context
    correction: int
    passes: int = 0
    action: int | None = None

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
    """`B` sequences between two blocks, with the caches of both models."""

    target: ModelCache
    draft: ModelCache
    texts: tuple[TextSoFar, ...]

    @property
    def waiting(self) -> list[Context]:
        """For each sequence the tokens that the draft has not read yet; the target has not read the last of them."""
        return [text.waiting for text in self.texts]

    def repeated(self, copies: int) -> State:
        return State(self.target.repeated(copies), self.draft.repeated(copies), self.texts * copies)

    def only(self, places: Sequence[int]) -> State:
        texts = tuple(self.texts[place] for place in places)
        return State(self.target.only(places), self.draft.only(places), texts)

    @classmethod
    def joined(cls, states: Sequence[State]) -> State:
        return cls(
            ModelCache.joined([state.target for state in states]),
            ModelCache.joined([state.draft for state in states]),
            tuple(text for state in states for text in state.texts),
        )


@dataclass(frozen=True)
class Loop:
    """A pair of models and how tokens are drawn.

    sampling: temperature and the rest, for both models or for each. vectors: "numpy" or "torch".
    Raises `InvalidInput` for models that do not support tree attention.
    """

    pair: Pair
    sampling: Sampling
    vectors: str = "numpy"

    def __post_init__(self) -> None:
        check_vectors(self.vectors)
        for role in (*ROLES, "told"):
            self.sampling.of(role).assert_row_wise()
        check_pair(self.pair)

    @cached_property
    def watch(self) -> Stopwatch:
        """Seconds by part."""
        return Stopwatch(self.pair.device)

    @property
    def head(self) -> Head | None:
        """The draft, where it is a head."""
        return self.pair.draft if isinstance(self.pair.draft, Head) else None

    @cached_property
    def _origins(self) -> dict[int, tuple[Verifier, bool, Watch | None]]:
        """By `id` the verifiers so far, whether each is of the library, and else what is known of its code."""
        return {}

    @cached_property
    def _rows_of(self) -> dict[str, RowsOf]:
        """How logits become rows, by role; "told" only where verifiers are told another `q`."""
        roles = (*ROLES, "told") if self.sampling.tells_another_q else ROLES
        return {role: RowsOf(self.sampling.of(role), self.pair.vocab_size, self.vectors, role) for role in roles}

    def fits(self, tokens: int, depth: int) -> bool:
        """Whether both models are made for a text of so many tokens and a tree of this depth after it."""
        return self.pair.positions is None or tokens + depth < self.pair.positions

    @torch.inference_mode()
    def start(self, prompt: Sequence[int], more: int = 0, padding: Sequence[int] = ()) -> State:
        """Read a prompt with both models, all but its last token.

        more: how many tokens will be read after it, such as those of one tree. padding: tokens before the prompt
        that no model reads, and that `no_repeat_ngram_size` counts, as in transformers.
        Raises `InvalidInput` for an empty prompt, for tokens outside the vocabulary, and where the models have no
        positions for that many.
        """
        check_prompt(self.pair, prompt, more)
        with self.watch.part("prompt"), within_memory("reading the prompt", self.pair.device):
            return self._started(prompt, padding)

    def _started(self, prompt: Sequence[int], padding: Sequence[int]) -> State:
        pair, before = self.pair, tuple(map(int, prompt[:-1]))
        text = text_so_far(pair, self.sampling, prompt, padding)
        with self._watching() as seen:
            target, known = self._read_prompt("target", before)
        if self.head is None:
            draft, known_of_draft = self._read_prompt("draft", before)
            return State(target, draft, (replace(text, outputs=(known, known_of_draft)),))
        nothing = torch.zeros(1, 0, self.head.config.hidden_size, dtype=pair.dtype, device=pair.device)
        features = pad(self.head.taken(seen[0]) if seen else nothing, (0, 0, 1, 0))  # zeros before the first token
        _, draft = prompt_pass(self.head, before, pair.device, features=features[:, :-1])
        return State(target, draft, (replace(text, features=features[0, -1:]),))

    def _read_prompt(self, role: str, tokens: Context) -> tuple[ModelCache, TokenOutput | None]:
        """The cache, and what the model computed at the last token, where that can be looked at."""
        model = self.pair.model(role)
        looking: AbstractContextManager[list[torch.Tensor]] = nullcontext([])
        if model.get_output_embeddings() is not None:
            looking = features_of(model)
        with looking as hidden:
            output, cache = prompt_pass(model, tokens, self.pair.device)
        return cache, self._output(role, hidden[0][0, -1], output.logits[0, -1]) if hidden else None

    def _watching(self) -> AbstractContextManager[list[torch.Tensor]]:
        """In the body, what a head looks at in the passes of the target; nothing for other drafts."""
        return nullcontext([]) if self.head is None else self.head.watching()

    def _output(self, role: str, hidden: torch.Tensor, logits: torch.Tensor) -> TokenOutput:
        logits = logits[: self.pair.vocab_size].clone()  # without those of the other tokens in the pass
        return TokenOutput(hidden, partial(self.sampling.of(role).of_logits, logits))

    @torch.inference_mode()
    def step(
        self, state: State, verifier: Verifier, scheme: DraftScheme | Chooser, coin: Coin | Sequence[Coin]
    ) -> tuple[list[Block], State]:
        """One block of every sequence, and the state after it.

        scheme: one for all sequences, or what chooses one for each. coin: one for all sequences, or one for each, which
        makes a sequence independent of the others in its batch.
        Raises `InvalidInput` for an object that is no scheme, and for a chooser where the draft is a head.
        """
        coins = coin_of_each(coin, len(state.texts))
        with within_memory("making a block", self.pair.device):
            drafting = self.drafted(state, scheme, coins)
            with self.watch.part("target"), self._watching() as seen:
                rows, reading = self._read(state, drafting)
            with self.watch.part("verify"):
                blocks = [
                    self._verify(verifier, drafting, sequence, *given)
                    for sequence, given in enumerate(zip(rows, coins, strict=True))
                ]
            with self.watch.part("cache"):
                return blocks, self._after(state, drafting, rows, reading, seen, blocks)

    @torch.inference_mode()
    def drafted(self, state: State, scheme: DraftScheme | Chooser, coin: Coin | Sequence[Coin]) -> Drafting:
        """One tree of every sequence, of this scheme or of one that is chosen."""
        coins = coin_of_each(coin, len(state.texts))
        if not isinstance(scheme, Chooser):
            check_scheme(scheme)
            with self.watch.part("draft"):
                drafting = self.begin(state)
                drafting.draw([scheme] * len(coins), coins)
            return drafting
        if self.head is not None:
            raise InvalidInput("a head reads the target's features; policies take drafts that read tokens alone")
        with self.watch.part("draft"):
            drafting = self.begin(state, outputs=True)
            drafting.read([[()] for _ in coins])
        with self.watch.part("choose"):
            for sequence, text in enumerate(state.texts):
                drafting.actions.append(scheme.position(self._block_start(text, drafting, sequence, scheme.times)))
        with self.watch.part("draft"):
            drafting.draw([scheme.actions[action] for action in drafting.actions], coins)
        return drafting

    def begin(self, state: State, outputs: bool = False) -> Drafting:
        """The draft before it reads the trees of a block; outputs: see `Reading`."""
        if self.head is None:
            reading = Reading(self.pair.draft, state.draft, state.waiting, outputs)
        else:
            features = [text.features for text in state.texts if text.features is not None]
            reading = HeadReading(self.head, state.draft, state.waiting, features)
        return Drafting(reading, self._rows_of["draft"], state.texts, self._rows_of.get("told"))

    def _block_start(
        self, text: TextSoFar, drafting: Drafting, sequence: int, times: tuple[float, float]
    ) -> BlockStart:
        reading, (target_before, draft_before) = drafting.reading, text.outputs
        if draft_before is None and text.unread > 1:
            draft_before = self._output("draft", *reading.output(sequence, back=1))
        root = TokenOutput(reading.output(sequence)[0], partial(drafting.rows[sequence].row, ()))
        return BlockStart(text.tokens, root, target_before, draft_before, times)

    def _read(self, state: State, drafting: Drafting) -> tuple[list[TreeRows], Reading]:
        """`p` at the root and at every node of the trees, from one pass of the target, and the state of its reading."""
        last = [tokens[-1:] for tokens in state.waiting]
        reading = Reading(self.pair.target, state.target, last, bool(drafting.actions))
        contexts, rows_of = [[(), *nodes_of(tree)] for tree in drafting.trees], self._rows_of["target"]
        vectors = rows_of.vectors(rows_of.rows(reading.read(contexts), contexts, state.texts))
        known = [dict(zip(nodes, rows, strict=False)) for nodes, rows in zip(contexts, vectors, strict=True)]
        return [TreeRows(self.pair.vocab_size, rows) for rows in known], reading

    def _verify(self, verifier: Verifier, drafting: Drafting, sequence: int, rows: TreeRows, coin: Coin) -> Block:
        root = drafting.trees[sequence].root(rows, drafting.told[sequence])
        if id(verifier) not in self._origins:
            self._origins[id(verifier)] = verifier, is_library(verifier), Watch.of(verifier)
        verdict = guarded(verifier, root, *self._origins[id(verifier)][1:])(coin)
        assert_verdict(verdict, rows.known, self.pair.vocab_size)
        accepted, action = tuple(map(int, verdict.accepted)), drafting.actions[sequence] if drafting.actions else None
        return Block(accepted, int(verdict.correction), drafting.passes[sequence], action)

    def _after(
        self,
        state: State,
        drafting: Drafting,
        rows: Sequence[TreeRows],
        reading: Reading,
        seen: Sequence[torch.Tensor],
        blocks: Sequence[Block],
    ) -> State:
        """The state after the blocks: both caches hold the text and the accepted path, not the correction.

        rows, reading: `p` in the trees and the target's passes. seen: what a head looks at in them.
        """
        accepted, drafts = [block.accepted for block in blocks], drafting.reading
        draft, unread = drafts.trimmed(accepted)
        texts = [
            text.after(block.tokens, len(tokens) + 1)
            for text, tokens, block in zip(state.texts, unread, blocks, strict=True)
        ]
        if isinstance(drafts, HeadReading) and self.head is not None:
            read = self.head.taken(seen[0])
            features = drafts.features_after(
                [reading.on_path(read, sequence, context) for sequence, context in enumerate(accepted)]
            )
            texts = [replace(text, features=own) for text, own in zip(texts, features, strict=True)]
        elif drafting.actions:
            sides = (reading, rows), (drafts, drafting.rows)
            texts = [
                replace(text, outputs=tuple(_output_at(*side, sequence, accepted[sequence]) for side in sides))
                for sequence, text in enumerate(texts)
            ]
        return State(reading.trimmed(accepted)[0], draft, tuple(texts))


def _output_at(reading: Reading, rows: Sequence[TreeRows], sequence: int, context: Context) -> TokenOutput | None:
    """What a model has computed at this node of a tree; None where it has not read the node."""
    if context not in reading.path_slots[sequence]:
        return None
    return TokenOutput(reading.output(sequence, context)[0], partial(rows[sequence].row, context))


def check_pair(pair: Pair) -> None:
    """Raise `InvalidInput` for a pair with a model that tree attention would not work with; heads are made for it."""
    check_supported(pair.target, "the target")
    if not isinstance(pair.draft, Head):
        check_supported(pair.draft, "the draft")


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
    verifier: Verifier,
    scheme: DraftScheme,
    root: Sequence[int],
    runs: int,
    coin: Coin,
    batch: int = BATCH,
) -> list[Block]:
    """The first block of each of `runs` independent runs that start after the tokens of `root`.

    batch: how many runs share their passes.
    """
    start = loop.start(root, scheme.depth)
    blocks: list[Block] = []
    for first in range(0, runs, batch):
        count = min(batch, runs - first)
        blocks += loop.step(start.repeated(count), verifier, scheme, coin)[0]
    return blocks
