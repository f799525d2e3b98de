"""The most tokens a block in the long run, over all lossless verifiers, where the state in which a block ends counts.

In a source with finitely many states every block begins in the state that the last one left. With a potential `h(s)`
for every state, a block is worth `E[tokens + h(end)] - h(s)`. If no lossless block is worth more than `g`, whatever the
state, no lossless verifier has more than `g` tokens a block in the long run; blocks worth at least `g` from every state
attain it. For a reach `D` the corrections are `e(c,y) = D(c) p(y|c) - D(c,y)`, so that the worth is `sum_c w(c) D(c)`
with the node weights

    w(c) = 1 + sum_y p(y|c) h(c,y) - h(c):

the program of one block (`solve`) from every state. Policy iteration finds the potentials:

1. Solve the programs of all states; the least lower and the largest upper bound are those of the long run.
2. The potentials of the verifiers found solve `g + h = tokens + ends h`; repeat until the bounds meet.

Potentials are rounded to rationals and all bounds are exact: any potentials, prices and plans prove some bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from draftproof.lp_analysis.nodes import children, reach
from draftproof.lp_analysis.orders import mixed_law
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solve import PRICE_UNIT, Optimum, optimum
from draftproof.simulator.arithmetic import RATIONAL, arithmetic_of, as_python
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.exact import FLOAT_UNIT
from draftproof.simulator.instances.processes import MarkovProcess, rationalise
from draftproof.simulator.protocol import DraftScheme, TokenProcess
from draftproof.simulator.shown import number_text
from draftproof.simulator.tables import context_count

#: Most states: there is a program for each.
MOST_STATES = 512
#: Most rounds of policy iteration, and those without a better gap that end it.
ROUNDS, IDLE = 30, 3
#: Rounding of a linear system; where the mean depends on the state, some equation is missed by far more.
SOLVED = 1e-7
#: Up to this many paths column generation is faster than the level programs.
FEW_PATHS = 32


@dataclass(frozen=True)
class Source:
    """A target and a draft whose state is the last `order` tokens. `S = V**order`.

    target, draft: exact rows of every state, in lexicographic order, shape `(S, V)`.
    """

    target: Any
    draft: Any
    order: int

    @classmethod
    def of(cls, target: TokenProcess, draft: TokenProcess) -> Source:
        """The states of both; raises `InvalidInput` where there are none, `TooLarge` for more than `MOST_STATES`."""
        for name, process in (("target", target), ("draft", draft)):
            if not isinstance(process, MarkovProcess):
                raise InvalidInput(
                    f"the long run needs finitely many states, and the {name} is no Markov process; give a text, such "
                    "as text:topics,vocab=4, or two MarkovProcess(table, root)"
                )
        if target.vocab_size != draft.vocab_size:
            raise InvalidInput(f"target has {target.vocab_size} tokens, draft has {draft.vocab_size}; take as many")
        pair: Any = target, draft
        order, size = max(process.order for process in pair), target.vocab_size
        if context_count(size, order) > MOST_STATES:
            raise TooLarge(
                f"V^m = {size}^{order} states are more than {MOST_STATES}; use a smaller vocabulary or a lower order"
            )
        exact = [process.states if process.exact is None else process.exact for process in pair]
        exact = [part if arithmetic_of(part).exact else rationalise(part, FLOAT_UNIT) for part in exact]
        rows = [part[np.arange(size**order) % len(part)] for part in exact]
        return cls(rows[0], rows[1], order)

    @property
    def vocab_size(self) -> int:
        """`V`."""
        return int(self.target.shape[1])

    def states_after(self, state: int, length: int) -> Any:
        """The states after all contexts of this length from a state, shape `(V**length,)`."""
        width = self.vocab_size**length
        return (state * width + np.arange(width)) % len(self.target)

    def tables(self, rows: Any, state: int, depth: int) -> list[Any]:
        """The rows of a process after all contexts shorter than `depth`, at least one, from a state."""
        return [rows[self.states_after(state, length)] for length in range(max(depth, 1))]

    def weights(self, potentials: Any) -> Any:
        """`w` by state, exactly; potentials: shape `(S,)`."""
        after = np.stack([self.states_after(state, 1) for state in range(len(self.target))])
        return (self.target * potentials[after]).sum(axis=1) + 1 - potentials


@dataclass(frozen=True, repr=False)
class LongRun:
    """Exact bounds `lower <= optimum <= upper` on the mean tokens of a block in the long run, from any state.

    potentials: of every state. optima: of one block from every state, with these potentials; block verification of
    the choice of their plans attains `lower`. one_block: in float64, what the verifiers that are best for each block
    bring in the long run; those of `optimum`, which takes no account of how blocks end; None where that depends on the
    state in which they begin. rounds: of policy iteration.
    """

    lower: Fraction
    upper: Fraction
    scheme: DraftScheme
    source: Source
    potentials: tuple[Fraction, ...]
    optima: tuple[Optimum, ...]
    one_block: float | None
    rounds: int

    @property
    def gap(self) -> Fraction:
        """`upper - lower`."""
        return self.upper - self.lower

    def to_dict(self) -> dict[str, Any]:
        """The bounds; potentials, plans and prices stay with the certificate."""
        bounds = {"lower": self.lower, "upper": self.upper, "gap": self.gap, "one_block": self.one_block}
        return {**bounds, "states": len(self.potentials), "rounds": self.rounds}

    def __repr__(self) -> str:
        return f"LongRun({', '.join(f'{key} = {number_text(value)}' for key, value in self.to_dict().items())})"


def long_run(
    target: TokenProcess,
    draft: TokenProcess,
    scheme: DraftScheme,
    *,
    gap: float = 1e-6,
    tick: Callable[[int], None] | None = None,
) -> LongRun:
    """Bounds on the most tokens a block in the long run, about `gap` apart if all states can reach one another.

    target, draft: Markov processes; float rows are rounded as `draftproof.simulator.instances.exact` says. tick: called
    with 1 after each program. Where the verifiers found never leave some states, the long run depends on where it
    begins, and the bounds, which hold from every state, stay apart. Raises `InvalidInput` where there are no states,
    `TooLarge` above 512 states and as `optimum` does.
    """
    if not gap > 0:
        raise InvalidInput(f"gap = {gap} must be positive")
    source = Source.of(target, draft)
    potentials = RATIONAL.vector([0] * len(source.target))
    best, one_block, idle = None, None, 0
    for number in range(1, ROUNDS + 1):
        optima = _optima(source, scheme, potentials, gap / 4, tick)
        mean, values = evaluate(source, scheme, optima)
        one_block = mean if number == 1 else one_block
        bounds = min(one.lower for one in optima), max(one.upper for one in optima)
        if best is not None and bounds[1] - bounds[0] >= best.gap:
            idle += 1
        else:
            exact = tuple(Fraction(as_python(value)) for value in potentials)
            best, idle = LongRun(*bounds, scheme, source, exact, tuple(optima), one_block, number), 0
        if best.gap <= gap or idle == IDLE:
            break
        potentials = RATIONAL.vector([Fraction(round(value * PRICE_UNIT), PRICE_UNIT) for value in values.tolist()])
    assert best is not None
    return best


def best_blocks(target: TokenProcess, draft: TokenProcess, scheme: DraftScheme, gap: float = 1e-6) -> float:
    """The mean tokens in the long run of blocks that are each the best from their state; in float64.

    Raises `InvalidInput` where that depends on the state in which they begin.
    """
    source = Source.of(target, draft)
    nothing = RATIONAL.vector([0] * len(source.target))
    mean, _ = evaluate(source, scheme, _optima(source, scheme, nothing, gap, None))
    if mean is None:
        raise InvalidInput(
            "in the long run blocks stay among some states that depend on the root: there is no one mean"
        )
    return mean


def _optima(
    source: Source, scheme: DraftScheme, potentials: Any, gap: float, tick: Callable[[int], None] | None
) -> list[Optimum]:
    """The bounds of one block from every state."""
    weights, optima = source.weights(potentials), []
    few = context_count(source.vocab_size, scheme.depth) <= FEW_PATHS
    for state in range(len(source.target)):
        tables = [source.tables(rows, state, scheme.depth) for rows in (source.target, source.draft)]
        own = [weights[source.states_after(state, length)] for length in range(scheme.depth + 1)]
        method = "columns" if few else "auto"
        optima.append(optimum(tables[0], tables[1], scheme, weights=own, gap=gap, method=method))
        if tick:
            tick(1)
    return optima


def evaluate(source: Source, scheme: DraftScheme, optima: Sequence[Optimum]) -> tuple[float | None, Any]:
    """The mean tokens of a block in the long run, and the potentials, of the plans of all states, in float64.

    The mean is None where it depends on the state in which the first block begins.
    """
    states = len(source.target)
    target = source.target.astype(np.float64)
    ends, means = np.zeros((states, states)), np.zeros(states)
    for state, one in enumerate(optima):
        tables = [source.tables(rows, state, scheme.depth) for rows in (source.target, source.draft)]
        problem = BoundProblem.of(tables[0], tables[1], scheme).floats
        limits = None if one.limits is None else [np.array(level, dtype=np.float64) for level in one.limits]
        for length, reached in enumerate(reach(mixed_law(one.plan, problem), problem.target, limits)):
            here = source.states_after(state, length)
            np.add.at(ends[state], source.states_after(state, length + 1), children(reached, target[here]))
            if length:
                np.add.at(ends[state], here, -reached)
            means[state] += reached.sum()
    system = np.block([[np.eye(states) - ends, np.ones((states, 1))], [np.ones((1, states)), np.zeros((1, 1))]])
    wanted = np.append(means, 0.0)
    solved = np.linalg.lstsq(system, wanted, rcond=None)[0]
    one = np.abs(system @ solved - wanted).max() <= SOLVED
    return float(solved[-1]) if one else None, solved[:-1]
