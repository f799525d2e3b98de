"""What the loop asks of a draft, of whatever kind it is: to read a prompt, to begin a tree, to follow the target."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias

import torch
from torch.nn.functional import pad

from draftproof.experiments.models.loop.caches import ModelCache, prompt_cache
from draftproof.experiments.models.loop.head_reading import HeadReading
from draftproof.experiments.models.loop.reading import Reading
from draftproof.experiments.models.loop.supported import check_supported
from draftproof.experiments.models.pair.head import Head
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator.protocol import Context

#: For each sequence the target's features before its waiting tokens, shape `(w, H)`; empty where the draft reads none.
Features: TypeAlias = tuple[torch.Tensor, ...]


class Drafter:
    """A draft that reads tokens alone: a second model, lookup, n-grams, the first layers of the target."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair

    def check(self) -> None:
        """Raise `InvalidInput` for a draft that tree attention would not work with."""
        check_supported(self._pair.draft, "the draft")

    def start(self, tokens: Sequence[int]) -> tuple[ModelCache, ModelCache, Features]:
        """The caches of target and draft that have read these tokens, and the features before the token after them."""
        caches = [prompt_cache(model, tokens, self._pair.device) for model in (self._pair.target, self._pair.draft)]
        return caches[0], caches[1], ()

    def begin(self, before: ModelCache, waiting: Sequence[Sequence[int]], features: Features) -> Reading:
        """The draft before it reads `B` trees.

        waiting: for each sequence the tokens that it has not read yet; the last is the root of the tree.
        """
        return Reading(self._pair.draft, before, waiting)

    def watching(self) -> AbstractContextManager[list[torch.Tensor]]:
        """In the body, what the draft looks at in the passes of the target, for `features_after`."""
        return nullcontext([])

    def features_after(
        self, draft: Reading, target: Reading, seen: Sequence[torch.Tensor], accepted: Sequence[Context]
    ) -> Features:
        """The target's features before the tokens that wait after a block.

        seen: what `watching` gave of the target's pass over the trees.
        """
        return ()


class HeadDrafter(Drafter):
    """A head, which reads features of the target (`head_reading`)."""

    def __init__(self, pair: Pair, head: Head) -> None:
        super().__init__(pair)
        self._head = head

    def check(self) -> None:
        """Nothing: a head is of our own making, and the test of models cannot run it."""

    def start(self, tokens: Sequence[int]) -> tuple[ModelCache, ModelCache, Features]:
        device, width = self._pair.device, self._head.config.hidden_size
        with self.watching() as seen:
            target = prompt_cache(self._pair.target, tokens, device)
        nothing = torch.zeros(1, 0, width, dtype=self._pair.dtype, device=device)
        before = pad(self._head.taken(seen[0]) if seen else nothing, (0, 0, 1, 0))  # zeros before the first token
        draft = prompt_cache(self._head, tokens, device, features=before[:, :-1])
        return target, draft, (before[0, -1:],)

    def begin(self, before: ModelCache, waiting: Sequence[Sequence[int]], features: Features) -> HeadReading:
        return HeadReading(self._head, before, waiting, features)

    def watching(self) -> AbstractContextManager[list[torch.Tensor]]:
        return self._head.watching()

    def features_after(
        self, draft: Reading, target: Reading, seen: Sequence[torch.Tensor], accepted: Sequence[Context]
    ) -> Features:
        assert isinstance(draft, HeadReading)
        read = []
        for features, path_slots, context in zip(self._head.taken(seen[0]), target.path_slots, accepted, strict=True):
            read.append(features[[path_slots[context[:depth]][-1] for depth in range(len(context) + 1)]])
        return draft.features_after(read)


def drafter_of(pair: Pair) -> Drafter:
    """How the loop asks the draft of this pair."""
    return HeadDrafter(pair, pair.draft) if isinstance(pair.draft, Head) else Drafter(pair)


def check_pair(pair: Pair) -> None:
    """Raise `InvalidInput` for a pair with a model that tree attention would not work with."""
    check_supported(pair.target, "the target")
    drafter_of(pair).check()
