"""Generation where a policy chooses the tree of every block, and what policies choose after contexts of a text.

The state between two blocks does not depend on the scheme, so there is one `Loop` for each action, and all work on the
same states. The choice costs no extra pass of a model: the draft's pass over its unread tokens comes first in every
block that drafts, and the other hidden states were computed in the block before. Only a block without drafts has one
more pass of the draft.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

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
from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.models.selector.features import BlockStart, TokenOutput, pass_times
from draftproof.experiments.models.selector.network import NumpyNetwork, SelectorNetwork
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.policies.policy import Action
from draftproof.simulator.protocol import Coin, Context, Verifier

#: Maps what is known before a block to the position of an action.
Chooser: TypeAlias = Callable[[BlockStart], int]


def by_network(network: SelectorNetwork, sampling: Sampling) -> Chooser:
    """Chooses the most probable action of a network."""
    ready = NumpyNetwork(network)
    return lambda start: int(ready.logits(start.network_input(sampling, ready.widths)).argmax())


def by_function(policy: UserPolicy, named: NamedVerifier, schemes: Sequence[Delayed]) -> Chooser:
    """A user-defined policy; the chooser raises `InvalidInput` where it chooses none of these actions."""
    actions = [Action(scheme, named.verifier) for scheme in schemes]
    return lambda start: policy.position(start.known, actions)


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
        by_part: dict[str, float] = {"choose": 0.0, "passes": self._target.seconds + self._draft.seconds}
        for watch in (self._own, *(loop.watch for loop in self._loops)):
            for part, seconds in watch.seconds.items():
                by_part[part] = by_part.get(part, 0.0) + seconds
        return by_part

    def now(self) -> float:
        return self._own.now()

    @torch.inference_mode()
    def start(self, prompt: Sequence[int], more: int | None = None) -> BetweenBlocks:
        """Read a prompt; arguments and errors as for `Loop.start`."""
        self._forget()
        seconds = self._target.seconds, self._draft.seconds
        state = self._deepest.start(prompt, more)
        self._target.seconds, self._draft.seconds = seconds  # without the prompt
        several = len(prompt) > 1
        return BetweenBlocks(
            state,
            tuple(map(int, prompt)),
            self._output("target", self._target.at(-1)) if several else None,
            self._output("draft", self._draft.at(-1)) if several else None,
        )

    def fits(self, tokens: int) -> bool:
        """Whether any of the trees fits after a text of so many tokens."""
        return self._deepest.fits(tokens)

    @torch.inference_mode()
    def step(self, standing: BetweenBlocks, coin: Coin) -> tuple[PolicyBlock, BetweenBlocks]:
        """One block, and the sequence after it."""
        self._forget()
        state = standing.state
        with within_memory("making a block", self._loops[0].pair.device):
            with self._own.part("draft"):
                begun = self._loops[0].begin(state)
                begun.read([[()]])
            with self._own.part("choose"):
                slots, row = begun.reading.path_slots[0][()], begun.rows[0].row(())
                action = self._chooser(self._block_start(standing, slots, row))
            loop = self._loops[action]
            made = loop.made(state, coin, begun)
            after, (block,) = loop.after(made), made.blocks
        return PolicyBlock(standing.context, action, block), BetweenBlocks(
            after,
            (*standing.context, *block.tokens),
            _accepted_output(self._target, made.reading, made.rows[0], block.accepted),
            _accepted_output(self._draft, made.drafted.reading, made.drafted.rows[0], block.accepted),
        )

    def _forget(self) -> None:
        self._target.forget()
        self._draft.forget()

    def _block_start(self, standing: BetweenBlocks, slots: Sequence[int], row: Any) -> BlockStart:
        """slots: of the tokens that the draft has just read, the root's last; row: the draft's row at the root."""
        draft_before = standing.draft_before
        if draft_before is None and len(slots) > 1:
            draft_before = self._output("draft", self._draft.at(slots[-2]))
        root = TokenOutput(self._draft.at(slots[-1]).hidden, _array(row))
        return BlockStart(standing.context, root, standing.target_before, draft_before, self._times)

    def _output(self, role: str, token_state: TokenState) -> TokenOutput:
        return TokenOutput.of(token_state, self._loops[0].sampling.of(role), self._loops[0].pair.vocab_size)


def _accepted_output(passes: Passes, reading: Reading, rows: TreeRows, accepted: Context) -> TokenOutput | None:
    """What the model computed at the accepted node in this block; None where it has not read that node."""
    slots = reading.path_slots[0].get(accepted)
    return None if slots is None else TokenOutput(passes.at(slots[-1]).hidden, _array(rows.row(accepted)))


def _array(row: Any) -> Any:
    if not isinstance(row, torch.Tensor):
        return row
    array = row.cpu().numpy()
    array.setflags(write=False)
    return array


@contextmanager
def deciding(
    pair: Pair,
    verifier: Verifier,
    actions: Sequence[Delayed],
    chooser: Chooser,
    sampling: Sampling,
    times: TimeModel,
    vectors: str = "numpy",
) -> Iterator[PolicyLoop]:
    """A generation loop with a policy; raises as `Loop` does."""
    if reads_features(pair.draft):
        raise InvalidInput("a head reads the target's features; policies take drafts that read tokens alone")
    loops = [Loop(pair, verifier, scheme, sampling, vectors) for scheme in actions]
    now = Stopwatch(pair.device).now
    with watched(pair.target, now) as target, watched(pair.draft, now) as draft:
        yield PolicyLoop(loops, chooser, times, target, draft)
