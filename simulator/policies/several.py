"""Several blocks under a policy, exactly: together they are one long block, with the same balance equation.

The output of `B` blocks is a string of tokens. Its last token is drawn after the others as a correction is drawn after
an accepted path, so the law of the output is a `BlockLaw`, and its balance is zero at every context if and only if the
output, continued by the target, has the target's law.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from draftproof.simulator.arithmetic import Arithmetic, arithmetic_named
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.processes import context_index, tabulate
from draftproof.simulator.laws.law import BlockLaw, Metrics, Violation
from draftproof.simulator.policies.policy import Policy, chosen, known_at, name_of
from draftproof.simulator.protocol import Context, TokenProcess, Vector
from draftproof.simulator.verdicts.lossless import block_law

#: The law of all blocks together has at most so many entries.
MOST_ENTRIES = 4_000_000


@dataclass(frozen=True)
class Following:
    """A process that continues after some tokens."""

    process: TokenProcess
    before: Context

    @property
    def vocab_size(self) -> int:
        return self.process.vocab_size

    def row(self, context: Context) -> Vector:
        return self.process.row((*self.before, *context))


@dataclass(frozen=True)
class SeveralBlocks:
    """The verdict on the first `blocks` blocks of a policy on one instance; a proof for it in rationals.

    actions: how many different ones it took.
    """

    policy: str
    blocks: int
    arithmetic: str
    actions: int
    metrics: Metrics

    @property
    def lossless(self) -> bool:
        """Whether the output has the target's law."""
        return self.metrics.max_deviation <= arithmetic_named(self.arithmetic).tolerance

    @property
    def violation(self) -> Violation | None:
        """Where the balance fails most."""
        return None if self.lossless else self.metrics.worst

    @property
    def tokens(self) -> Fraction | float:
        """Mean number of tokens of all blocks together."""
        return self.metrics.block_efficiency


def several_blocks(
    policy: Policy,
    target: TokenProcess,
    draft: TokenProcess,
    blocks: int,
    arithmetic: str = "rational",
    engine: str = "auto",
    start: Context = (),
) -> SeveralBlocks:
    """Whether `blocks` blocks under a policy have the target's law; every block by the engine that fits its action.

    target, draft: processes with rows for all contexts that the blocks can reach. start: tokens before the first one.
    Raises `InvalidInput` for a policy that is no function, `TooLarge` for a law of too many entries.
    """
    if blocks < 1:
        raise InvalidInput(f"{blocks} blocks are nothing to check; give 1 or more")
    numbers, size = arithmetic_named(arithmetic), target.vocab_size
    pending: dict[Context, Any] = {(): numbers.number(1)}
    actions: dict[Any, None] = {}
    for _ in range(blocks):
        ended: dict[Context, Any] = defaultdict(lambda: numbers.number(0))
        for before, mass in pending.items():
            action = chosen(policy, known_at(target, draft, (*start, *before)))
            actions[str(action)] = None
            longest = len(before) + action.scheme.depth + 1
            if size**longest > MOST_ENTRIES:
                raise TooLarge(f"{longest} tokens at V = {size} are too many to list; ask for fewer or shorter blocks")
            pair = Following(target, (*start, *before)), Following(draft, (*start, *before))
            law = block_law(action.verifier, *pair, action.scheme, arithmetic, engine)
            for (accepted, token), share in law.as_dict().items():
                ended[*before, *accepted, token] += mass * numbers.number(share)
        pending = ended
    metrics = metrics_of(pending, Following(target, start), numbers)
    return SeveralBlocks(name_of(policy), blocks, arithmetic, len(actions), metrics)


def metrics_of(outputs: Mapping[Context, Any], target: TokenProcess, numbers: Arithmetic) -> Metrics:
    """Outputs with their probabilities as one block of this target: all but the last token count as accepted."""
    size, longest = target.vocab_size, max(len(tokens) for tokens in outputs)
    correction = [numbers.zeros(size**depth, size) for depth in range(longest)]
    for tokens, mass in outputs.items():
        correction[len(tokens) - 1][context_index(tokens[:-1], size), tokens[-1]] += mass
    law = BlockLaw(correction, numbers)
    return law.metrics(tabulate(target, law.depth, numbers, "target"))
