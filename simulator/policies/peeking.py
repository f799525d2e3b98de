"""Negative control: a policy that looks at a drafted token, drops what it does not like and drafts otherwise.

It drafts by one scheme; where the first token is less likely than a bound it throws the tree away and drafts by
another. Each of the two alone is lossless, and so is a choice between them by the row that the token came from. But the
trees that are kept are those of likely tokens, which no verifier is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from draftproof.simulator.arithmetic import arithmetic_of
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.policies.policy import Action, Known
from draftproof.simulator.protocol import Coin, DraftScheme, TokenProcess


@dataclass(frozen=True)
class Redrafted:
    """Trees of `first`; where their first token is less likely than `confidence`, trees of `second` instead."""

    first: DraftScheme
    second: DraftScheme
    confidence: Fraction = Fraction(1, 2)

    name: ClassVar[str] = "redrafted"

    @property
    def depth(self) -> int:
        """Of the deeper one."""
        return max(self.first.depth, self.second.depth)

    @property
    def nodes(self) -> int:
        """Of the larger one; what was dropped is not counted."""
        return max(self.first.nodes, self.second.nodes)

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """Draft, look, and perhaps draft again."""
        tree: Any = self.first.draw(draft, coin)
        tokens = tree.children.get((), ())
        row = draft.row(())
        if tokens and row[tokens[0]] < arithmetic_of(row).number(self.confidence):
            tree = self.second.draw(draft, coin)
        return tree  # type: ignore[no-any-return]

    def count(self, draft: TokenProcess) -> int:
        """Number of draft outcomes with positive probability."""
        return sum(1 for _ in outcomes(lambda coin: self.draw(draft, coin), arithmetic_of(draft.row(()))))

    def reductions(self) -> Sequence[Redrafted]:
        """Both schemes made smaller, in all combinations."""
        pairs = [(a, b) for a in self.first.reductions() for b in self.second.reductions() if a.depth and b.depth]
        return [
            Redrafted(a, b, self.confidence)
            for a, b in sorted(pairs, key=lambda pair: (max(s.depth for s in pair), sum(s.nodes for s in pair)))
        ]

    def as_dict(self) -> dict[str, Any]:
        """The two schemes and the bound."""
        parts = {"first": self.first.as_dict(), "second": self.second.as_dict()}
        return {"name": self.name, **parts, "confidence": str(self.confidence)}

    def __str__(self) -> str:
        return f"redrafted({self.first}, {self.second}, below {self.confidence})"


@dataclass(frozen=True)
class Peeking:
    """The control as a policy: drafts by `first`, peeks, and goes over to `second`; both have one verifier."""

    first: Action
    second: Action
    confidence: Fraction = Fraction(1, 2)
    name: str = "peeking"

    def __call__(self, known: Known) -> Action:
        return Action(Redrafted(self.first.scheme, self.second.scheme, self.confidence), self.first.verifier)


@dataclass(frozen=True)
class Careful:
    """Its lossless twin: goes over to `second` by the draft's largest probability, before any token is drawn."""

    first: Action
    second: Action
    confidence: Fraction = Fraction(1, 2)
    name: str = "careful"

    def __call__(self, known: Known) -> Action:
        bound = arithmetic_of(known.draft_root).number(self.confidence)
        return self.second if max(known.draft_root) < bound else self.first
