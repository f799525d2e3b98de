"""RheoSampling [rheo2026resolving]: best-first trees with one sampled child a node, placed before it is drawn.

Every drafted node has candidates: the likeliest token of its row, a slot for one token `Y` from the row without it, and
the next likeliest tokens. The candidate of the largest value is drafted next. A value is the value of the node times
the token's probability, for the slot times the proxy `min(q1, 1 - q1)`, where `q1` is the probability of the likeliest
token: `Y` is drawn once its slot is taken, and the others, which are smaller, enter after it. So no tree tells which
token `Y` is, and the verifier `rheo` may judge it with its probability.

The rule is that of a public port of the paper; there `Y` is one of the candidates, here any token with `q > 0`. The
control `rheo_own` ranks `Y` by its own probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from draftproof.simulator.drafts._adapting import Adapting, largest, number
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Coin, Context, Draws, TokenProcess, Vector
from draftproof.simulator.vectors import top_tokens, without


class Candidate(NamedTuple):
    """A token of a node, None before it is drawn, and the factor of its value. sampled: whether it is `Y`."""

    share: Any
    token: int | None
    sampled: bool = False


@dataclass(frozen=True)
class Rheo(Adapting):
    """At most `nodes` tokens down to `depth`, at most `width` children a node: the likeliest, others, and `Y` last.

    Ties go to the earlier candidate. Raises `InvalidInput` unless all three are whole numbers.
    """

    nodes: int = 4
    width: int = 3
    depth: int = 2

    name: ClassVar[str] = "rheo"
    verified_with: ClassVar[str] = "rheo"
    draws: ClassVar[Draws] = Draws.ONE_FROM_REST
    positive: ClassVar[tuple[str, ...]] = ("width",)
    shrunk: ClassVar[tuple[str, ...]] = ("depth", "nodes")

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls(4, 2, 3)), (3, cls(4, 3, 2)), (4, cls(3, 3, 2))

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """Draft one tree, candidate by candidate."""
        fixed: dict[Context, tuple[int, ...]] = {}
        last: dict[Context, tuple[int, ...]] = {}
        values: dict[Context, Any] = {}
        waiting: list[tuple[Any, Context, Candidate]] = []

        def add(context: Context, candidates: list[Candidate]) -> None:
            waiting.extend((values[context] * candidate.share, context, candidate) for candidate in candidates)

        def open_node(context: Context, value: Any) -> None:
            if len(context) < self.depth:
                values[context] = value
                add(context, self.candidates(draft.row(context), coin))

        open_node((), 1)
        for _ in range(self.nodes):
            if not waiting:
                break
            value, context, chosen = waiting.pop(largest([value for value, *_ in waiting], 1)[0])
            token = chosen.token
            if token is None:
                token, others = self.sampled(draft.row(context), coin)
                add(context, others)
            if chosen.sampled:
                last[context] = (token,)
            else:
                fixed[context] = (*fixed.get(context, ()), token)
            open_node((*context, token), value)
        return DraftTree({at: fixed.get(at, ()) + last.get(at, ()) for at in fixed | last})

    def candidates(self, row: Vector, coin: Coin) -> list[Candidate]:
        """Those of a node before `Y` is drawn: the likeliest token, and the slot of `Y`."""
        token = top_tokens(row, 1)[0]
        most = number(row[token])
        has_others = row[token] < row.sum()
        slot = [Candidate(min(most, 1 - most), None, True)] if self.width > 1 and has_others else []
        return [Candidate(most, token), *slot]

    def sampled(self, row: Vector, coin: Coin) -> tuple[int, list[Candidate]]:
        """`Y`, and the candidates beside it."""
        rest = without(row, top_tokens(row, 1)[0])
        token = coin.choose(rest)
        others = top_tokens(without(rest, token), self.width - 2) if rest[token] < rest.sum() else ()
        return token, [Candidate(number(row[other]), other) for other in others if row[other] > 0]


@dataclass(frozen=True)
class RheoOwn(Rheo):
    """Negative control: the place of `Y` is that of its own probability, so that it tells which token `Y` is."""

    name: ClassVar[str] = "rheo_own"
    verified_with: ClassVar[str] = ""
    draws: ClassVar[Draws] = Draws(0)

    def candidates(self, row: Vector, coin: Coin) -> list[Candidate]:
        """Those of a node, `Y` among them."""
        first, *slot = super().candidates(row, coin)
        if not slot:
            return [first]
        token, others = self.sampled(row, coin)
        return [first, Candidate(number(row[token]), token, True), *others]
