"""Generation where a policy chooses the tree of every block, and what policies choose after contexts of a text.

The state between two blocks does not depend on the scheme, so there is one `Loop` for each action, and all work on the
same states. The choice costs no extra pass of a model: the draft's pass over its unread tokens comes first in every
block that drafts, and the other hidden states were computed in the block before. Only a block without drafts has one
more pass of the draft.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch

from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.inputs.policies import UserPolicy
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.models.loop.loop import Block, Loop, State
from draftproof.experiments.models.loop.reading import Reading
from draftproof.experiments.models.loop.timing import Stopwatch
from draftproof.experiments.models.loop.vectors import TreeRows
from draftproof.experiments.models.pair.devices import within_memory
from draftproof.experiments.models.pair.hidden import Passes, TokenState, reads_features, watched
from draftproof.experiments.models.pair.pair import Pair, pair_digest
from draftproof.experiments.models.selector.features import (
    SelectorInput,
    TokenOutput,
    hidden_widths,
    output_of,
    pass_times,
    selector_input,
    selector_inputs,
)
from draftproof.experiments.models.selector.network import NumpyNetwork, SelectorNetwork
from draftproof.experiments.models.selector.saved import Saved, load_selector
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.policies.policy import Action
from draftproof.simulator.protocol import Coin, Context, Verifier


class Chooser(Protocol):
    """Maps what is known before a block to the position of an action."""

    def __call__(self, known_input: SelectorInput) -> int: ...


@dataclass(frozen=True)
class BySelector:
    """Chooses the most probable action of a network."""

    network: SelectorNetwork
    warp: Sampling
    ready: NumpyNetwork = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ready", NumpyNetwork(self.network))

    def __call__(self, known_input: SelectorInput) -> int:
        return int(self.ready.logits(known_input, self.warp).argmax())


@dataclass(frozen=True)
class ByFunction:
    """A user-defined policy; raises `InvalidInput` where it chooses none of the given actions."""

    policy: UserPolicy
    actions: tuple[Action, ...]

    def __call__(self, known_input: SelectorInput) -> int:
        return self.policy.position(known_input.known, self.actions)


@dataclass(frozen=True)
class BetweenBlocks:
    """A sequence between two blocks. context: all tokens so far; the last one is the root.

    target_before, draft_before: what each model computed at the token before the root; None where there is no such
    token, or where the draft has not read it yet.
    """

    state: State
    context: Context
    target_before: TokenOutput | None
    draft_before: TokenOutput | None


@dataclass(frozen=True)
class PolicyBlock:
    """A block and how it was chosen. context: the tokens before it; action: the position of its action."""

    context: Context
    action: int
    block: Block


class PolicyLoop:
    """Generation with a policy; `deciding` makes it, since the passes of both models must be recorded."""

    def __init__(
        self, loops: Sequence[Loop], chooser: Chooser, times: TimeModel, target: Passes, draft: Passes
    ) -> None:
        self._loops, self._chooser, self._times = loops, chooser, pass_times(times)
        self._deepest = max(loops, key=lambda loop: loop.scheme.depth)
        self._target, self._draft, self._own = target, draft, Stopwatch(loops[0].pair.device)

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds by part of a block; `choose` is the policy, `passes` the models' passes within other parts."""
        found: dict[str, float] = {"choose": 0.0, "passes": self._target.seconds + self._draft.seconds}
        for watch in (self._own, *(loop.watch for loop in self._loops)):
            for part, seconds in watch.seconds.items():
                found[part] = found.get(part, 0.0) + seconds
        return found

    def now(self) -> float:
        return self._own.now()

    @torch.inference_mode()
    def start(self, prompt: Sequence[int], more: int | None = None) -> BetweenBlocks:
        self._target.forget()
        self._draft.forget()
        before_it = self._target.seconds, self._draft.seconds
        state, several = self._deepest.start(prompt, more), len(prompt) > 1
        self._target.seconds, self._draft.seconds = before_it  # without the prompt
        before = (
            (self._output_of("target", self._target.at(-1)), self._output_of("draft", self._draft.at(-1)))
            if several
            else (None, None)
        )
        return BetweenBlocks(state, tuple(map(int, prompt)), *before)

    def fits(self, tokens: int) -> bool:
        """Whether any of the trees fits after a text of so many tokens."""
        return self._deepest.fits(tokens)

    @torch.inference_mode()
    def step(self, standing: BetweenBlocks, coin: Coin) -> tuple[PolicyBlock, BetweenBlocks]:
        """One block, and the sequence after it."""
        self._draft.forget()
        self._target.forget()
        state, device = standing.state, self._loops[0].pair.device
        with within_memory("making a block", device):
            with self._own.part("draft"):
                begun = self._loops[0].begin(state)
                begun.read([[()]])
            with self._own.part("choose"):
                slots, row = begun.reading.path_slots[0][()], begun.rows[0].row(())
                action = self._chooser(self._input(standing, slots, row))
            loop = self._loops[action]
            made = loop.made(state, coin, begun)
            after, (block,) = loop.after(made), made.blocks
            standing = BetweenBlocks(
                after,
                (*standing.context, *block.tokens),
                self._left(self._target, made.reading, made.rows[0], block.accepted),
                self._left(self._draft, made.drafted.reading, made.drafted.rows[0], block.accepted),
            )
        return PolicyBlock(standing.context[: -len(block.tokens)], action, block), standing

    def _input(self, standing: BetweenBlocks, slots: Sequence[int], row: Any) -> SelectorInput:
        """slots: of the tokens that the draft has just read, the root's last; row: the draft's row at the root."""
        before = standing.draft_before
        if before is None and len(slots) > 1:
            before = self._output_of("draft", self._draft.at(slots[-2]))
        root = TokenOutput(self._draft.at(slots[-1]).hidden, _array(row))
        return selector_input(standing.context, standing.target_before, before, root, self._times)

    def _output_of(self, role: str, token_state: TokenState) -> TokenOutput:
        return output_of(token_state, self._loops[0].warp.of(role), self._loops[0].pair.vocab_size)

    def _left(self, passes: Passes, reading: Reading, rows: TreeRows, accepted: Context) -> TokenOutput | None:
        """What the model computed at the accepted node in this block; None where it has not read that node."""
        read = reading.path_slots[0].get(accepted)
        return None if read is None else TokenOutput(passes.at(read[-1]).hidden, _array(rows.row(accepted)))


def _array(row: Any) -> Any:
    if not isinstance(row, torch.Tensor):
        return row
    found = row.cpu().numpy()
    found.setflags(write=False)
    return found


@contextmanager
def deciding(
    pair: Pair,
    verifier: Verifier,
    actions: Sequence[Delayed],
    chooser: Chooser,
    warp: Sampling,
    times: TimeModel,
    vectors: str = "numpy",
) -> Iterator[PolicyLoop]:
    """A generation loop with a policy; raises as `Loop` does."""
    if reads_features(pair.draft):
        raise InvalidInput("a head reads the target's features; policies take drafts that read tokens alone")
    loops = [Loop(pair, verifier, scheme, warp, vectors) for scheme in actions]
    now = Stopwatch(pair.device).now
    with watched(pair.target, now) as target, watched(pair.draft, now) as draft:
        yield PolicyLoop(loops, chooser, times, target, draft)


#: Times of passes where the caller gives none.
NO_TIMES = TimeModel({1: 0.0, 2: 0.0}, {0: 0.0, 1: 0.0}, open_ended=True)


@torch.inference_mode()
def selector_choices(
    path: Path, label: str, pair: Pair, warp: Sampling, contexts: Sequence[Context], actions: Sequence[Delayed]
) -> list[int]:
    """The positions of the actions that the selector of a file chooses after each context.

    Raises as `load_selector` does, and `InvalidInput` for one that was trained for other sampling.
    """
    widths = hidden_widths(pair)
    found = load_selector(path, label, pair_digest(pair), pair.vocab_size, widths, actions)
    check_sampling(path, found, warp)
    chooser = BySelector(found.network, warp)
    inputs = selector_inputs(pair, contexts, warp, found.times)
    return [list(actions).index(found.actions[chooser(known_input)]) for known_input in inputs]


def own_choices(
    policy: UserPolicy,
    named: NamedVerifier,
    pair: Pair,
    warp: Sampling,
    contexts: Sequence[Context],
    actions: Sequence[Delayed],
    times: TimeModel | None,
) -> list[int]:
    """The same for a user-defined policy; raises `InvalidInput` where it chooses none of the actions."""
    chooser = ByFunction(policy, tuple(Action(scheme, named.verifier) for scheme in actions))
    return [chooser(known_input) for known_input in selector_inputs(pair, contexts, warp, times or NO_TIMES)]


def check_sampling(path: Path, found: Saved, warp: Sampling) -> int:
    """The position of this sampling among those that the selector was trained for; raises `InvalidInput`."""
    if warp.as_dict() not in found.settings:
        known = "; ".join(
            ", ".join(f"{name}={value}" for name, value in each.items() if value is not None) for each in found.settings
        )
        raise InvalidInput(f"{path} was trained for {known}, not for {warp}; train one for this sampling")
    return found.settings.index(warp.as_dict())
