"""Hierarchical drafting: what a model drafts for a larger one is itself written by speculative decoding.

A *stage* is a model with a verifier and a drafter; the drafter of the first stage is the smallest model alone, that of
every later one is the stage below. A stage hands on whole blocks, or blocks until there are enough tokens.

The balance equation of a stage says that after every accepted context, that is wherever a block goes on, the next token
has the law of its model. So the blocks of a lossless stage are drafts of that model whose length is a stopping time:
each verifier that is lossless on a single path of adaptive length, `Draws.ONE_PATH`, is lossless with them. Blocks of a
lossy stage are not; a verifier that gets the law of what was handed on, instead of the model's rows, mends that.

Laws are exact in the arithmetic of the processes. Markov processes: a state is the last `m` tokens, `m` the longest
order of all models.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import MarkovProcess, context_at, context_index
from draftproof.simulator.laws.enumeration import verdicts
from draftproof.simulator.laws.law import Violation
from draftproof.simulator.policies.chains import assert_one_class, stationary
from draftproof.simulator.policies.several import Following, metrics_of
from draftproof.simulator.protocol import Context, TokenProcess, Vector, Verifier
from draftproof.simulator.verdicts.lossless import block_law

#: Paths of one stage that are listed.
MOST_PATHS = 200_000


@dataclass(frozen=True)
class Handed:
    """What is handed on after some tokens.

    paths: the probability of every path. passes: mean passes of every model for it, the smallest model first.
    """

    paths: Mapping[Context, Any]
    passes: tuple[Any, ...]


class Drafter(Protocol):
    """What writes the drafts of a stage."""

    @property
    def process(self) -> MarkovProcess:
        """The model whose rows verifiers get as `q`."""
        ...

    @property
    def order(self) -> int:
        """The longest order of the models in it."""
        ...

    def draft(self, state: Context) -> Handed:
        """The law of what is drafted after the last tokens of a text, `state`."""
        ...


@dataclass(frozen=True)
class Alone:
    """The smallest model, which drafts `length` tokens, one pass each."""

    process: MarkovProcess
    length: int

    def __post_init__(self) -> None:
        _assert_positive(self.length, "a drafted path of length")

    @property
    def order(self) -> int:
        return self.process.order

    def draft(self, state: Context) -> Handed:
        return Handed(_autoregressive(Following(self.process, state), self.length), (self.length,))


@dataclass(frozen=True)
class Stage:
    """A model whose blocks are drafted by a smaller one.

    process: the model, the target of the stage. told_handed: whether the verifier gets as `q` the law of what was
    handed on, given that it goes on; otherwise the rows of the drafter's model.
    """

    process: MarkovProcess
    verifier: Verifier
    drafter: Drafter
    told_handed: bool = False
    _blocks: dict[Context, Handed] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        smaller = self.drafter.process
        if smaller.vocab_size != self.process.vocab_size or smaller.arithmetic is not self.process.arithmetic:
            raise InvalidInput("the models of a hierarchy need one vocabulary and one arithmetic")

    @property
    def order(self) -> int:
        """The longest order of the models in it."""
        return max(self.process.order, self.drafter.order)

    def block(self, state: Context) -> Handed:
        """The law of a block after the last tokens of a text, with one pass of this model."""
        if state not in self._blocks:
            outputs, passes = self._verified(state)
            self._blocks[state] = Handed(outputs, (*passes, 1))
        return self._blocks[state]

    def _verified(self, state: Context) -> tuple[Mapping[Context, Any], tuple[Any, ...]]:
        """The law of a block, and the mean passes of the smaller models for it."""
        numbers, model = self.process.arithmetic, Following(self.process, state)
        rows = Following(self.drafter.process, state)
        if isinstance(self.drafter, Alone):
            return self._as_if_alone(model, rows, self.drafter.length), (self.drafter.length,)
        handed = self.drafter.draft(state)
        depth = max(map(len, handed.paths))
        if not self.told_handed and _is_law_of(rows, handed.paths, depth, numbers.tolerance):
            return self._as_if_alone(model, rows, depth), handed.passes
        shown: TokenProcess = _Continued(rows, handed.paths) if self.told_handed else rows
        instance = Instance.of(model, shown, depth, numbers)
        outputs: dict[Context, Any] = defaultdict(lambda: numbers.number(0))
        for path, mass in handed.paths.items():
            tree = DraftTree.from_paths((), [path])
            law = verdicts(self.verifier, tree, instance.target, instance.draft, numbers)
            for (accepted, token), share in law.items():
                outputs[*accepted, token] += mass * share
        return outputs, handed.passes

    def _as_if_alone(self, model: TokenProcess, rows: TokenProcess, length: int) -> Mapping[Context, Any]:
        """The law of a block where drafts have the law of the drafter's model."""
        law = block_law(self.verifier, model, rows, Delayed(1, 0, length), self.process.arithmetic.name)
        number = self.process.arithmetic.number
        return {(*accepted, token): number(mass) for (accepted, token), mass in law.as_dict().items()}


@dataclass(frozen=True)
class _Writing:
    """A stage that drafts for the next one."""

    stage: Stage

    @property
    def process(self) -> MarkovProcess:
        return self.stage.process

    @property
    def order(self) -> int:
        return self.stage.order


@dataclass(frozen=True)
class Blocks(_Writing):
    """A stage that hands on `count` whole blocks."""

    count: int = 1

    def __post_init__(self) -> None:
        _assert_positive(self.count, "a number of blocks of")

    def draft(self, state: Context) -> Handed:
        return _written(self.stage, state, lambda path, blocks: blocks == self.count)


@dataclass(frozen=True)
class Tokens(_Writing):
    """A stage that writes blocks until it has `length` tokens, and hands these on."""

    length: int

    def __post_init__(self) -> None:
        _assert_positive(self.length, "a drafted path of length")

    def draft(self, state: Context) -> Handed:
        return _written(self.stage, state, lambda path, blocks: len(path) >= self.length, self.length)


@dataclass(frozen=True)
class LongRun:
    """The means of one block of the last stage, in the long run.

    tokens: mean tokens. passes: mean passes of every model, the smallest first. violation: where the balance fails
    most over all states, None where it holds.
    """

    tokens: Fraction | float
    passes: tuple[Fraction | float, ...]
    violation: Violation | None

    @property
    def lossless(self) -> bool:
        """Whether blocks have the law of the largest model, after every state."""
        return self.violation is None


def long_run(stage: Stage) -> LongRun:
    """The value of a hierarchy whose blocks follow one another, and whether it is lossless from every state.

    Raises `InvalidInput` where the long run depends on the root, `TooLarge` for too many paths or exact states.
    """
    numbers, size, order = stage.process.arithmetic, stage.process.vocab_size, stage.order
    states = [context_at(index, order, size) for index in range(size**order)]
    moves = numbers.zeros(len(states), len(states))
    tokens, passes, worst = [], [], None
    for place, state in enumerate(states):
        block = stage.block(state)
        metrics = metrics_of(block.paths, Following(stage.process, state), numbers)
        if metrics.max_deviation > numbers.tolerance and (worst is None or metrics.max_deviation > worst.deviation):
            worst = metrics.worst
        for output, mass in block.paths.items():
            moves[place, context_index(_last((*state, *output), order), size)] += mass
        tokens.append(sum(mass * len(output) for output, mass in block.paths.items()))
        passes.append([numbers.number(count) for count in block.passes])
    assert_one_class(moves, "this hierarchy")
    starts = stationary(moves)
    means = (starts[:, None] * np.array(passes, dtype=starts.dtype)).sum(0)
    return LongRun(as_python((starts * numbers.vector(tokens)).sum()), tuple(map(as_python, means)), worst)


@dataclass(frozen=True)
class _Continued:
    """The law of the next token of a path, given that it goes on; the model's rows where none does."""

    model: TokenProcess
    paths: Mapping[Context, Any]

    @property
    def vocab_size(self) -> int:
        return self.model.vocab_size

    def row(self, context: Context) -> Vector:
        depth, like = len(context), self.model.row(context)
        row = like * 0
        for path, mass in self.paths.items():
            if path[:depth] == context and len(path) > depth:
                row[path[depth]] += mass
        return row / row.sum() if row.sum() > 0 else like


def _autoregressive(process: TokenProcess, length: int) -> dict[Context, Any]:
    """The law of the next `length` tokens."""
    if process.vocab_size**length > MOST_PATHS:
        raise TooLarge(f"V^L = {process.vocab_size}^{length} paths are too many to list; use a shorter path")
    paths: dict[Context, Any] = {(): 1}
    for _ in range(length):
        paths = {
            (*path, token): mass * share
            for path, mass in paths.items()
            for token, share in enumerate(process.row(path))
            if share > 0
        }
    return paths


def _is_law_of(process: TokenProcess, paths: Mapping[Context, Any], length: int, tolerance: float) -> bool:
    """Whether paths have the law of the next `length` tokens of a process, in float64 up to rounding."""
    if any(len(path) < length for path in paths):
        return False
    law = _autoregressive(process, length)
    return law.keys() == paths.keys() and all(abs(mass - law[path]) <= tolerance for path, mass in paths.items())


def _written(stage: Stage, state: Context, done: Callable[[Context, int], bool], most: int | None = None) -> Handed:
    """Blocks of a stage until `done` of the tokens and the number of blocks; of the tokens the first `most`."""
    paths: dict[Context, Any] = defaultdict(lambda: stage.process.arithmetic.number(0))
    pending: dict[Context, Any] = {(): stage.process.arithmetic.number(1)}
    passes: list[tuple[Any, ...]] = []
    blocks = 0
    while pending:
        blocks += 1
        following: dict[Context, Any] = defaultdict(lambda: stage.process.arithmetic.number(0))
        for path, mass in pending.items():
            block = stage.block(_last((*state, *path), stage.order))
            passes.append(tuple(mass * count for count in block.passes))
            for output, share in block.paths.items():
                longer = (*path, *output)
                if done(longer, blocks):
                    paths[longer[:most]] += mass * share
                else:
                    following[longer] += mass * share
        if len(paths) + len(following) > MOST_PATHS:
            raise TooLarge(f"a stage hands on more than {MOST_PATHS:,} paths; take fewer tokens or blocks")
        pending = following
    return Handed(paths, tuple(map(sum, zip(*passes, strict=True))))


def _last(tokens: Context, count: int) -> Context:
    return tokens[len(tokens) - count :]


def _assert_positive(number: int, what: str) -> None:
    if number < 1:
        raise InvalidInput(f"{what} {number} drafts nothing; give 1 or more")
