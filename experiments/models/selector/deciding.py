"""Generation where a policy chooses the tree of every block, one sequence at a time.

What stands between two blocks does not hang on the scheme: so there is one `Loop` for each action, all over the same
states. Nothing is read for the choice alone: the draft's pass over what it has not read comes first in every block
that drafts, and the other hidden states were computed by passes of the block before. Only a block without drafts has
one pass of the draft more than it would have had.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import torch

from experiments.models.loop.drafting import Begun
from experiments.models.loop.loop import Block, Loop, State
from experiments.models.loop.timing import Stopwatch
from experiments.models.pair.devices import within_memory
from experiments.models.pair.pair import Pair
from experiments.models.pair.warp import Warp
from experiments.models.selector.features import Inputs, View, view_from
from experiments.models.selector.glimpses import Glimpse, Passes, watched
from experiments.models.selector.network import SelectorNetwork
from experiments.policies.own import Own
from experiments.shared.latency import TimeModel
from simulator.drafts import Delayed
from simulator.errors import InvalidInput
from simulator.policies.policy import Action, chosen
from simulator.protocol import Coin, Context, Verifier


class Chooser(Protocol):
    """From what is known before a block to the position of an action."""

    def __call__(self, view: View) -> int: ...


@dataclass(frozen=True)
class BySelector:
    """The most probable action of a network. widths: of the target's and the draft's hidden states."""

    network: SelectorNetwork
    warp: Warp
    widths: tuple[int, int]

    def __call__(self, view: View) -> int:
        return int(self.network(Inputs.of([view], [self.warp], self.widths)).argmax())


@dataclass(frozen=True)
class ByFunction:
    """A policy of one's own, with its actions; raises `InvalidInput` for one that chooses another."""

    policy: Own
    actions: tuple[Action, ...]

    def __call__(self, view: View) -> int:
        action = chosen(self.policy.bound(self.actions), view.known)
        if action not in self.actions:
            raise InvalidInput(
                f"policy {self.policy.name} chose {action}, which is none of the {len(self.actions)} it is given"
            )
        return self.actions.index(action)


@dataclass(frozen=True)
class Standing:
    """Between two blocks. context: all tokens so far, the root's last.

    target_before, draft_before: at the token before the root; None where there is none, and for the draft where it has
    not read that token yet.
    """

    state: State
    context: Context
    target_before: Glimpse | None
    draft_before: Glimpse | None


@dataclass(frozen=True)
class Decided:
    """One block. context: the text before it; action: its position."""

    context: Context
    action: int
    block: Block


class PolicyLoop:
    """See the module; made by `deciding`, which looks at the passes of both models."""

    def __init__(
        self, loops: Sequence[Loop], chooser: Chooser, times: TimeModel, target: Passes, draft: Passes
    ) -> None:
        self._loops, self._chooser, self._times = loops, chooser, times
        self._target, self._draft, self._own = target, draft, Stopwatch(loops[0].pair.device)

    @property
    def seconds(self) -> dict[str, float]:
        """By part of a block; `choose` is the time of the policy."""
        found: dict[str, float] = {"choose": 0.0}
        for watch in (self._own, *(loop.watch for loop in self._loops)):
            for part, seconds in watch.seconds.items():
                found[part] = found.get(part, 0.0) + seconds
        return found

    def now(self) -> float:
        """The clock."""
        return self._own.now()

    @torch.inference_mode()
    def start(self, prompt: Sequence[int], more: int) -> Standing:
        """See `Loop.start`."""
        self._target.forget()
        self._draft.forget()
        deepest = max(self._loops, key=lambda loop: loop.scheme.depth)
        state, several = deepest.start(prompt, more), len(prompt) > 1
        before = (self._target.at(-1), self._draft.at(-1)) if several else (None, None)
        return Standing(state, tuple(map(int, prompt)), *before)

    @torch.inference_mode()
    def step(self, standing: Standing, coin: Coin) -> tuple[Decided, Standing]:
        """One block, and where the sequence stands after it."""
        self._draft.forget()
        self._target.forget()
        state, pair, rows_of = standing.state, self._loops[0].pair, self._loops[0].rows_of
        with within_memory("making a block", pair.device):
            with self._own.part("draft"):
                begun = Begun.nothing(pair.draft, state.draft, state.waiting)
                rows = rows_of.vectors(rows_of.numbers(begun.reading.read([[()]])))
                begun.known[0][()] = rows[0][0]
            with self._own.part("choose"):
                action = self._chooser(self._view(standing, begun.reading.sight[0][()]))
            loop = self._loops[action]
            made = loop.made(state, coin, replace(begun, passes=1))
            after, (block,) = loop.after(made), loop.described(made)
            read = made.drafted.reading.sight[0].get(block.accepted)
            standing = Standing(
                after,
                (*standing.context, *block.tokens),
                self._target.at(made.reading.sight[0][block.accepted][-1]),
                None if read is None else self._draft.at(read[-1]),
            )
        return Decided(standing.context[: -len(block.tokens)], action, block), standing

    def _view(self, standing: Standing, slots: Sequence[int]) -> View:
        """slots: of the tokens that the draft has just read, the root's last."""
        before = standing.draft_before
        if before is None and len(slots) > 1:
            before = self._draft.at(slots[-2])
        loop = self._loops[0]
        root, size = self._draft.at(slots[-1]), loop.pair.vocab_size
        return view_from(standing.context, standing.target_before, before, root, loop.warp, size, self._times)


@contextmanager
def deciding(
    pair: Pair,
    verifier: Verifier,
    actions: Sequence[Delayed],
    chooser: Chooser,
    warp: Warp,
    times: TimeModel,
    vectors: str = "numpy",
) -> Iterator[PolicyLoop]:
    """The loop of a policy; raises as `Loop` does."""
    loops = [Loop(pair, verifier, scheme, warp, vectors) for scheme in actions]
    with watched(pair.target) as target, watched(pair.draft) as draft:
        yield PolicyLoop(loops, chooser, times, target, draft)
